#include "comm/system/proc_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "comm/base/parse.h"
#include "comm/base/unique_fd.h"
#include "comm/system/directory_reader.h"

namespace muster {

std::optional<std::string> ReadProcFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = TEMP_FAILURE_RETRY(read(file.get(), buffer, sizeof buffer));
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

std::vector<int> NumbersIn(const std::string& directory) {
  std::vector<int> numbers;
  DirectoryReader entries(directory);
  while (const auto entry = entries.Next()) {
    if (const auto number = ParseInteger<int>(entry->name)) numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string_view> StatFields(std::string_view stat) {
  const size_t name = stat.find(" (");
  const size_t name_end = stat.rfind(") ");
  if (name == std::string_view::npos || name_end == std::string_view::npos || name_end < name) return {};
  std::vector<std::string_view> fields = {"", stat.substr(0, name),
                                          stat.substr(name + 2, name_end - name - 2)};
  const std::vector<std::string_view> rest = Split(Trim(stat.substr(name_end + 2)), ' ');
  fields.insert(fields.end(), rest.begin(), rest.end());
  return fields;
}

std::optional<std::vector<pid_t>> ChildrenOf(const std::string& process) {
  std::optional<std::vector<pid_t>> children;
  for (const pid_t thread : NumbersIn(fmt::format("/proc/{}/task", process))) {
    const auto list = ReadProcFile(fmt::format("/proc/{}/task/{}/children", process, thread));
    if (!list) continue;
    if (!children) children.emplace();
    for (const std::string_view word : Split(Trim(*list), ' ')) {
      if (const auto pid = ParseInteger<pid_t>(word)) children->push_back(*pid);
    }
  }
  return children;
}

std::string StatField(pid_t pid, StatNumber number) {
  const std::string stat = ReadProcFile(fmt::format("/proc/{}/stat", pid)).value_or("");
  const auto fields = StatFields(stat);
  return fields.size() > number ? std::string(fields[number]) : "";
}

std::optional<pid_t> ParentOf(pid_t pid) { return ParseInteger<pid_t>(StatField(pid, kStatParent)); }

std::string ProcessName(pid_t pid) {
  const auto name = ReadProcFile(fmt::format("/proc/{}/comm", pid));
  return name ? std::string(Trim(*name)) : "?";
}

}  // namespace muster
