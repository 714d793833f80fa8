#include "comm/rendezvous/waiting.h"

#include "comm/base/log.h"
#include "comm/base/parse.h"

namespace muster {

Duration WhenToReport(bool terminal, int report) {
  using std::chrono::seconds;
  if (terminal) return seconds(2 + report);
  if (report == 0) return seconds(5);
  return seconds(15) + std::chrono::minutes(report - 1);
}

WaitReporter::WaitReporter(EventLoop& loop, bool terminal, std::function<std::string()> describe)
    : loop_(loop), terminal_(terminal), describe_(std::move(describe)) {
  Schedule();
}

WaitReporter::~WaitReporter() {
  loop_.Cancel(timer_);
  if (line_open_) ClearStatusLine();
}

void WaitReporter::Schedule() {
  timer_ = loop_.At(start_ + WhenToReport(terminal_, reports_), [this] { Report(); });
}

void WaitReporter::Report() {
  ++reports_;
  Schedule();
  const std::string text = describe_();
  if (text.empty()) return;
  const std::string line = fmt::format("waiting {}: {}", FormatSeconds(waited()), text);
  if (!terminal_) return LogLine(LogLevel::kInfo, line);
  SetStatusLine(line);
  line_open_ = true;
}

}  // namespace muster
