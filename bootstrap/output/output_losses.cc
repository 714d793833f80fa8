#include "bootstrap/output/output_losses.h"

#include "comm/base/error.h"
#include "comm/log/log.h"

namespace muster::output {
namespace {

// A lost standard error alone is a warning: a program may write on without it.
LogLevel LevelOf(OutputKind kind) { return kind == OutputKind::kErr ? LogLevel::kWarning : LogLevel::kError; }

}  // namespace

OutputLosses::Loss& OutputLosses::Add(OutputKind kind, const std::string& file, const std::string& reason,
                                      size_t bytes) {
  Loss& loss = losses_.at(static_cast<size_t>(kind));
  if (loss.files.empty()) {
    loss.first = file;
    loss.reason = reason;
  }
  loss.files.insert(file);
  loss.bytes += bytes;
  return loss;
}

void OutputLosses::Failed(OutputKind kind, const std::string& file, int error_number, size_t bytes) {
  const Loss& loss = Add(kind, file, ErrnoText(error_number), bytes);
  const std::string failure = fmt::format("cannot write {}: {}", file, ErrnoText(error_number));
  if (kind != OutputKind::kErr && failure_.empty()) failure_ = failure;
  // A full disk concerns the log files of all ranks, and fails again and again.
  if (loss.bytes > bytes) return;
  const LogLevel level = LevelOf(kind);
  LogEvent(level, "output_lost", {{"file", file}}, "{}; output is lost until it can be written", failure);
}

void OutputLosses::NotRead(OutputKind kind, const std::string& file, const std::string& reason,
                           size_t bytes) {
  Add(kind, file, reason, bytes);
}

void OutputLosses::Report() const {
  for (size_t kind = 0; kind < losses_.size(); ++kind) {
    const Loss& loss = losses_.at(kind);
    if (loss.bytes == 0) continue;
    const std::string files =
        loss.files.size() == 1 ? loss.first
                               : fmt::format("{} log files (the first: {})", loss.files.size(), loss.first);
    const LogLevel level = LevelOf(static_cast<OutputKind>(kind));
    LogEvent(level, "output_lost",
             {{"file", loss.first}, {"files", loss.files.size()}, {"bytes", loss.bytes}},
             "{} bytes of {} were lost: {}", loss.bytes, files, loss.reason);
  }
}

}  // namespace muster::output
