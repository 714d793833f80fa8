// muster's own messages: one line each, to stderr (stdout is for the user's program) or to a file, as text or
// JSON.
//
// A message that a site may monitor is an event: it has a stable name and fields beside the sentence. The
// table of all events is docs/pages/reference/log-events.md; tests/lint compares it with the code. So a new
// event is one call and one row there:
//
//   LogEvent(LogLevel::kWarning, "silent", {{"ranks", peer.ranks}, {"seconds", 5.2}},
//            "no message from {} for {}", peer.name, FormatSeconds(silent));
//
// The text format has only the sentence. As JSON:
//
//   {"time":"2026-11-22T02:10:40.123Z","level":"warning","event":"silent","rank":0,"node":"gpu01",
//    "job":"slurm:4.0:0","message":"no message from ...","fields":{"ranks":"4-7","seconds":5.2}}
//
// rank, node and job are those of the logging process; the affected ranks are in the fields. All other
// messages (LogInfo and so on) have the event "message" and no fields.
//
// Thread-safe. Before SetUpLog the level is info, the format text. Formatting happens only when the level is
// enabled. If standard error takes nothing, a line waits for 100 ms; then up to 64 KiB of lines are kept for the
// next line and for FlushLog, and more are dropped and counted. The same for log.file. A thread writes it, and a
// standard error that is a regular file. Neither a stopped terminal nor a file system that stalls must stop a
// process's heartbeats. A log.file that cannot be written is named once, and its lines go to standard error until it
// can. SetUpLog opens it, and BLOCKS as long as its file system does.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "comm/base/deadline.h"
#include "comm/log/log_value.h"

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  std::optional<std::string> file;  // appended to; stderr if absent

  friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

// A file that cannot be opened is a warning (names it, and why), and standard error is used.
void SetUpLog(const LogOptions& options);

// The logging process. In text "rank 5 on gpu03: " precedes every later line; "ranks 8-15 on gpu03: " if one
// process represents several ranks, "gpu03: " without a rank.
struct LogSubject {
  std::optional<int> rank;
  std::string node;
  std::string job;      // JobIdentity::key
  bool in_text = true;  // off if only one process can log
  int ranks = 1;        // from `rank` on

  friend bool operator==(const LogSubject&, const LogSubject&) = default;
};
void SetLogSubject(LogSubject subject);

// The log file's inode number, or a hash of the terminal: the same for all processes that share it, on any node. 0 if
// the target is neither (a pipe). The first call may BLOCK as long as the file system of standard error does.
uint64_t LogFileNumber();

bool LogEnabled(LogLevel level);
using LogFields = std::span<const LogField>;
// In text each line of a multi-line message follows "muster: ".
void LogLine(LogLevel level, std::string_view event, LogFields fields, std::string_view message);

// At the end of a process: waits for the reader of standard error and for log.file if lines are kept for them, at most until
// the deadline. Lines that log.file has not taken 1 s after the first such call go to standard error. exit(3) does it as well.
void FlushLog(Deadline deadline);
// For the last lines, such as the error that ends the process.
inline constexpr Duration kLastLinesWithin = std::chrono::seconds(2);

// On a terminal: a line that is rewritten, below the log; at any level. Clear removes it.
void SetStatusLine(std::string_view text);
void ClearStatusLine();

template <typename... Args>
void LogEvent(LogLevel level, std::string_view event, std::initializer_list<LogField> fields,
              fmt::format_string<Args...> format, Args&&... args) {
  if (!LogEnabled(level)) return;
  LogLine(level, event, {fields.begin(), fields.size()}, fmt::format(format, std::forward<Args>(args)...));
}

// For the normal course: not for users (debug), but a monitor counts it (info in JSON).
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
