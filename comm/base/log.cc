#include "comm/base/log.h"

#define SPDLOG_HEADER_ONLY
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "comm/base/bounded_sink.h"

namespace muster {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

struct LevelFacts {
  spdlog::level::level_enum spdlog_level;
  std::string_view word;    // in JSON
  std::string_view prefix;  // in text; information needs none
};
constexpr std::array<LevelFacts, 5> kLevels = {{
    {spdlog::level::debug, "debug", "debug: "},
    {spdlog::level::info, "info", ""},
    {spdlog::level::warn, "warning", "warning: "},
    {spdlog::level::err, "error", "error: "},
    {spdlog::level::off, "off", ""},
}};
const LevelFacts& Facts(LogLevel level) { return kLevels.at(static_cast<size_t>(level)); }

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>("muster", std::move(sink));
  logger->set_pattern("%v");
  logger->set_level(Facts(level).spdlog_level);
  // A job that is killed must not lose its last words.
  logger->flush_on(spdlog::level::debug);
  return logger;
}

struct LogState {
  std::mutex mutex;
  std::shared_ptr<BoundedSink> standard_error = std::make_shared<BoundedSink>(STDERR_FILENO);
  std::shared_ptr<spdlog::logger> logger = MakeLogger(standard_error, LogLevel::kInfo);
  bool status_line_open = false;
  LogFormat format = LogFormat::kText;
  std::string subject;
};

// The destination of lines is the process's own stderr: one per process by nature. Never destroyed, because
// threads may still log while the process ends.
LogState& State() {
  static LogState& state = *new LogState;
  return state;
}

std::string JsonLine(const LogState& state, LogLevel level, std::string_view message) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  nlohmann::ordered_json line;
  line["time"] = std::chrono::duration<double>(now).count();
  line["level"] = Facts(level).word;
  if (!state.subject.empty()) line["subject"] = state.subject;
  line["message"] = message;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string TextLine(const LogState& state, LogLevel level, std::string_view message) {
  const std::string_view separator = state.subject.empty() ? "" : ": ";
  return fmt::format("muster: {}{}{}{}", state.subject, separator, Facts(level).prefix, message);
}

}  // namespace

Status SetUpLog(const LogOptions& options) {
  spdlog::sink_ptr sink;
  if (options.file) {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(*options.file);
    } catch (const spdlog::spdlog_ex& exception) {
      return WithHint(Fail(Code::kConfiguration, "log.file: {}", exception.what()),
                      "name a file in a directory that exists and that you may write");
    }
  } else {
    sink = State().standard_error;
  }
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.logger = MakeLogger(std::move(sink), options.level);
  state.format = options.format;
  return {};
}

void SetLogSubject(std::string subject) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.subject = std::move(subject);
}

bool LogEnabled(LogLevel level) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  return level != LogLevel::kOff && state.logger->should_log(Facts(level).spdlog_level);
}

void LogLine(LogLevel level, std::string_view message) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  const std::string line =
      state.format == LogFormat::kJson ? JsonLine(state, level, message) : TextLine(state, level, message);
  if (std::exchange(state.status_line_open, false)) state.standard_error->WriteRaw(kClearLine);
  state.logger->log(Facts(level).spdlog_level, line);
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
