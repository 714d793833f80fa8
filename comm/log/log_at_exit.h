// The last line of a process.
#pragma once

#include <string_view>

#include "comm/log/log.h"

namespace muster {

// LogLine and FlushLog, for a function that exit(3) calls. No line if a thread holds the log: it may be this one, if exit was
// called in a signal handler.
void LogLineAtExit(LogLevel level, std::string_view event, LogFields fields, std::string_view message);

}  // namespace muster
