// What /proc says about one process. Protocol source: proc(5).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "comm/rendezvous/messages/survey_messages.h"

namespace muster::rendezvous {

// Absent where there is no such process, or /proc hides it. Does not block; a few small files.
std::optional<ProcessState> LookAtProcess(pid_t pid);

// What the text of /proc/PID/stat says, given the clock ticks of a second and the seconds since the machine
// started. Absent for anything else.
std::optional<ProcessState> ParseProcessStat(std::string_view stat, uint64_t ticks_per_second,
                                             double uptime_seconds);

}  // namespace muster::rendezvous
