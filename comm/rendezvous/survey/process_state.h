// The data in /proc about one process. Format: proc(5).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "comm/rendezvous/messages/survey_messages.h"

namespace muster::rendezvous {

// Absent if there is no such process, or /proc hides it. Does not block; a few small files.
std::optional<ProcessState> LookAtProcess(pid_t pid);

// By a signal, a debugger or the freezer of its control group. Pure.
bool IsStopped(const ProcessState& state);

// Parses the text of /proc/PID/stat, with the clock ticks per second and the seconds since the machine
// started. Absent for any other text.
std::optional<ProcessState> ParseProcessStat(std::string_view stat, uint64_t ticks_per_second,
                                             double uptime_seconds);

}  // namespace muster::rendezvous
