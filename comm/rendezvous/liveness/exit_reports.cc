#include "comm/rendezvous/liveness/exit_reports.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {
namespace {

constexpr Duration kReleaseWithin = std::chrono::seconds(2);
// Programs that receive one signal end at about the same time: their reports are one message.
constexpr Duration kCollect = std::chrono::milliseconds(20);

}  // namespace

void ExitReports::Pass(const std::vector<RankEnd>& ends) {
  if (ends.empty()) return;
  for (const RankEnd& end : ends) {
    if (end.rank < 0 || std::cmp_greater_equal(end.rank, reported_.size())) continue;
    reported_[static_cast<size_t>(end.rank)] = true;
    awaited_.erase(end.rank);
  }
  if (links_.is_root()) return events_.on_ends(ends);
  ends_.insert(ends_.end(), ends.begin(), ends.end());
  if (!collect_timer_.pending()) collect_timer_ = links_.loop().After(kCollect, [this] { Flush(); });
}

void ExitReports::Flush() {
  collect_timer_.Cancel();
  const ExitReport message{{ends_.begin() + static_cast<std::ptrdiff_t>(sent_), ends_.end()}, false};
  if (!message.ends.empty() && links_.SendUp(Encode(message))) sent_ = ends_.size();
}

void ExitReports::Finish(const std::vector<RankEnd>& ends, Duration patience) {
  if (std::exchange(finishing_, true)) return;
  Pass(ends);
  timer_ = links_.loop().After(patience, [this] { EndWait(); });
  Check();
}

void ExitReports::EndWait() {
  for (const auto& [source, child] : links_.children().all()) silent_.insert(source);
  awaited_.clear();
  Check();
}

void ExitReports::Receive(ChildLinks::Source source, ByteView frame) {
  const Result<ExitReport> message = Decode<ExitReport>(frame);
  if (!message) return;
  Pass(message->ends);
  if (!message->last) return;
  links_.children().Send(source, EncodeBare(ControlType::kReleased));
  GiveUp(source);
}

void ExitReports::TakeOver(const std::vector<RankEnd>& ends) {
  Pass(ends);
  Check();
}

void ExitReports::GiveUp(ChildLinks::Source source) {
  silent_.insert(source);
  Check();
}

bool ExitReports::Lose(ChildLinks::Source source, const std::vector<int>& behind) {
  const bool first = silent_.insert(source).second;
  if (first && !passed_) {
    std::ranges::copy_if(behind, std::inserter(awaited_, awaited_.end()),
                         [this](int rank) { return !reported_[static_cast<size_t>(rank)]; });
  }
  Check();
  return !awaited_.empty();
}

void ExitReports::GiveUpBehind(const std::vector<int>& behind) {
  for (const int rank : behind) awaited_.erase(rank);
  Check();
}

void ExitReports::LoseUpstream() {
  if (passed_ && !done_) ReportAbove();
}

void ExitReports::Released() {
  if (passed_) Done();
}

void ExitReports::Check() {
  if (!finishing_ || passed_ || !awaited_.empty()) return;
  const bool all = std::ranges::all_of(links_.children().all(), [this](const auto& entry) {
    return entry.second.ranks.empty() || silent_.contains(entry.first);
  });
  if (!all) return;
  passed_ = true;
  ReportAbove();
}

void ExitReports::ReportAbove() {
  timer_.Cancel();
  collect_timer_.Cancel();
  if (links_.is_root()) return Done();
  if (links_.SendUp(
          Encode(ExitReport{{ends_.begin() + static_cast<std::ptrdiff_t>(sent_), ends_.end()}, true}))) {
    timer_ = links_.loop().After(kReleaseWithin, [this] { Done(); });
    return;
  }
  if (!events_.hand_over(ends_)) Done();
}

void ExitReports::Done() {
  timer_.Cancel();
  if (std::exchange(done_, true)) return;
  if (events_.on_reported) events_.on_reported();
}

}  // namespace muster::rendezvous
