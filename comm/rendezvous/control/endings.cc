#include "comm/rendezvous/control/endings.h"

#include <algorithm>
#include <utility>

#include "comm/rendezvous/messages/messages.h"

namespace muster {
namespace {

constexpr Duration kReleaseWithin = std::chrono::seconds(2);

}  // namespace

Endings::Endings(EventLoop& loop, Branches& branches, Events events)
    : loop_(loop), branches_(branches), events_(std::move(events)) {}

Endings::~Endings() { loop_.Cancel(timer_); }

void Endings::Pass(std::vector<RankEnd> ends) {
  if (ends.empty()) return;
  const Ends message{std::move(ends), false};
  if (!events_.send_up(message) && events_.on_ends) events_.on_ends(message.ends);
}

void Endings::Finish(std::vector<RankEnd> ends, Duration patience) {
  if (std::exchange(finishing_, true)) return;
  Pass(std::move(ends));
  timer_ = loop_.After(patience, [this] {
    for (const auto& [source, branch] : branches_.all()) silent_.insert(source);
    Check();
  });
  Check();
}

void Endings::Hear(Branches::Source source, ByteView frame) {
  Result<Ends> message = DecodeEnds(frame);
  if (!message) return;
  Pass(std::move(message->ends));
  if (!message->last) return;
  branches_.Send(source, EncodeBare(ControlType::kReleased));
  GiveUp(source);
}

void Endings::GiveUp(Branches::Source source) {
  silent_.insert(source);
  Check();
}

void Endings::Released() {
  if (passed_) Told();
}

void Endings::Check() {
  if (!finishing_ || passed_) return;
  const bool all = std::ranges::all_of(branches_.all(), [this](const auto& entry) {
    return entry.second.ranks.empty() || silent_.contains(entry.first);
  });
  if (!all) return;
  passed_ = true;
  loop_.Cancel(timer_);
  if (!events_.send_up({{}, true})) return Told();
  timer_ = loop_.After(kReleaseWithin, [this] { Told(); });
}

void Endings::Told() {
  loop_.Cancel(timer_);
  if (std::exchange(told_, true)) return;
  if (events_.on_told) events_.on_told();
}

}  // namespace muster
