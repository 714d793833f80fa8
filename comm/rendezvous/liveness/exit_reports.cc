#include "comm/rendezvous/liveness/exit_reports.h"

#include <algorithm>
#include <utility>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {
namespace {

constexpr Duration kReleaseWithin = std::chrono::seconds(2);

}  // namespace

ExitReports::~ExitReports() { links_.loop().Cancel(timer_); }

void ExitReports::Pass(std::vector<RankEnd> ends) {
  if (ends.empty()) return;
  const ExitReport message{std::move(ends), false};
  if (!links_.SendUp(Encode(message)) && events_.on_ends) events_.on_ends(message.ends);
}

void ExitReports::Finish(std::vector<RankEnd> ends, Duration patience) {
  if (std::exchange(finishing_, true)) return;
  Pass(std::move(ends));
  timer_ = links_.loop().After(patience, [this] {
    for (const auto& [source, child] : links_.children().all()) silent_.insert(source);
    Check();
  });
  Check();
}

void ExitReports::Receive(ChildLinks::Source source, ByteView frame) {
  Result<ExitReport> message = DecodeExitReport(frame);
  if (!message) return;
  Pass(std::move(message->ends));
  if (!message->last) return;
  links_.children().Send(source, EncodeBare(ControlType::kReleased));
  GiveUp(source);
}

void ExitReports::GiveUp(ChildLinks::Source source) {
  silent_.insert(source);
  Check();
}

void ExitReports::Released() {
  if (passed_) Told();
}

void ExitReports::Check() {
  if (!finishing_ || passed_) return;
  const bool all = std::ranges::all_of(links_.children().all(), [this](const auto& entry) {
    return entry.second.ranks.empty() || silent_.contains(entry.first);
  });
  if (!all) return;
  passed_ = true;
  links_.loop().Cancel(timer_);
  if (!links_.SendUp(Encode(ExitReport{{}, true}))) return Told();
  timer_ = links_.loop().After(kReleaseWithin, [this] { Told(); });
}

void ExitReports::Told() {
  links_.loop().Cancel(timer_);
  if (std::exchange(told_, true)) return;
  if (events_.on_reported) events_.on_reported();
}

}  // namespace muster::rendezvous
