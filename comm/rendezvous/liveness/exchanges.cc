#include "comm/rendezvous/liveness/exchanges.h"

#include <algorithm>

namespace muster::rendezvous {
namespace {

// How long the root may not know that some ranks wait.
constexpr Duration kCollect = std::chrono::milliseconds(5);

}  // namespace

Exchanges::Exchanges(TreeLinks& links, const Roster& roster, const LeaveProtocol& leaves, size_t own_ranks,
                     Events events)
    : links_(links), leaves_(leaves), events_(std::move(events)), tracker_(roster), ranks_here_(own_ranks) {
  for (const auto& [source, child] : links.children().all()) ranks_here_ += child.ranks.size();
}

void Exchanges::Contribute(const KeyedAllGather& part) {
  if (!links_.is_root()) return Collect(part);
  const bool is_new = tracker_.IsUnknown(part.name);
  if (const auto whole = tracker_.Contribute(part)) Complete(*whole);
  if (tracker_.IsUnderWay(part.name)) LimitTo(part.name, FromMilliseconds(part.timeout_milliseconds));
  // An exchange that can still complete when it begins becomes hopeless only when ranks leave.
  if (is_new) CheckHopeless(leaves_.left());
}

// Ranks whose own limit has passed report the root soon afterwards.
void Exchanges::LimitTo(const std::string& name, Duration limit) {
  Limit& current = limits_[name];
  const Deadline end = Deadline::After(limit);
  if (current.end.EarlierOf(end) == current.end) return;
  current = {end, links_.loop().After(limit, [this, name, limit] {
               if (const auto failure = tracker_.GiveUp(name, limit)) events_.fail(*failure);
             })};
}

// The parts of all ranks here are one message. No exchange is complete earlier without the wait: it needs all of them.
void Exchanges::Collect(const KeyedAllGather& part) {
  const auto [found, first] = collected_.try_emplace(part.name);
  Collected& collected = found->second;
  if (first) collected.part = {part.name, part.timeout_milliseconds, {}};
  collected.part.timeout_milliseconds =
      std::min(collected.part.timeout_milliseconds, part.timeout_milliseconds);
  collected.part.entries.insert(collected.part.entries.end(), part.entries.begin(), part.entries.end());
  if (collected.part.entries.size() >= ranks_here_) return PassUp(part.name);
  if (first) collected.timer = links_.loop().After(kCollect, [this, name = part.name] { PassUp(name); });
}

void Exchanges::PassUp(const std::string& name) {
  const auto collected = collected_.extract(name);
  links_.SendUp(Encode(collected.mapped().part, ControlType::kKeyedAllGather));
}

void Exchanges::Lose(const std::vector<int>& ranks) {
  for (const KeyedAllGather& whole : tracker_.Lose(ranks)) Complete(whole);
}

void Exchanges::CheckHopeless(const std::set<int>& left) {
  if (const auto failure = tracker_.FindHopeless(left)) events_.fail(*failure);
}

void Exchanges::ReceiveFromChild(ByteView frame) {
  if (const auto part = Decode<KeyedAllGather>(frame)) Contribute(*part);
}

void Exchanges::ReceiveFromParent(ByteView frame) {
  if (const auto whole = Decode<KeyedAllGather>(frame)) Publish(*whole);
}

void Exchanges::Complete(const KeyedAllGather& whole) {
  limits_.erase(whole.name);
  Publish(whole);
}

void Exchanges::Publish(const KeyedAllGather& whole) {
  links_.children().SendAll(Encode(whole, ControlType::kKeyedAllGathered));
  events_.on_gathered(whole);
}

}  // namespace muster::rendezvous
