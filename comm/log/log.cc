#include "comm/log/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>

#include "comm/log/bounded_sink.h"
#include "comm/log/file_sink.h"
#include "comm/log/log_json.h"
#include "comm/log/time_text.h"

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
  std::shared_ptr<BoundedSink> standard_error = std::make_shared<BoundedSink>(STDERR_FILENO, ComplaintLine);
  std::shared_ptr<LogSink> sink = standard_error;
  LogLevel level = LogLevel::kInfo;
  bool status_line_open = false;
  LogFormat format = LogFormat::kText;
  TimeText time_text = nullptr;  // null: lines have no time
  std::optional<std::string> file;
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
  std::string begin = state.time_text == nullptr ? "" : state.time_text(std::chrono::system_clock::now());
  begin += "muster: ";
  std::string line = begin + SubjectText(state.subject);
  line += Facts(level).prefix;
  for (const char c : message) {
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

std::shared_ptr<LogSink> MakeSink(LogState& state, const LogOptions& options) {
  if (!options.file) return state.standard_error;
  auto file = FileSink::Open(*options.file, state.standard_error, ComplaintLine);
  if (file) return *std::move(file);
  state.format = options.format;
  if (options.level > LogLevel::kWarning) return state.standard_error;
  state.standard_error->Write(ComplaintLine(file.error().message + "; standard error is used instead"));
  return state.standard_error;
}

}  // namespace

void SetUpLog(const LogOptions& options) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.sink = MakeSink(state, options);
  state.level = options.level;
  state.format = options.format;
  state.file = options.file;
}

void SetLogTimeText(TimeText text) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.time_text = text;
}

uint64_t LogFileNumber() {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  struct stat status {};
  const int failed = state.file ? stat(state.file->c_str(), &status) : fstat(STDERR_FILENO, &status);
  return failed == 0 && S_ISREG(status.st_mode) ? status.st_ino : 0;
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
  const std::string line = Line(state, level, event, fields, message);
  if (std::exchange(state.status_line_open, false)) state.standard_error->WriteRaw(kClearLine);
  if (level >= state.level) state.sink->Write(line);
}

void FlushLog(Deadline deadline) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.standard_error->Flush(deadline);
}

void SetStatusLine(std::string_view text) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.standard_error->WriteRaw(fmt::format("{}muster: {}", kClearLine, text));
  state.status_line_open = true;
}

void ClearStatusLine() {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  if (std::exchange(state.status_line_open, false)) state.standard_error->WriteRaw(kClearLine);
}

}  // namespace muster
