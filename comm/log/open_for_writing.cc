#include "comm/log/open_for_writing.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <optional>
#include <utility>

#include "comm/base/parse.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/pipe.h"
#include "comm/system/proc_file.h"
#include "comm/system/system_calls.h"

namespace muster {
namespace {

// As the kernel has it (path_resolution(7)).
constexpr int kMostLinks = 40;
// Another process may replace a file after its check; the retries are limited.
constexpr int kMostTries = 16;
constexpr int kObject = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr int kDirectory = O_PATH | O_DIRECTORY | O_CLOEXEC;
// Never for every user, under any umask: such a directory is refused.
constexpr mode_t kNewDirectory = 0775;
constexpr std::string_view kNoStickyBit =
    "every user may replace this directory: the one that it is in lacks the sticky bit";
constexpr int kWriting = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// /proc/self/uid_map: "FIRST_HERE FIRST_OUTSIDE COUNT" in each line.
bool MapsAll(std::string_view uid_map) {
  const std::vector<std::string_view> words = Words(uid_map);
  return words.size() == 3 && words[0] == "0" && words[2] == "4294967295";
}

bool EveryUserMayWrite(const struct stat& status) { return (status.st_mode & S_IWOTH) != 0; }
// Every user may also replace the entries of other users.
bool IsForAll(const struct stat& directory) {
  return EveryUserMayWrite(directory) && (directory.st_mode & S_ISVTX) == 0;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}
std::string NameOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "." : name;
}
// The first name of `path`, which becomes what follows it; empty: there is none.
std::string TakeName(std::string& path) {
  const size_t begin = std::min(path.find_first_not_of('/'), path.size());
  const size_t end = std::min(path.find('/', begin), path.size());
  std::string name = path.substr(begin, end - begin);
  path.erase(0, std::min(path.find_first_not_of('/', end), path.size()));
  return name;
}

// The owner of files that this process creates there; absent if it may not create any.
std::optional<uid_t> OwnerOfNewFile(int directory) {
  struct stat status {};
  const UniqueFd unnamed(openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (unnamed) return fstat(unnamed.get(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
  // Other threads, and processes of other nodes with the same number, try at the same time.
  const std::string name = fmt::format(".muster-owner-{:016x}", RandomNumber());
  const UniqueFd named(
      openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!named) return std::nullopt;
  const bool known = fstat(named.get(), &status) == 0;
  unlinkat(directory, name.c_str(), 0);
  return known ? std::optional(status.st_uid) : std::nullopt;
}

std::string Owner(uid_t uid) { return fmt::format("user {}", uid); }

// One walk to the object that a path means.
class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path) {}

  // The directory and the name at the end of all links; `object_` is empty if that is absent.
  Status Find() {
    MUSTER_CHECK(Enter(AT_FDCWD, path_));
    for (int tries = 0; tries < kMostLinks; ++tries) {
      MUSTER_TRY(const bool again, Step());
      if (!again) return {};
    }
    return Refuse("there are too many symbolic links");
  }

  // Absent: the object has changed since Find.
  Result<std::optional<UniqueFd>> Open() {
    if (given_) return Opened(openat(directory_.get(), name_.c_str(), kWriting & ~O_NOFOLLOW));
    if (!object_) {
      const int flags = kWriting | O_CREAT | O_EXCL;
      const int made = openat(directory_.get(), name_.c_str(), flags, 0666);
      return made < 0 && errno == EEXIST ? std::optional<UniqueFd>() : Opened(made);
    }
    const int file = openat(directory_.get(), name_.c_str(), kWriting);
    if (file < 0 && (errno == ENOENT || errno == ELOOP)) return std::optional<UniqueFd>();
    MUSTER_TRY(std::optional<UniqueFd> opened, Opened(file));
    struct stat status {};
    const bool same = fstat(opened->get(), &status) == 0 && status.st_dev == status_.st_dev &&
                      status.st_ino == status_.st_ino;
    if (!same) opened.reset();
    return opened;
  }

  WritingPlace Place() {
    const bool replaceable = !given_ && (!object_ || S_ISREG(status_.st_mode));
    return {std::move(directory_), name_, replaceable};
  }

  // The path as a directory, with its parents; as MakeDirectories.
  Status Make(int& error_number) {
    UniqueFd up;
    MUSTER_CHECK(OpenDirectory(AT_FDCWD, path_, up, &error_number));
    return {};
  }

  // The path as a directory. Empty: it is absent.
  Result<UniqueFd> FindDirectory() {
    UniqueFd up;
    MUSTER_TRY(UniqueFd directory, OpenDirectory(AT_FDCWD, path_, up));
    if (!directory) return directory;
    struct stat status {};
    struct stat holder {};
    if (fstat(directory.get(), &status) != 0 || fstat(up.get(), &holder) != 0)
      return Refuse(ErrnoText(errno));
    if (IsForAll(holder)) return Refuse(kNoStickyBit);
    const bool in_open = EveryUserMayWrite(holder);
    if ((!in_open && !EveryUserMayWrite(status)) || MayFollow(status, up.get(), holder)) return directory;
    return Refuse(fmt::format("this directory belongs to {}, and every user may write {}",
                              Owner(status.st_uid), in_open ? "the one that it is in" : "it"));
  }

  tl::unexpected<Error> Refuse(std::string_view reason) const {
    return WithHint(Fail(Code::kSystem, "{}: {}", path_, reason),
                    reason == ErrnoText(EMFILE) ? DescriptorLimitHint() : "");
  }

 private:
  Result<std::optional<UniqueFd>> Opened(int file) const {
    if (UniqueFd opened = AboveStandard(file)) return std::optional(std::move(opened));
    const bool unread = errno == ENXIO && object_ && S_ISFIFO(status_.st_mode);
    return Refuse(unread ? "no process reads this named pipe" : ErrnoText(errno));
  }

  // Splits off the final name; the remainder is its directory.
  Status Enter(int from, const std::string& path) {
    name_ = NameOf(path);
    if (name_ == "." || name_ == "..") return Refuse(ErrnoText(EISDIR));
    return EnterDirectory(from, ParentOf(path));
  }

  Status EnterDirectory(int from, const std::string& path) {
    UniqueFd up;
    MUSTER_TRY(UniqueFd directory, OpenDirectory(from, path, up));
    if (!directory) return Refuse(ErrnoText(ENOENT));
    return CheckDirectory(std::move(directory));
  }

  // Name by name, with a check of each link. Empty: it is absent. `up`: its parent. `make_error`: absent directories are
  // made, except in the target of a link; errno if that fails.
  Result<UniqueFd> OpenDirectory(int from, const std::string& path, UniqueFd& up, int* make_error = nullptr) {
    UniqueFd directory(openat(from, path.starts_with('/') ? "/" : ".", kDirectory));
    std::string rest = path;
    for (size_t not_in_target = rest.size(); directory;) {
      const std::string name = TakeName(rest);
      const bool make = make_error != nullptr && rest.size() < not_in_target;
      not_in_target = std::min(not_in_target, rest.size());
      if (name.empty()) {
        if (!up) up.Reset(openat(directory.get(), ".", kDirectory));
        return directory;
      }
      up = std::move(directory);
      directory.Reset(openat(up.get(), name.c_str(), kDirectory | O_NOFOLLOW));
      if (!directory && errno == ENOENT && make) {
        *make_error = mkdirat(up.get(), name.c_str(), kNewDirectory) == 0 || errno == EEXIST ? 0 : errno;
        if (*make_error != 0) return Refuse(ErrnoText(*make_error));
        directory.Reset(openat(up.get(), name.c_str(), kDirectory | O_NOFOLLOW));
      }
      if (directory) continue;
      if (errno != ENOTDIR) return AbsentOr(errno);
      MUSTER_TRY(directory, FollowLink(name, up, rest));
    }
    return AbsentOr(errno);
  }

  // The directory from which `rest`, which then begins with the link's target, goes on.
  Result<UniqueFd> FollowLink(const std::string& name, UniqueFd& up, std::string& rest) {
    const UniqueFd link(openat(up.get(), name.c_str(), kObject));
    struct stat status {};
    struct stat holder {};
    if (!link || fstat(link.get(), &status) != 0 || fstat(up.get(), &holder) != 0)
      return Refuse(ErrnoText(errno));
    if (!S_ISLNK(status.st_mode)) return Refuse(ErrnoText(ENOTDIR));
    const bool of_holder = status.st_uid == holder.st_uid && !EveryUserMayWrite(holder);
    const bool by_holder = of_holder || (holder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if ((rest.empty() || !by_holder) && !MayFollow(status, up.get(), holder)) return RefuseLink(name, status);
    if (rest.empty() && IsForAll(holder)) return Refuse(kNoStickyBit);
    if (InProc(link.get())) return UniqueFd(openat(up.get(), name.c_str(), kDirectory));
    if (++links_ > kMostLinks) return Refuse("there are too many symbolic links");
    MUSTER_TRY(const std::string target, Target(link.get()));
    rest = target + "/" + rest;
    const UniqueFd from = std::move(up);
    return UniqueFd(openat(from.get(), target.starts_with('/') ? "/" : ".", kDirectory));
  }

  Result<UniqueFd> AbsentOr(int error_number) const {
    if (error_number == ENOENT) return UniqueFd();
    return Refuse(ErrnoText(error_number));
  }

  Status CheckDirectory(UniqueFd directory) {
    struct stat status {};
    if (!directory || fstat(directory.get(), &status) != 0) return Refuse(ErrnoText(errno));
    if (IsForAll(status)) {
      return Refuse(
          "every user may replace files in its directory (chmod o-w, or the sticky bit as /tmp has it)");
    }
    directory_ = std::move(directory);
    holder_ = status;
    return {};
  }

  // True: it was a link, and directory_ and name_ are now what it leads to.
  Result<bool> Step() {
    object_.Reset(openat(directory_.get(), name_.c_str(), kObject));
    if (!object_ && errno == ENOENT) return false;
    if (!object_ || fstat(object_.get(), &status_) != 0) return Refuse(ErrnoText(errno));
    if (!S_ISLNK(status_.st_mode)) {
      MUSTER_CHECK(CheckObject());
      return false;
    }
    if (!MayFollow(status_, directory_.get(), holder_)) return RefuseLink(name_, status_);
    // The target of a /proc link has no path; it is an inherited descriptor.
    given_ = InProc(object_.get());
    if (given_) return false;
    MUSTER_TRY(const std::string target, Target(object_.get()));
    const UniqueFd from = std::move(directory_);
    MUSTER_CHECK(Enter(from.get(), target));
    return true;
  }

  Status CheckObject() const {
    if (S_ISDIR(status_.st_mode)) return Refuse(ErrnoText(EISDIR));
    if (S_ISREG(status_.st_mode)) return CheckFile();
    if (!S_ISFIFO(status_.st_mode) && !S_ISCHR(status_.st_mode)) return Refuse("this is no file");
    if (MayFollow(status_, directory_.get(), holder_)) return {};
    return Refuse(fmt::format("this {} belongs to {}", S_ISFIFO(status_.st_mode) ? "named pipe" : "device",
                              Owner(status_.st_uid)));
  }

  Status CheckFile() const {
    const bool open_to_all = EveryUserMayWrite(holder_);
    if (open_to_all && status_.st_nlink > 1) {
      return Refuse("this file has several names, in a directory that every user may write");
    }
    const bool open_file = EveryUserMayWrite(status_);
    if (!open_to_all && !open_file) return {};
    // This process can open it only if it is its own, or its group's.
    if (!open_file && OwnershipOf(status_.st_uid, Here()) == Ownership::kUnknown) return {};
    if (MayFollow(status_, directory_.get(), holder_)) return {};
    return Refuse(fmt::format("this file belongs to {}, and every user may write {}", Owner(status_.st_uid),
                              open_to_all ? "its directory" : "it"));
  }

  // Only if an owner matters: it reads files of /proc.
  const WritingOwner& Here() const {
    if (!here_) here_ = OwnerHere();
    return *here_;
  }

  // True if this process may write to an object of that owner.
  bool MayFollow(const struct stat& object, int directory, const struct stat& holder) const {
    switch (OwnershipOf(object.st_uid, Here())) {
      case Ownership::kOwn:
        return true;
      case Ownership::kUnknown:
        if (!EveryUserMayWrite(holder)) return true;
        break;
      case Ownership::kOther:
        break;
    }
    const auto ours = OwnerOfNewFile(directory);
    return ours && *ours == object.st_uid && *ours != Here().own;
  }

  tl::unexpected<Error> RefuseLink(std::string_view name, const struct stat& status) const {
    return Refuse(fmt::format("the symbolic link \"{}\" belongs to {}", name, Owner(status.st_uid)));
  }

  static bool InProc(int fd) {
    struct statfs facts {};
    return fstatfs(fd, &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
  }

  Result<std::string> Target(int link) const {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlinkat(link, "", target.data(), target.size());
    if (length <= 0) return Refuse(ErrnoText(length < 0 ? errno : ENOENT));
    return std::string(target.data(), static_cast<size_t>(length));
  }

  const std::string& path_;
  mutable std::optional<WritingOwner> here_;
  int links_ = 0;  // followed so far, to directories
  UniqueFd directory_;
  struct stat holder_ {};  // directory_'s
  std::string name_;
  UniqueFd object_;
  struct stat status_ {};  // object_'s
  bool given_ = false;
};

}  // namespace

WritingOwner OwnerHere() {
  WritingOwner here;
  here.own = geteuid();
  const std::string overflow = ReadProcFile("/proc/sys/kernel/overflowuid").value_or("");
  here.unmapped = ParseInteger<uid_t>(Trim(overflow)).value_or(here.unmapped);
  // A kernel without user namespaces has no such file.
  const auto map = ReadProcFile("/proc/self/uid_map");
  here.all_mapped = !map || MapsAll(*map);
  return here;
}

Ownership OwnershipOf(uid_t uid, const WritingOwner& here) {
  if (uid == here.unmapped && !here.all_mapped) return Ownership::kUnknown;
  return uid == here.own || uid == 0 ? Ownership::kOwn : Ownership::kOther;
}

Result<UniqueFd> OpenForWriting(const std::string& path) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    Walk walk(path);
    MUSTER_CHECK(walk.Find());
    MUSTER_TRY(std::optional<UniqueFd> opened, walk.Open());
    if (opened) return *std::move(opened);
  }
  return Fail(Code::kSystem, "{}: another process replaces this file again and again", path);
}

Result<WritingPlace> FindForWriting(const std::string& path) {
  Walk walk(path);
  MUSTER_CHECK(walk.Find());
  return walk.Place();
}

Result<UniqueFd> FindDirectoryForWriting(const std::string& path) { return Walk(path).FindDirectory(); }

Status MakeDirectories(const std::string& path, int* error_number) {
  int ignored = 0;
  return Walk(path).Make(error_number == nullptr ? ignored : *error_number);
}

}  // namespace muster
