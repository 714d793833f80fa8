// Files and directories.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "tests/simulation/machine/file_tree.h"
#include "tests/simulation/system_calls/system_call.h"

using namespace muster::simulation;

// The result of opendir(3) for a simulated process.
struct Listing {
  std::vector<std::pair<std::string, std::shared_ptr<Inode>>> entries;
  size_t next = 0;
  int fd = -1;
  dirent entry{};
};

namespace {

std::shared_ptr<Inode> From(const SystemCall& call, int directory) {
  if (directory == AT_FDCWD) return nullptr;
  const auto* const file = call.Find<OpenFile>(directory, ENOTDIR);
  return file == nullptr ? nullptr : file->inode;
}

// Without a directory at the descriptor, if one is needed: EBADF.
Found FindAt(const SystemCall& call, int directory, const char* path) {
  const std::shared_ptr<Inode> from = From(call, directory);
  if (directory != AT_FDCWD && !from) return {.error = EBADF};
  return Find(call.process(), path, from);
}

// "NUM REFS ... PATH" for each Unix socket of the node that is bound.
std::string ListSockets(const Inode& directory, const std::string& path) {
  std::string text;
  for (const auto& [name, inode] : directory.entries) {
    if (inode->socket != nullptr && !inode->socket->closed())
      text += fmt::format("0: 2 0 10000 1 1 1 {}\n", inode->socket->path);
    if (inode->is_directory()) text += ListSockets(*inode, fmt::format("{}/{}", path, name));
  }
  return text;
}

std::string TextOf(const SystemCall& call, const std::string& path) {
  if (path == "/proc/sys/kernel/random/boot_id") {
    char text[40];
    snprintf(text, sizeof text, "%08x-0000-4000-8000-000000000000\n",
             0xb0070000U + static_cast<unsigned>(call.process().node.number));
    return text;
  }
  if (path == "/proc/net/unix") return "Num RefCount ...\n" + ListSockets(*call.process().node.root, "");
  return "";
}

int Open(const SystemCall& call, int directory, const char* path, int flags, mode_t mode) {
  if (std::string text = TextOf(call, path); !text.empty()) {
    auto inode = std::make_shared<Inode>(Inode{.mode = S_IFREG | 0444, .content = std::move(text)});
    return call.Return(call.process().Install(call.world().Make<OpenFile>(call.world(), std::move(inode))));
  }
  Found found = FindAt(call, directory, path);
  if (found.error != 0 && (found.error != ENOENT || (flags & O_CREAT) == 0 || !found.directory))
    return call.ReturnError(found.error);
  if (found.inode && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return call.ReturnError(EEXIST);
  if (found.inode && (flags & O_DIRECTORY) != 0 && !found.inode->is_directory())
    return call.ReturnError(ENOTDIR);
  if (!found.inode) {
    if (found.directory->removed) return call.ReturnError(ENOENT);
    if (!MayWrite(call.process(), *found.directory)) return call.ReturnError(EACCES);
    found.inode = Add(call.process(), found, S_IFREG | mode);
  }
  return call.Return(call.process().Install(call.world().Make<OpenFile>(call.world(), found.inode)));
}

int Remove(const SystemCall& call, const Found& found, bool directory) {
  if (found.error != 0) return found.error;
  if (found.inode->is_directory() != directory) return directory ? ENOTDIR : EISDIR;
  if (directory && !found.inode->entries.empty()) return ENOTEMPTY;
  if (!MayRemove(call.process(), *found.directory, *found.inode)) return EPERM;
  muster::simulation::Remove(found);
  return 0;
}

int Make(const SystemCall& call, const Found& found, mode_t mode) {
  if (found.inode) return EEXIST;
  if (found.error != ENOENT || !found.directory || found.directory->removed) return found.error;
  if (!MayWrite(call.process(), *found.directory)) return EACCES;
  Add(call.process(), found, S_IFDIR | mode);
  return 0;
}

unsigned char TypeOf(const Inode& inode) {
  return inode.is_directory() ? DT_DIR : S_ISSOCK(inode.mode) ? DT_SOCK : DT_REG;
}

Listing* List(const SystemCall& call, int fd) {
  auto* const file = call.Find<OpenFile>(fd, ENOTDIR);
  if (file == nullptr) return nullptr;
  auto* const listing = new Listing;
  listing->entries.assign(file->inode->entries.begin(), file->inode->entries.end());
  listing->fd = fd;
  return listing;
}

}  // namespace

namespace muster::simulation {

int Rename(const SystemCall& call, const PathAt& from, const PathAt& to, unsigned flags) {
  const Found source = FindAt(call, from.directory, from.path);
  const Found target = FindAt(call, to.directory, to.path);
  if (!source.inode) return call.ReturnError(source.error);
  if (target.inode && (flags & RENAME_NOREPLACE) != 0) return call.ReturnError(EEXIST);
  if (!target.inode && target.error != ENOENT) return call.ReturnError(target.error);
  target.directory->entries[target.name] = source.inode;
  source.directory->entries.erase(source.name);
  return call.Return(0);
}

long ReadDirectory(const SystemCall& call, int fd, char* out, size_t size) {
  auto* const file = call.Find<OpenFile>(fd, EBADF);
  if (file == nullptr) return -1;
  if (!file->inode->is_directory()) return call.ReturnError(ENOTDIR);
  size_t used = 0;
  size_t index = 0;
  for (const auto& [name, inode] : file->inode->entries) {
    if (index++ < file->offset) continue;
    const size_t length = (offsetof(dirent64, d_name) + name.size() + 1 + 7) / 8 * 8;
    if (used + length > size) break;
    auto* const entry = reinterpret_cast<dirent64*>(out + used);
    entry->d_ino = inode->number;
    entry->d_reclen = static_cast<unsigned short>(length);
    entry->d_type = TypeOf(*inode);
    std::memcpy(entry->d_name, name.c_str(), name.size() + 1);
    used += length;
    ++file->offset;
  }
  return static_cast<long>(used);
}

}  // namespace muster::simulation

extern "C" {

int __real_open(const char*, int, ...);
int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  const SystemCall call;
  if (!call) return __real_open(path, flags, mode);
  return Open(call, AT_FDCWD, path, flags, mode);
}

int __real_openat(int, const char*, int, ...);
int __wrap_openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  const SystemCall call;
  if (!call) return __real_openat(directory, path, flags, mode);
  return Open(call, directory, path, flags, mode);
}

int __real_mkostemp(char*, int);
int __wrap_mkostemp(char* name, int flags) {
  const SystemCall call;
  if (!call) return __real_mkostemp(name, flags);
  for (char& one : std::span(name, strlen(name)).last<6>())
    one = static_cast<char>('a' + call.world().product_random.Below(26));
  return Open(call, AT_FDCWD, name, flags | O_CREAT | O_EXCL | O_RDWR, S_IRUSR | S_IWUSR);
}

int __real_stat(const char*, struct stat*);
int __wrap_stat(const char* path, struct stat* status) {
  const SystemCall call;
  if (!call) return __real_stat(path, status);
  if (std::string_view(path) == "/proc/self/ns/net") {
    *status = {};
    status->st_ino = 0xf0000000U + static_cast<unsigned>(call.process().node.number);
    return 0;
  }
  const Found found = Find(call.process(), path);
  if (found.inode) Describe(*found.inode, status);
  return call.ReturnError(found.error);
}

int __real_fstat(int, struct stat*);
int __wrap_fstat(int fd, struct stat* status) {
  const SystemCall call(fd < kStandardDescriptors ? SystemCall::Kill::kSafe : SystemCall::Kill::kMay);
  if (!call) return __real_fstat(fd, status);
  const auto* const file = call.Find<OpenFile>(fd, EBADF);
  if (file == nullptr) return -1;
  Describe(*file->inode, status);
  return 0;
}

int __real_fstatat(int, const char*, struct stat*, int);
int __wrap_fstatat(int directory, const char* path, struct stat* status, int flags) {
  const SystemCall call;
  if (!call) return __real_fstatat(directory, path, status, flags);
  const Found found = FindAt(call, directory, path);
  if (found.inode) Describe(*found.inode, status);
  return call.ReturnError(found.error);
}

int __real_access(const char*, int);
int __wrap_access(const char* path, int mode) {
  const SystemCall call;
  if (!call) return __real_access(path, mode);
  return call.ReturnError(Find(call.process(), path).error);
}

int __real_mkdir(const char*, mode_t);
int __wrap_mkdir(const char* path, mode_t mode) {
  const SystemCall call;
  if (!call) return __real_mkdir(path, mode);
  return call.ReturnError(Make(call, Find(call.process(), path), mode));
}

int __real_mkdirat(int, const char*, mode_t);
int __wrap_mkdirat(int directory, const char* path, mode_t mode) {
  const SystemCall call;
  if (!call) return __real_mkdirat(directory, path, mode);
  return call.ReturnError(Make(call, FindAt(call, directory, path), mode));
}

int __real_rmdir(const char*);
int __wrap_rmdir(const char* path) {
  const SystemCall call;
  if (!call) return __real_rmdir(path);
  return call.ReturnError(Remove(call, Find(call.process(), path), true));
}

int __real_unlink(const char*);
int __wrap_unlink(const char* path) {
  const SystemCall call;
  if (!call) return __real_unlink(path);
  return call.ReturnError(Remove(call, Find(call.process(), path), false));
}

int __real_unlinkat(int, const char*, int);
int __wrap_unlinkat(int directory, const char* path, int flags) {
  const SystemCall call;
  if (!call) return __real_unlinkat(directory, path, flags);
  return call.ReturnError(Remove(call, FindAt(call, directory, path), (flags & AT_REMOVEDIR) != 0));
}

int __real_link(const char*, const char*);
int __wrap_link(const char* from, const char* to) {
  const SystemCall call;
  if (!call) return __real_link(from, to);
  const Found source = Find(call.process(), from);
  const Found target = Find(call.process(), to);
  if (!source.inode) return call.ReturnError(source.error);
  if (target.inode) return call.ReturnError(EEXIST);
  if (target.error != ENOENT || target.directory->removed) return call.ReturnError(target.error);
  target.directory->entries[target.name] = source.inode;
  ++source.inode->links;
  return call.Return(0);
}

int __real_renameat(int, const char*, int, const char*);
int __wrap_renameat(int from_directory, const char* from, int to_directory, const char* to) {
  const SystemCall call;
  if (!call) return __real_renameat(from_directory, from, to_directory, to);
  return Rename(call, {from_directory, from}, {to_directory, to}, 0);
}

int __real_flock(int, int);
int __wrap_flock(int fd, int operation) {
  const SystemCall call;
  if (!call) return __real_flock(fd, operation);
  auto* const file = call.Find<OpenFile>(fd, EBADF);
  if (file == nullptr) return -1;
  const File*& holder = file->inode->locked_by;
  if (holder != nullptr && holder != file) return call.ReturnError(EWOULDBLOCK);
  holder = (operation & LOCK_UN) != 0 ? nullptr : file;
  return call.Return(0);
}

DIR* __real_opendir(const char*);
DIR* __wrap_opendir(const char* path) {
  const SystemCall call;
  if (!call) return __real_opendir(path);
  const int fd = Open(call, AT_FDCWD, path, O_DIRECTORY, 0);
  return fd < 0 ? nullptr : reinterpret_cast<DIR*>(List(call, fd));
}

DIR* __real_fdopendir(int);
DIR* __wrap_fdopendir(int fd) {
  const SystemCall call;
  return call ? reinterpret_cast<DIR*>(List(call, fd)) : __real_fdopendir(fd);
}

dirent* __real_readdir(DIR*);
dirent* __wrap_readdir(DIR* directory) {
  const SystemCall call;
  if (!call) return __real_readdir(directory);
  auto* const listing = reinterpret_cast<Listing*>(directory);
  if (listing->next == listing->entries.size()) return nullptr;
  const auto& [name, inode] = listing->entries[listing->next++];
  listing->entry.d_type = TypeOf(*inode);
  listing->entry.d_name[name.copy(listing->entry.d_name, sizeof listing->entry.d_name - 1)] = '\0';
  return &listing->entry;
}

int __real_dirfd(DIR*);
int __wrap_dirfd(DIR* directory) {
  const SystemCall call;
  return call ? reinterpret_cast<Listing*>(directory)->fd : __real_dirfd(directory);
}

int __real_closedir(DIR*);
int __wrap_closedir(DIR* directory) {
  const SystemCall call;
  if (!call) return __real_closedir(directory);
  auto* const listing = reinterpret_cast<Listing*>(directory);
  call.process().Close(listing->fd);
  delete listing;
  return 0;
}

}  // extern "C"
