#include "bootstrap/process/process_tree.h"

#include <dirent.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bootstrap/process/proc_file.h"
#include "comm/base/parse.h"

namespace muster::process {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Each entry whose name is a number.
void ForNumbers(const std::string& path, const std::function<void(const char* name, pid_t number)>& visit) {
  const Directory directory(opendir(path.c_str()), closedir);
  if (!directory) return;
  while (const dirent* entry = readdir(directory.get())) {
    if (const auto number = ParseInteger<pid_t>(entry->d_name)) visit(entry->d_name, *number);
  }
}

// The fields of /proc/PID/stat after the name, which may hold anything: the first is the state, field 3.
std::vector<std::string> StatFields(pid_t pid) {
  const auto stat = ReadProcFile(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return {};
  std::vector<std::string> fields;
  for (const std::string_view field : Split(std::string_view(*stat).substr(name_end + 2), ' ')) {
    fields.emplace_back(field);
  }
  return fields;
}

constexpr size_t kState = 0;        // field 3 of proc(5)
constexpr size_t kParent = 1;       // 4
constexpr size_t kStarted = 19;     // 22
constexpr size_t kStackStart = 25;  // 28

// False where the kernel has no such file.
bool AppendChildren(pid_t pid, std::vector<pid_t>& children) {
  bool known = false;
  ForNumbers(fmt::format("/proc/{}/task", pid), [&](const char*, pid_t thread) {
    const auto list = ReadProcFile(fmt::format("/proc/{}/task/{}/children", pid, thread));
    if (!list) return;
    known = true;
    for (const std::string_view word : Split(Trim(*list), ' ')) {
      if (const auto child = ParseInteger<pid_t>(word)) children.push_back(*child);
    }
  });
  return known;
}

std::multimap<pid_t, pid_t> ChildrenByParent() {
  std::multimap<pid_t, pid_t> children;
  ForNumbers("/proc", [&](const char*, pid_t pid) {
    const auto fields = StatFields(pid);
    if (fields.size() <= kParent) return;
    if (const auto parent = ParseInteger<pid_t>(fields[kParent])) children.emplace(*parent, pid);
  });
  return children;
}

std::vector<pid_t> TreeByScan(pid_t root) {
  const std::multimap<pid_t, pid_t> children = ChildrenByParent();
  std::vector<pid_t> tree = {root};
  for (size_t i = 0; i < tree.size(); ++i) {
    const auto [first, last] = children.equal_range(tree[i]);
    for (auto child = first; child != last; ++child) tree.push_back(child->second);
  }
  return tree;
}

}  // namespace

std::vector<pid_t> ProcessTree(pid_t root) {
  std::vector<pid_t> tree = {root};
  const bool known = AppendChildren(root, tree);
  // The root itself is there as long as it is not reaped: it is the file that is not.
  if (!known && IdentityOf(root)) return TreeByScan(root);
  for (size_t i = 1; i < tree.size(); ++i) AppendChildren(tree[i], tree);
  return tree;
}

std::optional<ProcessIdentity> IdentityOf(pid_t pid) {
  const auto fields = StatFields(pid);
  if (fields.size() <= kStackStart || fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  const auto started = ParseInteger<uint64_t>(fields[kStarted]);
  const auto stack = ParseInteger<uint64_t>(fields[kStackStart]);
  if (!started || !stack) return std::nullopt;
  return ProcessIdentity{pid, *started, *stack};
}

bool HoldsSocket(pid_t pid, uint64_t inode) {
  const std::string wanted = fmt::format("socket:[{}]", inode);
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  bool found = false;
  ForNumbers(directory, [&](const char* name, pid_t) {
    std::array<char, 64> target;
    if (found) return;
    const ssize_t length = readlink((directory + "/" + name).c_str(), target.data(), target.size());
    found = length > 0 && std::string_view(target.data(), static_cast<size_t>(length)) == wanted;
  });
  return found;
}

}  // namespace muster::process
