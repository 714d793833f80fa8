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
#include "comm/base/unique_fd.h"
#include "comm/system/system_calls.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

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

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Cannot("make the directory", path, error.value());
  return {};
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

NextDirectory::NextDirectory(const std::string& output, std::string_view run, int rank, int slot)
    : path_(fmt::format("{}/.attempts/{}/{}{}-{}", output, run, kNext, rank, slot)) {}

void NextDirectory::Prepare() {
  if (ready_ || mkdir(path_.c_str(), 0777) != 0) return;
  ready_ = true;
  for (const char* name : {kOutputFile, kErrorFile}) {
    if (!UniqueFd(open((path_ + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666))) return Remove();
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
  const std::string parent = fmt::format("{}/.attempts/{}", output, run);
  const std::string path = fmt::format("{}/{}.{}.{}", parent, name, attempt, rank);
  if (next.MoveTo(path) || mkdir(path.c_str(), 0777) == 0) return AttemptDirectory(output, name, path);
  if (errno == EEXIST) {  // of an attempt that was given back
    std::error_code ignored;
    fs::remove_all(path, ignored);
  } else {
    MUSTER_CHECK(MakeDirectories(parent));
  }
  if (mkdir(path.c_str(), 0777) != 0) return Cannot("make the directory", path, errno);
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
  std::error_code ignored;
  fs::remove_all(output_ + "/.failed/" + name_, ignored);
  return {};
}

std::string AttemptDirectory::MoveToFailed() const {
  const std::string failed = output_ + "/.failed";
  const std::string place = failed + "/" + name_;
  if (!MakeDirectories(failed) || Replace(path_, place) != 0) return path_;
  Remove();
  return place;
}

void AttemptDirectory::Remove() const {
  if (access(path_.c_str(), F_OK) != 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void RemoveOldAttempts(const std::string& output, std::string_view run) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(output + "/.attempts", ignored)) {
    if (entry.path().filename() != run) fs::remove_all(entry.path(), ignored);
  }
}

void RemoveAttemptsOf(const std::string& output, std::string_view run) {
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
