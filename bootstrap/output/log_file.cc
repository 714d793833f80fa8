#include "bootstrap/output/log_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "comm/log/open_for_writing.h"

namespace muster::output {

int MakeDirectories(const std::string& path) {
  constexpr mode_t kMode = 0775;
  for (size_t end = path.find_first_not_of('/'); end != std::string::npos;) {
    end = path.find('/', end);
    const std::string part = path.substr(0, end);
    struct stat status {};
    if (stat(part.c_str(), &status) != 0 && mkdir(part.c_str(), kMode) != 0 && errno != EEXIST) return errno;
    if (end != std::string::npos) end = path.find_first_not_of('/', end);
  }
  return 0;
}

std::string ToString(const LogFileName& name, std::string_view stream) {
  const size_t width = std::to_string(std::max(name.world_size - 1, 0)).size();
  // A node's name comes from the environment.
  std::string node = name.node;
  std::ranges::replace(node, '/', '_');
  return fmt::format("rank{:0{}}.{}.{}.{}", name.rank, width, name.incarnation, node, stream);
}

Result<UniqueFd> OpenLogFile(const std::string& directory, const std::string& name) {
  const int not_made = MakeDirectories(directory);
  const std::string path = directory + "/" + name;
  auto file = OpenForWriting(path);
  if (file) return file;
  // The reason for a missing directory is more useful than its absence.
  const std::string what = not_made != 0 ? path + ": " + ErrnoText(not_made) : file.error().message;
  const std::string& hint = file.error().hint;
  return WithHint(Fail(Code::kSystem, "cannot write {}", what),
                  hint.empty() ? "choose a run.log_dir that is writable on every node" : hint);
}

}  // namespace muster::output
