// The processes above this one, from /proc. Reads only; a process that is not visible (hidepid, another PID
// namespace) ends the walk, and then there is less evidence.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Parent first; at most 64.
std::vector<pid_t> Ancestors(pid_t pid);

// "13.0" "13.batch" "13.interactive" "13.extern": of the nearest slurmstepd among them; empty: none seen.
// Slurmstepd names itself "slurmstepd: [JOB.STEP]".
std::string NearestSlurmStep(const std::vector<pid_t>& ancestors);
std::string SlurmStepOfCommandLine(std::string_view command_line);

// The environment a process was started with, NUL-separated.
std::optional<std::string> StartEnvironment(pid_t pid);

// All bytes of a file, also of one that states no size; absent if it cannot be read or is longer than
// `limit`.
std::optional<std::string> ReadAll(const std::string& path, size_t limit);

}  // namespace muster
