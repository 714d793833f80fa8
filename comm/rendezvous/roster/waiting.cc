#include "comm/rendezvous/roster/waiting.h"

#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::rendezvous {

Duration WhenToReport(bool terminal, int report) {
  using std::chrono::seconds;
  if (terminal) return seconds(2 + report);
  if (report == 0) return seconds(5);
  return seconds(15) + std::chrono::minutes(report - 1);
}

WaitReporter::WaitReporter(net::EventLoop& loop, bool terminal, std::function<AwaitedRanks()> describe)
    : loop_(loop), terminal_(terminal), describe_(std::move(describe)) {
  Schedule();
}

WaitReporter::~WaitReporter() {
  if (line_open_) ClearStatusLine();
}

void WaitReporter::Schedule() {
  timer_ = loop_.At(start_ + WhenToReport(terminal_, reports_), [this] { Report(); });
}

void WaitReporter::Report() {
  ++reports_;
  Schedule();
  const AwaitedRanks awaited = describe_();
  if (awaited.text.empty()) return;
  const std::string line = fmt::format("waiting {}: {}", FormatSeconds(waited()), awaited.text);
  if (!terminal_) {
    return LogEvent(LogLevel::kInfo, "waiting", {{"seconds", waited()}, {"missing", awaited.missing}}, "{}",
                    line);
  }
  SetStatusLine(line);
  line_open_ = true;
}

void JoinDeadline::Set(Duration remaining) {
  Stop();
  deadline_ = Deadline::After(remaining);
  if (!deadline_.IsNever()) timer_ = loop_.At(deadline_.when(), [this] { on_end_(); });
}

}  // namespace muster::rendezvous
