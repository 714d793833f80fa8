#include "bootstrap/run/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace muster {

std::string ToString(const LogFileName& name, std::string_view stream) {
  const size_t width = std::to_string(std::max(name.world_size - 1, 0)).size();
  // A node's name comes from the environment.
  std::string node = name.node;
  std::ranges::replace(node, '/', '_');
  return fmt::format("rank{:0{}}.{}.{}.{}", name.rank, width, name.incarnation, node, stream);
}

Result<UniqueFd> OpenLogFile(const std::string& directory, const std::string& name) {
  std::error_code made;
  std::filesystem::create_directories(directory, made);
  const std::string path = directory + "/" + name;
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file) return file;
  // Why there is no directory says more than that there is none.
  const std::string reason = made ? made.message() : ErrnoText(errno);
  return WithHint(Fail(Code::kSystem, "cannot write {}: {}", path, reason),
                  "run.log_dir says where output goes; it must be writable on every node");
}

}  // namespace muster
