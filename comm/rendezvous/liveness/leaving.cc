#include "comm/rendezvous/liveness/leaving.h"

#include <utility>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {
namespace {

// The time for which a leader collects the leave messages of its node.
constexpr Duration kCollectLeaves = std::chrono::milliseconds(5);

LeaveProtocol::Children RanksBehind(ChildLinks& children) {
  LeaveProtocol::Children ranks;
  for (const auto& [source, child] : children.all()) {
    if (!child.ranks.empty()) ranks[source] = child.ranks;
  }
  return ranks;
}

}  // namespace

Leaving::Leaving(TreeLinks& links, const Roster& roster, std::vector<int> own_ranks, Events events)
    : links_(links),
      own_ranks_(std::move(own_ranks)),
      events_(std::move(events)),
      protocol_(roster, links.is_root(), own_ranks_, RanksBehind(links.children())) {}

void Leaving::Leave() {
  if (!protocol_.Begin()) return;
  Take(own_ranks_);
  // This process may end at any moment from here on.
  SendUnsent();
}

void Leaving::Take(const std::vector<int>& ranks) {
  const LeaveProtocol::Taken taken = protocol_.Take(ranks, links_.upstream() != nullptr);
  to_release_.insert(to_release_.end(), taken.released.begin(), taken.released.end());
  if (taken.pass_up == LeaveProtocol::PassUp::kNever) ReleaseChildren();
  if (taken.pass_up == LeaveProtocol::PassUp::kNow) SendUnsent();
  if (taken.pass_up == LeaveProtocol::PassUp::kSoon && !collect_timer_.pending())
    collect_timer_ = links_.loop().After(kCollectLeaves, [this] { SendUnsent(); });
  events_.on_left(taken.left);
  CheckReleased();
}

void Leaving::SendUnsent() {
  collect_timer_.Cancel();
  const RanksLeft left{protocol_.TakeUnsent()};
  if (left.ranks.empty()) return;
  events_.on_pass_up();
  links_.SendUp(Encode(left));
  ReleaseChildren();
}

// A leader confirms the leave messages of its followers: it stays until its own is confirmed. If it is killed, the
// process above has those of all processes that it has released. A process that has the failure waits until all have
// it, and must not close its connection before.
void Leaving::ReleaseChildren() {
  const std::vector<ChildLinks::Source> children = std::exchange(to_release_, {});
  if (events_.has_failed()) return;
  for (const ChildLinks::Source child : children)
    links_.children().Send(child, EncodeBare(ControlType::kReleased));
}

void Leaving::Retire() {
  // Before the retirement, which a follower would take for the loss of its leader.
  SendUnsent();
  links_.children().SendAll(EncodeBare(ControlType::kRetired));
  // Above they count as ended: no process could report their exit, and this process's end must not be taken
  // for theirs.
  protocol_.TakeOrphans();
  SendUnsent();
}

// A failed group ends with its exit reports: this process may still have to take them to another one.
void Leaving::CheckReleased() {
  if (events_.has_failed()) return;
  switch (protocol_.MayEnd(links_.upstream() != nullptr)) {
    case LeaveProtocol::End::kNotYet:
      return;
    case LeaveProtocol::End::kNow:
      return Release();
    case LeaveProtocol::End::kWhenChildrenAreGone:
      // Released processes close; an earlier exit could lose the message to them.
      if (!release_timer_.pending()) release_timer_ = links_.loop().After(kLeaveGrace, [this] { Release(); });
  }
}

void Leaving::Release() {
  if (!protocol_.Release()) return;
  release_timer_.Cancel();
  events_.on_released();
}

}  // namespace muster::rendezvous
