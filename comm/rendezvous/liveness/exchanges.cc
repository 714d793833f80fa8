#include "comm/rendezvous/liveness/exchanges.h"

namespace muster::rendezvous {

Exchanges::~Exchanges() {
  for (const auto& [name, timer] : timers_) links_.loop().Cancel(timer);
}

void Exchanges::Contribute(const KeyedAllGather& part) {
  if (!links_.is_root()) {
    links_.SendUp(Encode(part, ControlType::kKeyedAllGather));
    return;
  }
  const bool is_new = tracker_.IsUnknown(part.name);
  if (is_new) {
    const Duration limit = FromMilliseconds(part.timeout_milliseconds);
    timers_[part.name] = links_.loop().After(limit, [this, name = part.name, limit] {
      if (const auto failure = tracker_.GiveUp(name, limit)) events_.fail(*failure);
    });
  }
  if (const auto whole = tracker_.Contribute(part)) {
    links_.loop().Cancel(timers_[part.name]);
    timers_.erase(part.name);
    Publish(*whole);
  }
  // An exchange that can still complete when it begins becomes hopeless only when ranks leave.
  if (is_new) CheckHopeless(leaves_.left());
}

void Exchanges::CheckHopeless(const std::set<int>& left) {
  if (const auto failure = tracker_.FindHopeless(left)) events_.fail(*failure);
}

void Exchanges::HearFromBelow(ByteView frame) {
  if (const auto part = DecodeKeyedAllGather(frame)) Contribute(*part);
}

void Exchanges::HearFromAbove(ByteView frame) {
  if (const auto whole = DecodeKeyedAllGather(frame)) Publish(*whole);
}

void Exchanges::Publish(const KeyedAllGather& whole) {
  links_.children().SendAll(Encode(whole, ControlType::kKeyedAllGathered));
  events_.on_gathered(whole);
}

}  // namespace muster::rendezvous
