// muster's own messages: one line each, to stderr (stdout belongs to the user's program) or to a file, as
// text or JSON.
//
// Thread-safe. Before SetUpLog the level is info, the format text. Formatting happens only when the level is
// enabled. Where nobody reads standard error, a line is waited for 100 ms, then
// lines are dropped and counted: a stopped terminal must not stop a process's heartbeats.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/base/error.h"

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  std::optional<std::string> file;  // appended to; stderr where absent

  friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

// Error: kConfiguration when the file cannot be opened (names it).
Status SetUpLog(const LogOptions& options);

// Stands in front of every later line: "rank 5 on gpu03".
void SetLogSubject(std::string subject);

bool LogEnabled(LogLevel level);
void LogLine(LogLevel level, std::string_view message);

// On a terminal: a line that is written over again and again, below the log; at any level. Clear takes it
// away.
void SetStatusLine(std::string_view text);
void ClearStatusLine();

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level)) LogLine(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace muster
