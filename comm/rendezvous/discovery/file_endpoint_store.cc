#include "comm/rendezvous/discovery/file_endpoint_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <memory>
#include <span>

#include "comm/auth/crypto.h"
#include "comm/system/directory_reader.h"

namespace muster::rendezvous {
namespace {

constexpr int kLooksForEachTrace = 8;
constexpr size_t kRandomBytes = 4;
constexpr time_t kForgotten = 7 * 24 * 3600;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// With traverse permission only: O_PATH, without the effects of opening it for reading.
UniqueFd OpenDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), kDirectory));
  if (!fd && errno == EACCES) fd.Reset(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return fd;
}

std::string Parent(const std::string& path) {
  const size_t slash =
      path.find_last_not_of('/') == std::string::npos ? 0 : path.rfind('/', path.find_last_not_of('/'));
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

tl::unexpected<Error> Unusable(const std::string& path, std::string_view problem) {
  return WithHint(Fail(Code::kConfiguration, "rendezvous.directory cannot be used: {} {}", path, problem),
                  "choose a directory that all nodes share and only this user can write to");
}

Status WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = TEMP_FAILURE_RETRY(write(fd, content.data(), content.size()));
    if (written < 0) return Fail(Code::kSystem, "{}", ErrnoText(errno));
    content.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<std::string> ReadAll(int fd) {
  std::string content;
  std::array<char, 4096> buffer{};
  while (content.size() <= kLongestRootAddressFile) {
    const ssize_t got = TEMP_FAILURE_RETRY(read(fd, buffer.data(), buffer.size()));
    if (got < 0) return Fail(Code::kSystem, "{}", ErrnoText(errno));
    if (got == 0) break;
    content.append(buffer.data(), static_cast<size_t>(got));
  }
  return content;
}

// The clock that counts is the file server's own.
void RemoveForgotten(int own, const std::string& newest) {
  struct stat now {};
  if (fstatat(own, newest.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return;
  UniqueFd again(openat(own, ".", kDirectory));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(again ? fdopendir(again.get()) : nullptr, closedir);
  if (!listing) return;
  (void)again.Release();  // the listing's
  while (const dirent* entry = readdir(listing.get())) {
    struct stat found {};
    if (fstatat(own, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode)) continue;
    if (now.st_mtime - found.st_mtime > kForgotten) unlinkat(own, entry->d_name, 0);
  }
}

std::string CheckOf(std::string_view root_address) {
  const auth::Digest digest = auth::Blake2b({}, {AsBytes("muster notice file"), AsBytes(root_address)});
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(16), ""));
}

}  // namespace

FileEndpointStore::FileEndpointStore(std::string directory, std::string name)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      uid_(geteuid()),
      own_name_(fmt::format("muster-{}", uid_)) {}

std::string FileEndpointStore::PathOf(std::string_view own_name, std::string_view name) const {
  return fmt::format("{}{}{}/{}", directory_, directory_.ends_with('/') ? "" : "/", own_name, name);
}

std::string FileEndpointStore::Describe() const {
  return fmt::format("the file {}", PathOf(own_name_, name_));
}

Result<UniqueFd> FileEndpointStore::OpenBase() const {
  UniqueFd base = OpenDirectory(directory_);
  if (!base && errno == ENOENT) {
    // It may have been made a moment ago, on another node.
    const UniqueFd above = OpenDirectory(Parent(directory_));
    base = OpenDirectory(directory_);
  }
  if (base) return base;
  const int error = errno;
  if (error == ENOENT) return Unusable(directory_, "is not there");
  if (error == ENOTDIR) return Unusable(directory_, "is no directory");
  if (error == EACCES) return Unusable(directory_, "cannot be entered");
  return Fail(Code::kSystem, "cannot open {}: {}", directory_, ErrnoText(error));
}

Status FileEndpointStore::CheckOwner(int own, std::string_view name) const {
  struct stat found {};
  const std::string path = PathOf(name, "");
  if (fstat(own, &found) != 0) return Fail(Code::kSystem, "cannot examine {}: {}", path, ErrnoText(errno));
  if (found.st_uid != uid_) {
    return Unusable(path, fmt::format("belongs to uid {}, not to uid {}", found.st_uid, uid_));
  }
  if ((found.st_mode & kOthers) == 0) return {};
  return Unusable(path, fmt::format("has mode {:o}, which gives other users access", found.st_mode & 07777));
}

Result<FileEndpointStore::Places> FileEndpointStore::Open(bool thorough) {
  Places places;
  MUSTER_TRY(places.base, OpenBase());
  const int base = places.base.get();
  Result<UniqueFd> usual = OpenUsual(base);
  struct stat found {};
  const bool of_another =
      !usual && fstatat(base, own_name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_uid != uid_;
  if (!usual && !of_another) return Fail(std::move(usual).error());
  if (usual) places.own.push_back({*std::move(usual), own_name_});
  if (of_another || thorough) std::ranges::move(FindRandom(base), std::back_inserter(places.own));
  if (places.own.empty()) places.own = MakeRandom(base);
  if (places.own.empty()) return Fail(std::move(usual).error());
  return places;
}

bool FileEndpointStore::IsRandomName(std::string_view name) const {
  constexpr size_t kDigits = 2 * kRandomBytes;
  const size_t digits = own_name_.size() + 1;
  return name.size() == digits + kDigits && name.starts_with(own_name_ + "-") &&
         name.find_first_not_of("0123456789abcdef", digits) == std::string_view::npos;
}

// In the order of their names. Another user may have made thousands, so each of those costs one call in all.
std::vector<FileEndpointStore::Own> FileEndpointStore::FindRandom(int base) {
  std::vector<Own> found;
  for (const std::string& name : NamesIn(fmt::format("/proc/self/fd/{}", base))) {
    struct stat entry {};
    if (!IsRandomName(name) || of_others_.contains(name)) continue;
    if (fstatat(base, name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (entry.st_uid != uid_) {
      of_others_.insert(name);
      continue;
    }
    UniqueFd fd(openat(base, name.c_str(), kDirectory | O_NOFOLLOW));
    if (fd && CheckOwner(fd.get(), name)) found.push_back({std::move(fd), name});
  }
  return found;
}

// The first of them stays. None: it cannot be made, or not found again (a file server may change the owner).
std::vector<FileEndpointStore::Own> FileEndpointStore::MakeRandom(int base) {
  std::array<uint8_t, kRandomBytes> random{};
  auth::RandomBytes(random);
  const std::string made = fmt::format("{}-{:02x}", own_name_, fmt::join(random, ""));
  if (mkdirat(base, made.c_str(), S_IRWXU) != 0) return {};
  std::vector<Own> found = FindRandom(base);
  if (found.empty() || found.front().name != made) unlinkat(base, made.c_str(), AT_REMOVEDIR);
  return found;
}

Result<UniqueFd> FileEndpointStore::OpenUsual(int base) const {
  UniqueFd own(openat(base, own_name_.c_str(), kDirectory | O_NOFOLLOW));
  // The first process makes it. EEXIST comes from the server, not from the client's cache.
  if (!own && errno == ENOENT) {
    if (mkdirat(base, own_name_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      const int error = errno;
      if (error == EACCES || error == EROFS) return Unusable(directory_, "cannot be written to");
      return Fail(Code::kSystem, "cannot make {}: {}", PathOf(own_name_, ""), ErrnoText(error));
    }
    own.Reset(openat(base, own_name_.c_str(), kDirectory | O_NOFOLLOW));
  }
  if (!own) {
    const int error = errno;
    if (error == ELOOP || error == ENOTDIR) return Unusable(PathOf(own_name_, ""), "is no directory");
    if (error == EACCES) return Unusable(PathOf(own_name_, ""), "cannot be entered");
    return Fail(Code::kSystem, "cannot open {}: {}", PathOf(own_name_, ""), ErrnoText(error));
  }
  MUSTER_CHECK(CheckOwner(own.get(), own_name_));
  return own;
}

Status FileEndpointStore::Write(const Own& place, std::string_view content) const {
  const int own = place.fd.get();
  const std::string draft = name_ + ".new";
  unlinkat(own, draft.c_str(), 0);
  UniqueFd fd(
      openat(own, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) return Fail(Code::kSystem, "cannot make {}: {}", PathOf(place.name, draft), ErrnoText(errno));
  const auto drop = [&](std::string_view problem) {
    unlinkat(own, draft.c_str(), 0);
    return Fail(Code::kSystem, "cannot write {}: {}", PathOf(place.name, name_), problem);
  };
  if (const Status written = WriteAll(fd.get(), content); !written) return drop(written.error().message);
  // NFS sends written data when the file is closed, and reports only then whether there was space.
  if (close(fd.Release()) != 0) return drop(ErrnoText(errno));
  if (renameat(own, draft.c_str(), own, name_.c_str()) != 0) return drop(ErrnoText(errno));
  return {};
}

Status FileEndpointStore::Publish(std::string_view root_address, Deadline /*deadline*/) {
  MUSTER_TRY(const Places places, Open(false));
  MUSTER_CHECK(Write(places.own.front(), EncodeRootAddressFile(root_address)));
  RemoveForgotten(places.own.front().fd.get(), name_);
  return {};
}

// Absent: there is nothing.
Result<std::optional<std::string>> FileEndpointStore::Read(const Own& own) const {
  const std::string path = PathOf(own.name, name_);
  // Without O_NONBLOCK a FIFO of that name would block this process.
  const UniqueFd fd(openat(own.fd.get(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) return Fail(Code::kSystem, "cannot open {}: {}", path, ErrnoText(errno));
  struct stat found {};
  if (fstat(fd.get(), &found) != 0) {
    return Fail(Code::kSystem, "cannot examine {}: {}", path, ErrnoText(errno));
  }
  const bool ours = S_ISREG(found.st_mode) && found.st_uid == uid_ && (found.st_mode & kOthers) == 0;
  if (!ours) {
    return Fail(Code::kAuthentication,
                "{} is ignored: it belongs to uid {} and has mode {:o}; expected: uid {}, mode 600", path,
                found.st_uid, found.st_mode & 07777, uid_);
  }
  const Result<std::string> content = ReadAll(fd.get());
  if (!content) return Fail(Code::kSystem, "cannot read {}: {}", path, content.error().message);
  std::optional<std::string> root_address = DecodeRootAddressFile(*content);
  if (!root_address) return Fail(Code::kSystem, "{} is not whole", path);
  return root_address;
}

Result<std::optional<std::string>> FileEndpointStore::ReadAny(const Places& places) const {
  Result<std::optional<std::string>> none = std::optional<std::string>();
  for (const Own& own : places.own) {
    Result<std::optional<std::string>> read = Read(own);
    if (read && *read) return read;
    if (!read && none) none = std::move(read);
  }
  return none;
}

Result<std::optional<std::string>> FileEndpointStore::LookUp(Deadline /*deadline*/) {
  const bool thorough = (absences_ + 1) % kLooksForEachTrace == 0;
  MUSTER_TRY(const Places places, Open(thorough));
  MUSTER_TRY(std::optional<std::string> root_address, ReadAny(places));
  absences_ = root_address ? 0 : absences_ + 1;
  if (root_address || !thorough) return root_address;
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string trace = fmt::format("trace-{}-{}", host.data(), getpid());
  const int own = places.own.front().fd.get();
  if (mkdirat(own, trace.c_str(), S_IRWXU) == 0) unlinkat(own, trace.c_str(), AT_REMOVEDIR);
  return ReadAny(places);
}

void FileEndpointStore::Withdraw(std::string_view root_address) {
  const Result<Places> places = Open(true);
  if (!places) return;
  for (const Own& own : places->own) {
    // By now it may be another root's: this process must not remove it.
    const auto found = Read(own);
    if (found && *found && **found == root_address) unlinkat(own.fd.get(), name_.c_str(), 0);
    if (own.name != own_name_) unlinkat(places->base.get(), own.name.c_str(), AT_REMOVEDIR);
  }
}

std::string EncodeRootAddressFile(std::string_view root_address) {
  return fmt::format("{}\n{}\n", root_address, CheckOf(root_address));
}

std::optional<std::string> DecodeRootAddressFile(std::string_view content) {
  if (content.size() > kLongestRootAddressFile) return std::nullopt;
  const std::string_view root_address = content.substr(0, content.find('\n'));
  if (content != EncodeRootAddressFile(root_address)) return std::nullopt;
  return std::string(root_address);
}

}  // namespace muster::rendezvous
