#include "tests/simulation/machine/file_tree.h"

#include <cerrno>

#include "tests/simulation/machine/world.h"

namespace muster::simulation {
namespace {

constexpr mode_t kForAll = S_IFDIR | S_ISVTX | 0777;

std::shared_ptr<Inode> MakeDirectory(mode_t mode, uint64_t number) {
  auto directory = std::make_shared<Inode>();
  directory->mode = mode;
  directory->number = number;
  return directory;
}

bool Allows(const Process& process, const Inode& inode, mode_t bit) {
  if (process.uid == 0) return true;
  return (inode.mode & (process.uid == inode.uid ? bit << 6 : bit)) != 0;
}

uint64_t NextNumber() {
  static uint64_t number = 100;
  return ++number;
}

}  // namespace

std::shared_ptr<Inode> MakeRoot() {
  auto root = MakeDirectory(S_IFDIR | 0755, 2);
  root->entries["dev"] = MakeDirectory(S_IFDIR | 0755, 3);
  root->entries["dev"]->entries["shm"] = MakeDirectory(kForAll, 4);
  root->entries["tmp"] = MakeDirectory(kForAll, 5);
  return root;
}

std::shared_ptr<Inode> MakeSharedDirectory() { return MakeDirectory(kForAll, 6); }

Found Find(const Process& process, std::string_view path, const std::shared_ptr<Inode>& from) {
  Found found;
  std::shared_ptr<Inode> at = path.starts_with('/') || !from ? process.node.root : from;
  found.inode = at;
  found.directory = at;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    at = found.inode;
    if (!at || !at->is_directory()) {
      found.error = at ? ENOTDIR : ENOENT;
      return found;
    }
    if (!Allows(process, *at, 1)) {
      found.error = EACCES;
      return found;
    }
    found.directory = at;
    found.name = name;
    const auto entry = at->entries.find(name);
    found.inode = entry == at->entries.end() ? nullptr : entry->second;
  }
  if (!found.inode) found.error = ENOENT;
  return found;
}

bool MayWrite(const Process& process, const Inode& inode) { return Allows(process, inode, 2); }

bool MayRemove(const Process& process, const Inode& directory, const Inode& entry) {
  if (!MayWrite(process, directory)) return false;
  return (directory.mode & S_ISVTX) == 0 || process.uid == 0 || entry.uid == process.uid ||
         directory.uid == process.uid;
}

std::shared_ptr<Inode> Add(const Process& process, const Found& place, mode_t mode) {
  auto inode = std::make_shared<Inode>();
  inode->mode = mode;
  inode->uid = process.uid;
  inode->number = NextNumber();
  inode->links = 1;
  inode->changed = process.world.now();
  place.directory->entries[place.name] = inode;
  return inode;
}

void Remove(const Found& found) {
  found.directory->entries.erase(found.name);
  --found.inode->links;
  found.inode->removed = found.inode->is_directory();
}

void Describe(const Inode& inode, struct stat* status) {
  *status = {};
  status->st_mode = inode.mode;
  status->st_uid = inode.uid;
  status->st_ino = inode.number;
  status->st_nlink = inode.links;
  status->st_size = static_cast<off_t>(inode.content.size());
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(inode.changed);
  status->st_mtim = {whole.count(), (inode.changed - whole).count()};
}

}  // namespace muster::simulation
