// Files of /proc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace muster::process {

// The whole file; absent where it cannot be read: the process has ended, or /proc hides it.
std::optional<std::string> ReadProcFile(const std::string& path);

// "python3", as /proc/PID/comm has it; "?" where it is not known.
std::string ProcessName(pid_t pid);

}  // namespace muster::process
