// The time that begins a line of text (log.time). A separate header: few rooms choose it.
#pragma once

#include <chrono>
#include <string>

#include "comm/log/log.h"

namespace muster {

// Local time: kShort is "03:10:40", kFull "2026-11-22T03:10:40.123+01:00" (RFC 3339). kAuto: short if lines go
// to a terminal, else full.
enum class LogTime { kAuto, kShort, kFull, kNone };

// Of later lines, each line of a message of several; `options` are those of SetUpLog. Before the first call
// lines have no time: they are answers to a command line.
void SetLogTime(LogTime form, const LogOptions& options = {});

// With a space behind. `form` is kShort or kFull.
std::string LogTimeText(std::chrono::system_clock::time_point time, LogTime form);

}  // namespace muster
