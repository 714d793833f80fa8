#include "bootstrap/map/attempt_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "bootstrap/map/items/item_key.h"
#include "bootstrap/map/sync_tree.h"
#include "bootstrap/output/log_file.h"
#include "comm/base/unique_fd.h"
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
Result<UniqueFd> Find(const std::string& path, mode_t& mode) {
  auto found = FindDirectoryForWriting(path);
  if (!found) {
    return WithHint(Fail(Code::kSystem, "cannot use {}", found.error().message),
                    "choose another map.output, or have that entry removed");
  }
  struct stat status {};
  if (*found && fstat(found->get(), &status) != 0) return Cannot("examine", path, errno);
  mode = status.st_mode;
  return found;
}

// With the sticky bit, other users cannot replace what this user has made there.
Status CheckOutput(const std::string& output) {
  mode_t mode = 0;
  MUSTER_TRY(const UniqueFd found, Find(output, mode));
  if ((mode & S_IWOTH) == 0 || (mode & S_ISVTX) != 0) return {};
  return WithHint(Fail(Code::kSystem, "cannot use {}: every user may replace what is in it", output),
                  fmt::format("chmod o-w {}", output));
}

// .attempts, .failed or the directory of a run. Empty: it is absent.
Result<UniqueFd> FindOwn(const std::string& path) {
  mode_t mode = 0;
  MUSTER_TRY(UniqueFd found, Find(path, mode));
  if ((mode & S_IWOTH) == 0) return found;
  return WithHint(Fail(Code::kSystem, "cannot use {}: every user may write it", path),
                  fmt::format("chmod o-w {}", path));
}

bool IsOwn(const std::string& path) {
  const Result<UniqueFd> found = FindOwn(path);
  return found && *found;
}

// Other ranks make it at the same time.
Status MakeOwn(const std::string& path) {
  MUSTER_TRY(UniqueFd found, FindOwn(path));
  if (found) return {};
  const int error = mkdir(path.c_str(), kDirectoryMode) == 0 ? 0 : errno;
  if (error != 0 && error != EEXIST) return Cannot("make the directory", path, error);
  MUSTER_TRY(found, FindOwn(path));
  if (!found) return Cannot("make the directory", path, ENOENT);
  return {};
}

// For each attempt: a later run removes them at its end, and another user may make them after that.
Status MakePlaceOf(std::string_view run, const std::string& output) {
  const std::string attempts = output + "/.attempts";
  if (!IsOwn(attempts)) {
    MUSTER_CHECK(PrepareOutput(output));
    MUSTER_CHECK(MakeOwn(attempts));
  }
  return MakeOwn(fmt::format("{}/{}", attempts, run));
}

// A file server may lack the exchange; then `to` is absent for a moment.
int Replace(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return errno;
  if (ExchangePaths(from.c_str(), to.c_str()) == 0) return 0;
  const std::string old = from + ".old";
  if (rename(to.c_str(), old.c_str()) != 0 && errno != ENOENT) return errno;
  const int error = rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  std::error_code ignored;
  fs::remove_all(old, ignored);
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
    : path_(fmt::format("{}/.attempts/{}/{}{}-{}", output, run, kNext, rank, slot)) {}

void NextDirectory::Prepare() {
  if (ready_ || mkdir(path_.c_str(), kDirectoryMode) != 0) return;
  ready_ = true;
  for (const char* name : {kOutputFile, kErrorFile}) {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    if (!UniqueFd(open((path_ + name).c_str(), kNew, 0666))) return Remove();
  }
}

bool NextDirectory::MoveTo(const std::string& path) {
  if (!ready_ || rename(path_.c_str(), path.c_str()) != 0) return false;
  ready_ = false;
  return true;
}

void NextDirectory::Remove() {
  if (!ready_) return;
  ready_ = false;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<AttemptDirectory> AttemptDirectory::Create(const std::string& output, std::string_view run,
                                                  std::string_view key, uint32_t attempt, int rank,
                                                  NextDirectory& next) {
  const std::string name = DirectoryNameOf(key);
  const std::string path = fmt::format("{}/.attempts/{}/{}.{}.{}", output, run, name, attempt, rank);
  MUSTER_CHECK(MakePlaceOf(run, output));
  if (next.MoveTo(path) || mkdir(path.c_str(), kDirectoryMode) == 0)
    return AttemptDirectory(output, name, path);
  if (errno == EEXIST) {  // of an attempt that was given back
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  if (mkdir(path.c_str(), kDirectoryMode) != 0) return Cannot("make the directory", path, errno);
  return AttemptDirectory(output, name, path);
}

Status AttemptDirectory::MoveToResults() const {
  const std::string result = output_ + "/" + name_;
  MUSTER_TRY(const bool synced, SyncTree(path_));
  if (const int error = Replace(path_, result); error != 0) {
    if (error != ENOENT || access(path_.c_str(), F_OK) == 0) return Cannot("rename to", result, error);
    return WithHint(
        Fail(Code::kSystem, "the directory {} was removed while its program ran", path_),
        "leave the rest to the run of this map that began later, if there is one; else start it again");
  }
  if (synced) MUSTER_CHECK(SyncNames(output_));
  Remove();  // the former content, after an exchange
  const std::string failed = output_ + "/.failed";
  std::error_code ignored;
  if (IsOwn(failed)) fs::remove_all(failed + "/" + name_, ignored);
  return {};
}

std::string AttemptDirectory::MoveToFailed() const {
  const std::string failed = output_ + "/.failed";
  const std::string place = failed + "/" + name_;
  if (!MakeOwn(failed) || Replace(path_, place) != 0) return path_;
  Remove();
  return place;
}

void AttemptDirectory::Remove() const {
  if (access(path_.c_str(), F_OK) != 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void RemoveOldAttempts(const std::string& output, std::string_view run) {
  const std::string attempts = output + "/.attempts";
  if (!IsOwn(attempts)) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(attempts, ignored)) {
    if (entry.path().filename() != run) fs::remove_all(entry.path(), ignored);
  }
}

void RemoveAttemptsOf(const std::string& output, std::string_view run) {
  if (!IsOwn(output + "/.attempts")) return;
  const std::string attempts = fmt::format("{}/.attempts/{}", output, run);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(attempts, ignored)) {
    if (entry.path().filename().string().starts_with(kNext)) fs::remove_all(entry.path(), ignored);
  }
  rmdir(attempts.c_str());
  rmdir((output + "/.attempts").c_str());
  rmdir((output + "/.failed").c_str());
}

}  // namespace muster::map
