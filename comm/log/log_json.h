// A log line as JSON (log.format: json). Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "comm/log/log.h"

namespace muster {

// RFC 3339, in UTC, to the millisecond: "2026-11-22T02:10:40.123Z".
std::string FormatTime(std::chrono::system_clock::time_point time);

// One object, without a line end. Bytes that are not UTF-8 become U+FFFD. Rank, node, job and fields are
// omitted if there are none.
std::string LogLineAsJson(std::chrono::system_clock::time_point time, std::string_view level,
                          std::string_view event, const LogSubject& subject, std::string_view message,
                          LogFields fields);

}  // namespace muster
