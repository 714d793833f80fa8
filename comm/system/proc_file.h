// Files of /proc and /sys.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The whole file; absent if it cannot be read: the process has ended, or /proc hides it.
std::optional<std::string> ReadProcFile(const std::string& path);

// The entries of a directory of /proc whose names are numbers; none if it cannot be read.
std::vector<int> NumbersIn(const std::string& directory);

// The fields of /proc/PID/stat, each at its number in proc(5): "PID (NAME) S PPID ...", in which PID is 1 and
// NAME may hold anything. Empty for other text. Pure.
std::vector<std::string_view> StatFields(std::string_view stat);
// Some of these numbers.
enum StatNumber : size_t {
  kStatPid = 1,
  kStatState = 3,
  kStatParent = 4,
  kStatFlags = 9,
  kStatUserTime = 14,
  kStatSystemTime = 15,
  kStatThreads = 20,
  kStatStart = 22,
  kStatStackStart = 28,
};
// Empty if the process has ended.
std::string StatField(pid_t pid, StatNumber number);

// The children of all threads of /proc/PROCESS (a number, or "self"). Absent if the kernel has no such file.
std::optional<std::vector<pid_t>> ChildrenOf(const std::string& process);
std::optional<pid_t> ParentOf(pid_t pid);

// "python3", as in /proc/PID/comm; "?" if it is not known.
std::string ProcessName(pid_t pid);

}  // namespace muster
