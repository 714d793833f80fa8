#include "bootstrap/output/log_file.h"

#include <algorithm>

#include "comm/log/open_for_writing.h"

namespace muster::output {

std::string ToString(const LogFileName& name, std::string_view stream) {
  const size_t width = std::to_string(std::max(name.world_size - 1, 0)).size();
  // A node's name comes from the environment.
  std::string node = name.node;
  std::ranges::replace(node, '/', '_');
  return fmt::format("rank{:0{}}.{}.{}.{}", name.rank, width, name.incarnation, node, stream);
}

Result<UniqueFd> OpenLogFile(const std::string& directory, const std::string& name) {
  const Status made = MakeDirectories(directory);
  const std::string path = directory + "/" + name;
  auto file = OpenForWriting(path);
  if (file) return file;
  // The reason for a missing directory is more useful than its absence.
  const std::string what = made ? file.error().message : path + made.error().message.substr(directory.size());
  const std::string& hint = file.error().hint;
  return WithHint(Fail(Code::kSystem, "cannot write {}", what),
                  hint.empty() ? "choose a run.log_dir that is writable on every node" : hint);
}

}  // namespace muster::output
