#include "bootstrap/map/sync_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "comm/base/unique_fd.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

// Each costs a request to the disk; more of them are left to the file system as a whole.
constexpr size_t kMostPaths = 64;

// `call`: fsync or syncfs. The number of its error; 0: done, or this file system cannot.
int Sync(const std::string& path, int (*call)(int)) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file && call(file.get()) == 0) return 0;
  return errno == EINVAL || errno == EROFS || errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
}

Status CannotSync(const std::string& path, int error_number) {
  auto failure = Fail(Code::kSystem, "cannot write {} to its disk: {}", path, ErrnoText(error_number));
  if (error_number != ENOSPC && error_number != EDQUOT) return failure;
  return WithHint(std::move(failure),
                  "free space there, then run the same command again: it continues with what is left");
}

Status SyncAll(const std::string& directory, const std::vector<std::string>& paths) {
  bool as_whole = paths.size() > kMostPaths;
  for (size_t i = 0; i < paths.size() && !as_whole; ++i) {
    const int error_number = Sync(paths[i], fsync);
    as_whole = error_number == EACCES;  // the program has made it unreadable
    if (error_number != 0 && !as_whole) return CannotSync(paths[i], error_number);
  }
  const int error_number = Sync(directory, as_whole ? syncfs : fsync);
  if (error_number == 0 || error_number == ENOENT) return {};  // if it is gone, its rename has the error
  return CannotSync(directory, error_number);
}

}  // namespace

Result<bool> SyncTree(const std::string& directory) {
  bool found = false;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const fs::file_type type = at->symlink_status(ignored).type();
    const bool is_empty = type == fs::file_type::regular && at->file_size(ignored) == 0;
    if (is_empty && at.depth() == 0) continue;
    found = true;
    const bool has_content =
        type == fs::file_type::directory || (type == fs::file_type::regular && !is_empty);
    if (has_content) paths.push_back(at->path());
    if (paths.size() > kMostPaths) break;
  }
  if (!found) return false;
  MUSTER_CHECK(SyncAll(directory, paths));
  return true;
}

Status SyncNames(const std::string& directory) {
  const int error_number = Sync(directory, fsync);
  if (error_number != 0) return CannotSync(directory, error_number);
  return {};
}

}  // namespace muster::map
