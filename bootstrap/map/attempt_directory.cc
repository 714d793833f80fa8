#include "bootstrap/map/attempt_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "bootstrap/map/items/item_key.h"
#include "bootstrap/map/sync_tree.h"
#include "comm/base/unique_fd.h"
#include "comm/log/log.h"
#include "comm/log/open_for_writing.h"
#include "comm/map/journal/identity.h"
#include "comm/system/directory_reader.h"
#include "comm/system/system_calls.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

// FindOwn accepts it under any umask.
constexpr mode_t kDirectoryMode = 0775;
// No attempt's: its name ends with two dots and numbers.
constexpr std::string_view kNext = "next-";

tl::unexpected<Error> WithRemedy(tl::unexpected<Error> failure, int error_number) {
  if (error_number == ENOSPC || error_number == EDQUOT) {
    return WithHint(std::move(failure),
                    "free space there, then run the same command again: it continues with what is left");
  }
  return failure;
}

tl::unexpected<Error> Cannot(std::string_view what, const std::string& path, int error_number) {
  return WithRemedy(Fail(Code::kSystem, "cannot {} {}: {}", what, path, ErrnoText(error_number)),
                    error_number);
}

// The path of an open directory: its own path may lead to another one by now.
std::string Through(int directory) { return fmt::format("/proc/self/fd/{}/", directory); }

// An open directory, and its path for users.
struct Above {
  const UniqueFd& fd;
  const std::string& path;
};

tl::unexpected<Error> CannotUse(const std::string& path_and_reason) {
  return WithHint(Fail(Code::kSystem, "cannot use {}", path_and_reason),
                  "choose a map.output in a directory of your own or of your project");
}

Status MakeAll(const std::string& path) {
  int error_number = 0;
  const Status made = MakeDirectories(path, &error_number);
  if (made) return made;
  if (error_number == 0) return CannotUse(made.error().message);
  return WithRemedy(Fail(Code::kSystem, "cannot make the directory {}", made.error().message), error_number);
}

// On some file systems (SMB, exFAT) chmod has no effect.
tl::unexpected<Error> RefuseMode(const std::string& path, std::string_view reason,
                                 const struct stat& status) {
  return WithHint(
      Fail(Code::kSystem, "cannot use {}: {} (mode {:04o}, of user {})", path, reason, status.st_mode & 07777,
           status.st_uid),
      fmt::format("chmod o-w {}; if that fails or has no effect, choose another map.output", path));
}

// With the sticky bit, other users cannot replace what this user has made there.
Result<UniqueFd> FindOutput(const std::string& output) {
  auto found = FindDirectoryForWriting(output);
  if (!found) return CannotUse(found.error().message);
  if (!*found) {  // although it was made
    return WithHint(
        Fail(Code::kSystem, "cannot use {}: a symbolic link in this path leads to nothing", output),
        "make the directory that it leads to, or remove the link");
  }
  struct stat status {};
  if (fstat(found->get(), &status) != 0) return Cannot("examine", output, errno);
  if ((status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0) return found;
  return RefuseMode(output, "every user may replace what is in it", status);
}

// .attempts, .failed or the directory of a run. Empty: it is absent.
Result<UniqueFd> FindOwn(const Above& above, const std::string& name) {
  const std::string path = above.path + "/" + name;
  const std::string way = Through(above.fd.get()) + name;
  auto found = FindDirectoryForWriting(way);
  if (!found) return CannotUse(path + found.error().message.substr(way.size()));
  struct stat status {};
  if (*found && fstat(found->get(), &status) != 0) return Cannot("examine", path, errno);
  if ((status.st_mode & S_IWOTH) == 0) return found;
  return RefuseMode(path, "every user may write it", status);
}

// Other ranks make it at the same time.
Result<UniqueFd> MakeOwn(const Above& above, const std::string& name) {
  MUSTER_TRY(UniqueFd found, FindOwn(above, name));
  if (found) return found;
  const std::string path = above.path + "/" + name;
  const int error = mkdirat(above.fd.get(), name.c_str(), kDirectoryMode) == 0 ? 0 : errno;
  if (error != 0 && error != EEXIST) return Cannot("make the directory", path, error);
  MUSTER_TRY(found, FindOwn(above, name));
  if (!found) return Cannot("make the directory", path, ENOENT);
  return found;
}

constexpr const char* kAttempts = ".attempts";
constexpr const char* kFailed = ".failed";

Result<UniqueFd> OpenOutput(const std::string& output) {
  MUSTER_CHECK(MakeAll(output));
  MUSTER_TRY(UniqueFd found, FindOutput(output));
  for (const char* name : {kAttempts, kFailed}) MUSTER_CHECK(FindOwn({found, output}, name));
  return found;
}

// Empty: it is absent, or refused.
UniqueFd OwnIn(const Above& output, const char* name) {
  Result<UniqueFd> found = FindOwn(output, name);
  return found ? *std::move(found) : UniqueFd();
}

void RemoveAll(int directory, const std::string& name) {
  std::error_code ignored;
  fs::remove_all(Through(directory) + name, ignored);
}

bool IsIn(int directory, const std::string& name) {
  struct stat status {};
  return fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool LeadsTo(const std::string& path, const UniqueFd& directory) {
  struct stat now {};
  struct stat known {};
  return stat(path.c_str(), &now) == 0 && fstat(directory.get(), &known) == 0 && now.st_ino == known.st_ino &&
         now.st_dev == known.st_dev;
}

// An entry of a directory that is open.
struct Entry {
  int directory;
  const std::string& name;

  std::string path() const { return Through(directory) + name; }
};

int Rename(const Entry& from, const Entry& to) {
  return renameat(from.directory, from.name.c_str(), to.directory, to.name.c_str()) == 0 ? 0 : errno;
}

// Of Rename: something is there that it does not replace.
bool IsTaken(int error) { return error == ENOTEMPTY || error == EEXIST || error == ENOTDIR; }

// Nothing, an earlier result, or an empty directory: all else is the user's own.
bool MayBeReplaced(const Entry& place) {
  const UniqueFd directory(
      openat(place.directory, place.name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return !IsIn(place.directory, place.name);
  const auto has_file = [&](const char* name) {
    struct stat status {};
    return fstatat(directory.get(), name + 1, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  };
  std::error_code unreadable;
  return (has_file(kOutputFile) && has_file(kErrorFile)) ||
         fs::is_empty(Through(directory.get()), unreadable);
}

// A file server may lack the exchange; then `to` is absent for a moment.
int Replace(const Entry& from, const Entry& to) {
  const int error = Rename(from, to);
  if (!IsTaken(error)) return error;
  if (ExchangePaths(from.path().c_str(), to.path().c_str()) == 0) return 0;
  const std::string old_name = from.name + ".old";
  const Entry old{from.directory, old_name};
  if (const int kept = Rename(to, old); kept != 0 && kept != ENOENT) return kept;
  const int replaced = Rename(from, to);
  RemoveAll(old.directory, old.name);
  return replaced;
}

// Errors that a name may have alone; those of permission may also be its directory's.
bool IsOfOneName(int error) {
  return error == EPERM || error == EACCES || error == ENAMETOOLONG || error == EISDIR || error == ENOTDIR ||
         error == ENOTEMPTY || error == EEXIST || error == EBUSY;
}

bool MayWrite(int directory, const char* name) { return AccessAt(directory, name, W_OK | X_OK) == 0; }

tl::unexpected<Error> NoResult(const std::string& path) {
  return WithHint(Fail(Code::kWorkFailed, "{} exists and is no result of a map", path),
                  "move it away, or choose another map.output");
}

constexpr const char* kShorten = "shorten the key of this item or the path of map.output";

tl::unexpected<Error> TooLong(const std::string& path) {
  return WithHint(Fail(Code::kWorkFailed, "cannot make the directory {}: {}", path, ErrnoText(ENAMETOOLONG)),
                  kShorten);
}

}  // namespace

std::string RunName(std::string_view journal, std::string_view group) {
  return fmt::format("{}-{}", ShortName(DigestOf(AsBytes(journal))), group);
}

Status PrepareOutput(const std::string& output) {
  MUSTER_CHECK(OpenOutput(output));
  return {};
}

NextDirectory::NextDirectory(const std::string& output, std::string_view run, int rank, int slot)
    : output_(output),
      run_(run),
      place_path_(fmt::format("{}/{}/{}", output, kAttempts, run)),
      name_(fmt::format("{}{}-{}", kNext, rank, slot)) {}

Result<AttemptsPlace> NextDirectory::Place() {
  if (place_ && LeadsTo(output_, place_->output) && LeadsTo(place_path_, place_->run)) return place_;
  OpenPlaces places;
  MUSTER_TRY(places.output, OpenOutput(output_));
  MUSTER_TRY(const UniqueFd attempts, MakeOwn({places.output, output_}, kAttempts));
  MUSTER_TRY(places.run, MakeOwn({attempts, output_ + "/" + kAttempts}, run_));
  place_ = std::make_shared<const OpenPlaces>(std::move(places));
  return place_;
}

void NextDirectory::Prepare() {
  if (ready_) return;
  const auto place = Place();
  if (!place || mkdirat((*place)->run.get(), name_.c_str(), kDirectoryMode) != 0) return;
  ready_ = *place;
  for (const char* name : {kOutputFile, kErrorFile}) {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    if (!UniqueFd(openat(ready_->run.get(), (name_ + name).c_str(), kNew, 0666))) return Remove();
  }
}

bool NextDirectory::MoveTo(int place, const std::string& name) {
  if (!ready_ || renameat(ready_->run.get(), name_.c_str(), place, name.c_str()) != 0) return false;
  ready_.reset();
  return true;
}

void NextDirectory::Remove() {
  if (const AttemptsPlace place = std::exchange(ready_, nullptr)) RemoveAll(place->run.get(), name_);
}

Result<AttemptDirectory> AttemptDirectory::Create(const std::string& output, std::string_view run,
                                                  std::string_view key, uint32_t attempt, int rank,
                                                  NextDirectory& next) {
  AttemptDirectory made;
  MUSTER_TRY(made.place_, next.Place());
  made.output_ = output;
  made.name_ = DirectoryNameOf(key);
  made.attempt_ = fmt::format("{}.{}.{}", made.name_, attempt, rank);
  made.path_ = fmt::format("{}/{}/{}/{}", output, kAttempts, run, made.attempt_);
  // A program could not begin in it, although it can be made.
  if (made.path_.size() >= PATH_MAX) return TooLong(made.path_);
  if (!MayBeReplaced({made.place_->output.get(), made.name_})) return NoResult(output + "/" + made.name_);
  const int place = made.place_->run.get();
  const auto make = [&] { return mkdirat(place, made.attempt_.c_str(), kDirectoryMode) == 0; };
  if (next.MoveTo(place, made.attempt_) || make()) return made;
  if (errno == EEXIST) made.Remove();  // of an attempt that was given back
  if (make()) return made;
  if (errno == ENAMETOOLONG) return TooLong(made.path_);
  if (errno == EEXIST) return Fail(Code::kWorkFailed, "cannot remove {}, of an earlier attempt", made.path_);
  return Cannot("make the directory", made.path_, errno);
}

Status AttemptDirectory::MoveToResults() const {
  MUSTER_TRY(const bool synced, SyncTree(path_));
  const Entry attempt{place_->run.get(), attempt_};
  const Entry result{place_->output.get(), name_};
  int error = Rename(attempt, result);
  if (IsTaken(error) && !MayBeReplaced(result)) return NoResult(output_ + "/" + name_);
  if (IsTaken(error)) error = Replace(attempt, result);
  if (error != 0) return CannotPublish(error);
  if (synced) MUSTER_CHECK(SyncNames(output_));
  Remove();  // the former content, after an exchange
  if (const UniqueFd failed = OwnIn({place_->output, output_}, kFailed)) RemoveAll(failed.get(), name_);
  return {};
}

// Every rank would get the error of one name in turn; that of all names is one of the rank.
tl::unexpected<Error> AttemptDirectory::CannotPublish(int error_number) const {
  const std::string result = output_ + "/" + name_;
  if (error_number == ENOENT && !IsIn(place_->run.get(), attempt_)) {
    return WithHint(
        Fail(Code::kSystem, "the directory {} was removed while its program ran", path_),
        "leave the rest to the run of this map that began later, if there is one; else start it again");
  }
  if (!IsOfOneName(error_number)) return Cannot("rename to", result, error_number);
  const auto failed = [&](std::string_view reason) {
    return Fail(Code::kWorkFailed, "cannot rename to {}: {}{}", result, ErrnoText(error_number), reason);
  };
  if (error_number == ENAMETOOLONG) return WithHint(failed(""), kShorten);
  struct stat there {};
  const bool is_there = fstatat(place_->output.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (!MayWrite(place_->output.get(), ".")) return Cannot("rename to", result, error_number);
  // First, as rename() does: an older result may have that name, and need not be moved away.
  if ((error_number == EACCES || !is_there) && !MayWrite(place_->run.get(), attempt_.c_str())) {
    return WithHint(failed(": the program took the permission to write its directory"),
                    "let the program end with chmod u+rwx \"$MUSTER_ITEM_DIR\"");
  }
  if (is_there && there.st_uid == geteuid())
    return WithHint(failed(", in the place of what is there"), "move that away");
  if (is_there) {
    return WithHint(failed(fmt::format(": what is there belongs to user {}", there.st_uid)),
                    "have that user move it away, or choose another map.output");
  }
  return Cannot("rename to", result, error_number);
}

std::string AttemptDirectory::MoveToFailed() const {
  const std::string place = fmt::format("{}/{}/{}", output_, kFailed, name_);
  Status moved;
  if (const auto failed = MakeOwn({place_->output, output_}, kFailed); !failed) {
    moved = Fail(failed.error());
  } else if (const int error = Replace({place_->run.get(), attempt_}, {failed->get(), name_}); error != 0) {
    moved = Cannot("rename to", place, error);
  }
  if (!moved) {
    LogWarning("{}; the next run removes the files in {}", ToString(moved.error()), path_);
    return path_;
  }
  Remove();
  return place;
}

void AttemptDirectory::Remove() const {
  if (IsIn(place_->run.get(), attempt_)) RemoveAll(place_->run.get(), attempt_);
}

void RemoveOldAttempts(const std::string& output, std::string_view run) {
  const Result<UniqueFd> above = FindOutput(output);
  if (!above) return;
  const UniqueFd attempts = OwnIn({*above, output}, kAttempts);
  const std::string_view journal = run.substr(0, run.find('-') + 1);
  for (const std::string& name : NamesIn(Through(attempts.get()))) {
    if (name != run && name.starts_with(journal)) RemoveAll(attempts.get(), name);
  }
}

void RemoveAttemptsOf(const std::string& output, std::string_view run) {
  const Result<UniqueFd> above = FindOutput(output);
  if (!above) return;
  const UniqueFd attempts = OwnIn({*above, output}, kAttempts);
  const std::string name(run);
  const UniqueFd place(openat(attempts.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  for (const std::string& entry : NamesIn(Through(place.get()))) {
    if (entry.starts_with(kNext)) RemoveAll(place.get(), entry);
  }
  unlinkat(attempts.get(), name.c_str(), AT_REMOVEDIR);
  for (const char* empty : {kAttempts, kFailed}) unlinkat(above->get(), empty, AT_REMOVEDIR);
}

}  // namespace muster::map
