#include "comm/log/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/base/printable.h"
#include "comm/log/bounded_sink.h"
#include "comm/log/file_sink.h"
#include "comm/log/log_at_exit.h"
#include "comm/log/log_json.h"
#include "comm/log/log_time.h"
#include "comm/log/open_for_writing.h"
#include "comm/system/proc_file.h"

namespace muster {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

struct LevelFacts {
  std::string_view word;    // in JSON
  std::string_view prefix;  // in text; information has none
};
constexpr std::array<LevelFacts, 5> kLevels = {{
    {"debug", "debug: "},
    {"info", ""},
    {"warning", "warning: "},
    {"error", "error: "},
    {"off", ""},
}};
const LevelFacts& Facts(LogLevel level) { return kLevels.at(static_cast<size_t>(level)); }

std::string ComplaintLine(std::string_view sentence);

struct LogState {
  std::mutex mutex;
  BoundedSink standard_error{STDERR_FILENO, ComplaintLine};
  std::unique_ptr<FileSink> error_file;  // in its place, once standard error has been a regular file
  LogLevel level = LogLevel::kInfo;
  bool status_line_open = false;
  LogFormat format = LogFormat::kText;
  LogTime time = LogTime::kNone;    // resolved: not kAuto
  std::optional<std::string> path;  // of log.file
  std::unique_ptr<FileSink> file;   // null: there is none, or it could not be opened
  LogSubject subject;
};

// The destination of lines is the process's own stderr: one per process by nature. Never destroyed, because
// threads may still log while the process ends.
LogState& State() {
  static LogState& state = *new LogState;
  return state;
}

std::string SubjectText(const LogSubject& subject) {
  if (!subject.in_text) return "";
  if (!subject.rank) return subject.node.empty() ? "" : subject.node + ": ";
  const std::string who = subject.ranks > 1
                              ? fmt::format("ranks {}-{}", *subject.rank, *subject.rank + subject.ranks - 1)
                              : fmt::format("rank {}", *subject.rank);
  return subject.node.empty() ? who + ": " : fmt::format("{} on {}: ", who, subject.node);
}

std::string TextLine(const LogState& state, LogLevel level, std::string_view message) {
  std::string begin;
  if (state.time != LogTime::kNone) begin = LogTimeText(std::chrono::system_clock::now(), state.time);
  begin += "muster: ";
  std::string line = begin + SubjectText(state.subject);
  line += Facts(level).prefix;
  for (const char c : Printable(message, "\n\t")) {
    line += c;
    if (c == '\n') line += begin;
  }
  return line;
}

std::string Line(const LogState& state, LogLevel level, std::string_view event, LogFields fields,
                 std::string_view message) {
  if (state.format == LogFormat::kText) return TextLine(state, level, message) + '\n';
  return LogLineAsJson(std::chrono::system_clock::now(), Facts(level).word, event, state.subject, message,
                       fields) +
         '\n';
}

std::string ComplaintLine(std::string_view sentence) {
  return Line(State(), LogLevel::kWarning, "log_failed", {}, sentence);
}

// exit may have been called in a signal handler, above a function that holds the lock.
void FlushAtExit();
void FlushBeforeExit() { [[maybe_unused]] static const int added = std::atexit(FlushAtExit); }

// Null if standard error is no regular file. A stalled file system may block fstat as well: it is called until there is
// such a file, and not for each line. The descriptor itself is written: so the offset stays that of the processes that
// share it.
FileSink* ErrorFile(LogState& state) {
  struct stat status {};
  if (!state.error_file && fstat(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode)) {
    state.error_file = std::make_unique<FileSink>(UniqueFd(STDERR_FILENO), "standard error",
                                                  FileSink::Failed::kRetry, ComplaintLine);
    FlushBeforeExit();
  }
  return state.error_file.get();
}

// Terminals of two nodes, or of two containers, may have the same name and inode.
uint64_t TerminalNumber() {
  struct stat status {};
  if (isatty(STDERR_FILENO) != 1 || fstat(STDERR_FILENO, &status) != 0) return 0;
  const std::string terminal =
      fmt::format("{}{} {} {}", ReadProcFile("/proc/sys/kernel/random/boot_id").value_or(""), status.st_dev,
                  status.st_ino, status.st_rdev);
  return std::hash<std::string>{}(terminal) | 1;
}

void WriteToStandardError(LogState& state, std::string line) {
  if (FileSink* file = ErrorFile(state)) return void(file->Write(std::move(line)));
  state.standard_error.Write(line);
}

// A line that the file does not take goes to standard error. A line with the reason precedes it, once for each beginning
// of such failures: a log is no reason to end a job.
void WriteLost(LogState& state, const std::vector<FileSink::Lost>& lost) {
  for (const auto& [reason, line] : lost) {
    if (!reason.empty()) {
      WriteToStandardError(
          state, ComplaintLine(fmt::format("log.file: cannot write {}: {}; these lines go to standard error",
                                           *state.path, reason)));
    }
    WriteToStandardError(state, line);
  }
}

void Write(LogState& state, LogLevel level, std::string line) {
  if (std::exchange(state.status_line_open, false)) state.standard_error.WriteRaw(kClearLine);
  if (level < state.level) return;
  if (state.file) return WriteLost(state, state.file->Write(std::move(line)));
  WriteToStandardError(state, std::move(line));
}

void Flush(LogState& state, Deadline deadline) {
  if (state.file) WriteLost(state, state.file->Flush(deadline));
  if (state.error_file) state.error_file->Flush(deadline);
  state.standard_error.Flush(deadline);
}

void FlushAtExit() {
  LogState& state = State();
  const std::unique_lock lock(state.mutex, std::try_to_lock);
  if (lock) Flush(state, Deadline::After(kLastLinesWithin));
}

}  // namespace

void SetUpLog(const LogOptions& options) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.level = options.level;
  state.format = options.format;
  state.path = options.file;
  state.file.reset();
  if (!options.file) return;
  auto file = OpenForWriting(*options.file);
  if (file) {
    state.file =
        std::make_unique<FileSink>(*std::move(file), "log.file", FileSink::Failed::kReturn, ComplaintLine);
    FlushBeforeExit();
  } else if (options.level <= LogLevel::kWarning) {
    WriteToStandardError(state,
                         ComplaintLine(fmt::format("log.file: cannot open {}; standard error is used instead",
                                                   file.error().message)));
  }
}

void SetLogTime(LogTime form, const LogOptions& options) {
  if (form == LogTime::kAuto) {
    form = !options.file && isatty(STDERR_FILENO) == 1 ? LogTime::kShort : LogTime::kFull;
  }
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.time = form;
}

uint64_t LogFileNumber() {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  const FileSink* file = state.file ? state.file.get() : ErrorFile(state);
  return file == nullptr ? TerminalNumber() : file->number();
}

void SetLogSubject(LogSubject subject) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.subject = std::move(subject);
}

LogLevel MilestoneLevel() {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  return state.format == LogFormat::kJson ? LogLevel::kInfo : LogLevel::kDebug;
}

bool LogEnabled(LogLevel level) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  return level != LogLevel::kOff && level >= state.level;
}

void LogLine(LogLevel level, std::string_view event, LogFields fields, std::string_view message) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  Write(state, level, Line(state, level, event, fields, message));
}

void LogLineAtExit(LogLevel level, std::string_view event, LogFields fields, std::string_view message) {
  LogState& state = State();
  const std::unique_lock lock(state.mutex, std::try_to_lock);
  if (!lock) return;
  Write(state, level, Line(state, level, event, fields, message));
  Flush(state, Deadline::After(kLastLinesWithin));
}

void FlushLog(Deadline deadline) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  Flush(state, deadline);
}

void SetStatusLine(std::string_view text) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.standard_error.WriteRaw(fmt::format("{}muster: {}", kClearLine, Printable(text)));
  state.status_line_open = true;
}

void ClearStatusLine() {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  if (std::exchange(state.status_line_open, false)) state.standard_error.WriteRaw(kClearLine);
}

}  // namespace muster
