// muster's own messages: one line each, to stderr (stdout belongs to the user's program) or to a file, as
// text or JSON.
//
// What a site may want to be told of is an event: a stable name and fields beside the sentence. Names and
// fields are listed in comm/base/README.md, and tests/lint holds that list equal to the code. So a new event
// is one call and one line there:
//
//   LogEvent(LogLevel::kWarning, "silent", {{"ranks", peer.ranks}, {"seconds", 5.2}},
//            "nothing was heard of {} for {}", peer.name, FormatSeconds(silent));
//
// In text only the sentence is written. As JSON:
//
//   {"time":"2026-11-22T02:10:40.123Z","level":"warning","event":"silent","rank":0,"node":"gpu01",
//    "job":"slurm:4.0:0","message":"nothing was heard of ...","fields":{"ranks":"4-7","seconds":5.2}}
//
// rank, node and job are who speaks; whom it is about is in the fields. Everything else (LogInfo and so on)
// has the event "message" and no fields.
//
// Thread-safe. Before SetUpLog the level is info, the format text. Formatting happens only when the level is
// enabled. Where nobody reads standard error, a line is waited for 100 ms, then
// lines are dropped and counted: a stopped terminal must not stop a process's heartbeats. A file that cannot
// be written is named once, and its lines go to standard error until it can.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "comm/log/log_value.h"

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  std::optional<std::string> file;  // appended to; stderr where absent

  friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

// A file that cannot be opened is a warning (names it, and why), and standard error is used.
void SetUpLog(const LogOptions& options);

// Who speaks. In text "rank 5 on gpu03: " stands in front of every later line, "ranks 8-15 on gpu03: " where
// one process stands for several, "gpu03: " without a rank.
struct LogSubject {
  std::optional<int> rank;
  std::string node;
  std::string job;      // JobIdentity::key
  bool in_text = true;  // off where there is only one who could speak
  int ranks = 1;        // from `rank` on

  friend bool operator==(const LogSubject&, const LogSubject&) = default;
};
void SetLogSubject(LogSubject subject);

// Which file the lines go to: its inode's number, the same for all that share it, on whichever node. 0 where
// they go to no regular file (a terminal, a pipe).
uint64_t LogFileNumber();

bool LogEnabled(LogLevel level);
using LogFields = std::span<const LogField>;
// Every line of a message of several stands behind "muster: " in text.
void LogLine(LogLevel level, std::string_view event, LogFields fields, std::string_view message);

// On a terminal: a line that is written over again and again, below the log; at any level. Clear takes it
// away.
void SetStatusLine(std::string_view text);
void ClearStatusLine();

template <typename... Args>
void LogEvent(LogLevel level, std::string_view event, std::initializer_list<LogField> fields,
              fmt::format_string<Args...> format, Args&&... args) {
  if (!LogEnabled(level)) return;
  LogLine(level, event, {fields.begin(), fields.size()}, fmt::format(format, std::forward<Args>(args)...));
}

// What went as it should: nothing to tell a person about (debug), but a monitor counts it (info in JSON).
LogLevel MilestoneLevel();

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level)) LogLine(level, "message", {}, fmt::format(format, std::forward<Args>(args)...));
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
