#include "bootstrap/map/attempt_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "bootstrap/map/items/item_key.h"
#include "bootstrap/map/sync_tree.h"
#include "bootstrap/output/log_file.h"
#include "comm/base/unique_fd.h"
#include "comm/log/log.h"
#include "comm/log/open_for_writing.h"
#include "comm/system/system_calls.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

// FindOwn accepts it under any umask.
constexpr mode_t kDirectoryMode = 0775;
// No attempt's: its name ends with two dots and numbers.
constexpr std::string_view kNext = "next-";

tl::unexpected<Error> Cannot(std::string_view what, const std::string& path, int error_number) {
  auto failure = Fail(Code::kSystem, "cannot {} {}: {}", what, path, ErrnoText(error_number));
  if (error_number == ENOSPC || error_number == EDQUOT) {
    return WithHint(std::move(failure),
                    "free space there, then run the same command again: it continues with what is left");
  }
  return failure;
}

Status MakeAll(const std::string& path) {
  const int error = output::MakeDirectories(path);
  if (error != 0) return Cannot("make the directory", path, error);
  return {};
}

// Empty, and no mode: it is absent.
Result<UniqueFd> Find(const std::string& path, struct stat& status) {
  auto found = FindDirectoryForWriting(path);
  if (!found) {
    return WithHint(Fail(Code::kSystem, "cannot use {}", found.error().message),
                    "choose a map.output in a directory of your own or of your project");
  }
  if (*found && fstat(found->get(), &status) != 0) return Cannot("examine", path, errno);
  return found;
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
Status CheckOutput(const std::string& output) {
  struct stat status {};
  MUSTER_TRY(const UniqueFd found, Find(output, status));
  if (!found) {  // although it was made
    return WithHint(Fail(Code::kSystem, "cannot use {}: this symbolic link leads to nothing", output),
                    "make the directory that it leads to, or remove the link");
  }
  if ((status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0) return {};
  return RefuseMode(output, "every user may replace what is in it", status);
}

// .attempts, .failed or the directory of a run. Empty: it is absent.
Result<UniqueFd> FindOwn(const std::string& path) {
  struct stat status {};
  MUSTER_TRY(UniqueFd found, Find(path, status));
  if ((status.st_mode & S_IWOTH) == 0) return found;
  return RefuseMode(path, "every user may write it", status);
}

// Empty: it is absent, or refused.
UniqueFd OwnIn(const std::string& output, const char* name) {
  Result<UniqueFd> found = FindOwn(output + name);
  return found ? *std::move(found) : UniqueFd();
}

// Other ranks make it at the same time.
Result<UniqueFd> MakeOwn(const std::string& path) {
  MUSTER_TRY(UniqueFd found, FindOwn(path));
  if (found) return found;
  const int error = mkdir(path.c_str(), kDirectoryMode) == 0 ? 0 : errno;
  if (error != 0 && error != EEXIST) return Cannot("make the directory", path, error);
  MUSTER_TRY(found, FindOwn(path));
  if (!found) return Cannot("make the directory", path, ENOENT);
  return found;
}

// The path of an open directory: its own path may lead to another one by now.
std::string Through(int directory) { return fmt::format("/proc/self/fd/{}/", directory); }

void RemoveAll(int directory, const std::string& name) {
  std::error_code ignored;
  fs::remove_all(Through(directory) + name, ignored);
}

std::vector<std::string> NamesIn(int directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(Through(directory), ignored))
    names.push_back(entry.path().filename());
  return names;
}

bool IsIn(int directory, const std::string& name) {
  return faccessat(directory, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// A file server may lack the exchange; then `to` is absent for a moment.
int Replace(int directory, const std::string& from, const std::string& to) {
  if (renameat(directory, from.c_str(), AT_FDCWD, to.c_str()) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return errno;
  if (ExchangePaths((Through(directory) + from).c_str(), to.c_str()) == 0) return 0;
  const std::string old = from + ".old";
  if (renameat(AT_FDCWD, to.c_str(), directory, old.c_str()) != 0 && errno != ENOENT) return errno;
  const int error = renameat(directory, from.c_str(), AT_FDCWD, to.c_str()) == 0 ? 0 : errno;
  RemoveAll(directory, old);
  return error;
}

}  // namespace

Status PrepareOutput(const std::string& output) {
  MUSTER_CHECK(MakeAll(output));
  MUSTER_CHECK(CheckOutput(output));
  for (const char* name : {"/.attempts", "/.failed"}) MUSTER_CHECK(FindOwn(output + name));
  return {};
}

NextDirectory::NextDirectory(const std::string& output, std::string_view run, int rank, int slot)
    : output_(output),
      place_path_(fmt::format("{}/.attempts/{}", output, run)),
      name_(fmt::format("{}{}-{}", kNext, rank, slot)) {}

Result<AttemptsPlace> NextDirectory::Place() {
  struct stat now {};
  struct stat known {};
  const bool is_in_place = place_ && stat(place_path_.c_str(), &now) == 0 &&
                           fstat(place_->get(), &known) == 0 && now.st_ino == known.st_ino &&
                           now.st_dev == known.st_dev;
  if (is_in_place) return place_;
  MUSTER_CHECK(PrepareOutput(output_));
  MUSTER_CHECK(MakeOwn(output_ + "/.attempts"));
  MUSTER_TRY(UniqueFd place, MakeOwn(place_path_));
  place_ = std::make_shared<const UniqueFd>(std::move(place));
  return place_;
}

void NextDirectory::Prepare() {
  if (ready_) return;
  const auto place = Place();
  if (!place || mkdirat((*place)->get(), name_.c_str(), kDirectoryMode) != 0) return;
  ready_ = *place;
  for (const char* name : {kOutputFile, kErrorFile}) {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    if (!UniqueFd(openat(ready_->get(), (name_ + name).c_str(), kNew, 0666))) return Remove();
  }
}

bool NextDirectory::MoveTo(int place, const std::string& name) {
  if (!ready_ || renameat(ready_->get(), name_.c_str(), place, name.c_str()) != 0) return false;
  ready_.reset();
  return true;
}

void NextDirectory::Remove() {
  if (const AttemptsPlace place = std::exchange(ready_, nullptr)) RemoveAll(place->get(), name_);
}

Result<AttemptDirectory> AttemptDirectory::Create(const std::string& output, std::string_view run,
                                                  std::string_view key, uint32_t attempt, int rank,
                                                  NextDirectory& next) {
  AttemptDirectory made;
  MUSTER_TRY(made.place_, next.Place());
  made.output_ = output;
  made.name_ = DirectoryNameOf(key);
  made.attempt_ = fmt::format("{}.{}.{}", made.name_, attempt, rank);
  made.path_ = fmt::format("{}/.attempts/{}/{}", output, run, made.attempt_);
  const int place = made.place_->get();
  const auto make = [&] { return mkdirat(place, made.attempt_.c_str(), kDirectoryMode) == 0; };
  if (next.MoveTo(place, made.attempt_) || make()) return made;
  if (errno == EEXIST) made.Remove();  // of an attempt that was given back
  if (!make()) return Cannot("make the directory", made.path_, errno);
  return made;
}

Status AttemptDirectory::MoveToResults() const {
  const std::string result = output_ + "/" + name_;
  MUSTER_TRY(const bool synced, SyncTree(path_));
  if (const int error = Replace(place_->get(), attempt_, result); error != 0) {
    if (error != ENOENT || IsIn(place_->get(), attempt_)) return Cannot("rename to", result, error);
    return WithHint(
        Fail(Code::kSystem, "the directory {} was removed while its program ran", path_),
        "leave the rest to the run of this map that began later, if there is one; else start it again");
  }
  if (synced) MUSTER_CHECK(SyncNames(output_));
  Remove();  // the former content, after an exchange
  if (const UniqueFd failed = OwnIn(output_, "/.failed")) RemoveAll(failed.get(), name_);
  return {};
}

std::string AttemptDirectory::MoveToFailed() const {
  const std::string place = output_ + "/.failed/" + name_;
  Status moved;
  if (const auto failed = MakeOwn(output_ + "/.failed"); !failed) {
    moved = Fail(failed.error());
  } else if (const int error = Replace(place_->get(), attempt_, place); error != 0) {
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
  if (IsIn(place_->get(), attempt_)) RemoveAll(place_->get(), attempt_);
}

void RemoveOldAttempts(const std::string& output, std::string_view run) {
  const UniqueFd attempts = OwnIn(output, "/.attempts");
  for (const std::string& name : NamesIn(attempts.get())) {
    if (name != run) RemoveAll(attempts.get(), name);
  }
}

void RemoveAttemptsOf(const std::string& output, std::string_view run) {
  const UniqueFd attempts = OwnIn(output, "/.attempts");
  const std::string name(run);
  const UniqueFd place(openat(attempts.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  for (const std::string& entry : NamesIn(place.get())) {
    if (entry.starts_with(kNext)) RemoveAll(place.get(), entry);
  }
  unlinkat(attempts.get(), name.c_str(), AT_REMOVEDIR);
  rmdir((output + "/.attempts").c_str());
  rmdir((output + "/.failed").c_str());
}

}  // namespace muster::map
