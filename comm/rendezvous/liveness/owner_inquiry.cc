#include "comm/rendezvous/liveness/owner_inquiry.h"

#include <algorithm>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

// For the way to the root and back.
constexpr Duration kOnTheWay = seconds(2);
// Limit of forwarded questions: more come only from a faulty peer.
constexpr size_t kMostOnTheirWay = 65536;

}  // namespace

void OwnerInquiry::Ask(OwnerQuestion question, OnAnswer on_answer) {
  const uint64_t id = next_id_++;
  question.id = id;
  Asked& asked = asked_[id];
  asked.on_answer = std::move(on_answer);
  asked.timer = params_.links.loop().After(params_.collect_for + kOnTheWay,
                                           [this, id] { Deliver(OwnerAnswer{.id = id, .complete = false}); });
  if (params_.links.is_root()) return Collect(question, ChildLinks::kSelf);
  if (!params_.links.SendUp(Encode(question))) Deliver(OwnerAnswer{.id = id});
}

void OwnerInquiry::ReceiveFromParent(ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kOwnerAsked) {
    if (const auto question = Decode<OwnerQuestion>(frame)) Collect(*question, ChildLinks::kSelf);
    return;
  }
  const auto answer = Decode<OwnerAnswer>(frame);
  if (!answer) return;
  const auto passed = passed_up_.extract(answer->id);
  if (passed.empty()) return Deliver(*answer);
  params_.links.children().Send(passed.mapped(), frame);
}

void OwnerInquiry::ReceiveFromChild(ChildLinks::Source source, ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kOwnerAnswered) {
    if (const auto answer = Decode<OwnerAnswer>(frame)) Take(source, *answer);
    return;
  }
  const auto question = Decode<OwnerQuestion>(frame);
  if (!question) return;
  if (params_.links.is_root()) return Collect(*question, source);
  if (passed_up_.size() >= kMostOnTheirWay) return;
  passed_up_[question->id] = source;
  if (params_.links.SendUp(frame)) return;
  passed_up_.erase(question->id);
  params_.links.children().Send(source, Encode(OwnerAnswer{.id = question->id}));
}

void OwnerInquiry::Collect(const OwnerQuestion& question, ChildLinks::Source asker) {
  const uint64_t id = question.id;
  if (collected_.size() >= kMostOnTheirWay || collected_.contains(id)) return;
  Collected& collected = collected_[id];
  collected.asker = asker;
  if (params_.look && question.node == params_.node) collected.best = params_.look(question);
  collected.best.id = id;
  if (!Decides(collected.best.kind)) {
    for (const ChildLinks::Source source : ChildLinksFor(question)) collected.waits_for.insert(source);
  }
  if (collected.waits_for.empty()) return Conclude(id);
  collected.timer = params_.links.loop().After(params_.collect_for, [this, id] {
    collected_.at(id).best.complete = false;
    Conclude(id);
  });
  const Bytes frame = Encode(question);
  for (const ChildLinks::Source source : collected.waits_for) params_.links.children().Send(source, frame);
}

std::vector<ChildLinks::Source> OwnerInquiry::ChildLinksFor(const OwnerQuestion& question) const {
  const auto on_node = [&](int rank) { return params_.roster.NodeOf(rank) == question.node; };
  std::vector<ChildLinks::Source> sources;
  for (const auto& [source, child] : params_.links.children().all()) {
    if (std::ranges::any_of(child.ranks, on_node)) sources.push_back(source);
  }
  return sources;
}

void OwnerInquiry::Take(ChildLinks::Source source, const OwnerAnswer& answer) {
  const auto found = collected_.find(answer.id);
  if (found == collected_.end() || found->second.waits_for.erase(source) == 0) return;
  Collected& collected = found->second;
  Merge(collected.best, answer);
  if (Decides(collected.best.kind) || collected.waits_for.empty()) Conclude(answer.id);
}

void OwnerInquiry::Forget(ChildLinks::Source source) {
  std::erase_if(passed_up_, [source](const auto& entry) { return entry.second == source; });
  std::vector<uint64_t> concluded;
  for (auto& [id, collected] : collected_) {
    if (collected.waits_for.erase(source) != 0 && collected.waits_for.empty()) concluded.push_back(id);
  }
  for (const uint64_t id : concluded) Conclude(id);
}

void OwnerInquiry::Conclude(uint64_t id) {
  const auto node = collected_.extract(id);
  if (node.empty()) return;
  const Collected& collected = node.mapped();
  if (collected.asker != ChildLinks::kSelf) {
    params_.links.children().Send(collected.asker, Encode(collected.best));
  } else if (params_.links.is_root()) {
    Deliver(collected.best);
  } else {
    params_.links.SendUp(Encode(collected.best));
  }
}

void OwnerInquiry::Deliver(const OwnerAnswer& answer) {
  const auto node = asked_.extract(answer.id);
  if (node.empty()) return;
  node.mapped().on_answer(answer);
}

}  // namespace muster::rendezvous
