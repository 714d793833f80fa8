#include "bootstrap/process/process_tree.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster::process {
namespace {

std::multimap<pid_t, pid_t> ChildrenByParent() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : NumbersIn("/proc")) {
    if (const auto parent = ParentOf(pid)) children.emplace(*parent, pid);
  }
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
  for (size_t i = 0; i < tree.size(); ++i) {
    const auto children = ChildrenOf(std::to_string(tree[i]));
    // The root itself is there as long as it is not reaped: it is the file that is not.
    if (!children && i == 0 && IdentityOf(root)) return TreeByScan(root);
    if (children) tree.insert(tree.end(), children->begin(), children->end());
  }
  return tree;
}

std::optional<ProcessIdentity> IdentityOf(pid_t pid) {
  const std::string stat = ReadProcFile(fmt::format("/proc/{}/stat", pid)).value_or("");
  const auto fields = StatFields(stat);
  if (fields.size() <= kStatStackStart || fields[kStatState] == "Z" || fields[kStatState] == "X")
    return std::nullopt;
  const auto started = ParseInteger<uint64_t>(fields[kStatStart]);
  const auto stack = ParseInteger<uint64_t>(fields[kStatStackStart]);
  if (!started || !stack) return std::nullopt;
  return ProcessIdentity{pid, *started, *stack};
}

bool HoldsSocket(pid_t pid, uint64_t inode) {
  const std::string wanted = fmt::format("socket:[{}]", inode);
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  return std::ranges::any_of(NumbersIn(directory), [&](int descriptor) {
    std::array<char, 64> target;
    const std::string link = fmt::format("{}/{}", directory, descriptor);
    const ssize_t length = readlink(link.c_str(), target.data(), target.size());
    return length > 0 && std::string_view(target.data(), static_cast<size_t>(length)) == wanted;
  });
}

}  // namespace muster::process
