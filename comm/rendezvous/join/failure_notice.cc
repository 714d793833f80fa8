#include "comm/rendezvous/join/failure_notice.h"

#include <algorithm>

#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::rendezvous {
namespace {

// Each process stays this long if ranks may still come: they get the failure instead of waiting for a root
// that has ended.
constexpr Duration kLateComers = std::chrono::milliseconds(500);

// At the root: no rank of any node may still come. Without the list of nodes this depends on the size of the world, on which ranks may
// disagree.
bool AllNodesAreHere(const ArrivedRanks& arrived) {
  return arrived.root && arrived.nodes > 0 && arrived.local_size >= 0 && !MoreNodesMayCome(arrived);
}

}  // namespace

bool MoreNodesMayCome(const ArrivedRanks& arrived) {
  if (!arrived.root) return arrived.leader && !arrived.WholeSubtreeIsHere();
  // If the nodes are known, they count: ranks that disagree on the size of the world may claim any number.
  if (arrived.local_size >= 0 && arrived.nodes > 0) return arrived.whole_nodes < arrived.nodes;
  return arrived.local + arrived.remote < arrived.world_size;
}

std::optional<Duration> TimeToStay(const ArrivedRanks& arrived, Code failure, Duration late_nodes,
                                   Duration until_deadline) {
  const bool knows_whom = arrived.root || (arrived.local_size >= 0 && arrived.below >= 0);
  if (!knows_whom || !MoreNodesMayCome(arrived) || failure == Code::kDeadline ||
      late_nodes == Duration::zero())
    return std::nullopt;
  return std::clamp(until_deadline, Duration::zero(), late_nodes);
}

// A refused process may be wrong about the size of the world.
std::string DescribeLateRanks(const ArrivedRanks& arrived, const std::string& node) {
  const int ranks =
      arrived.root ? arrived.world_size - arrived.local - arrived.remote : arrived.local_size - arrived.local;
  if (ranks <= 0) return "the other ranks";
  const std::string where = arrived.root ? "" : fmt::format(" of {}", node);
  return Counted(ranks, "rank") + where;
}

FailureNotice::FailureNotice(net::EventLoop& loop, Params params, std::unique_ptr<net::FrameStream> upstream,
                             ChildLinks& children, std::function<void()> on_done)
    : loop_(loop),
      params_(std::move(params)),
      upstream_(std::move(upstream)),
      children_(children),
      on_done_(std::move(on_done)),
      speaks_for_late_ranks_(MoreNodesMayCome(params_.arrived)),
      all_are_here_(AllNodesAreHere(params_.arrived)) {
  children_.SetHandlers(
      [this](ChildLinks::Source source, ByteView frame) { OnChildFrame(source, frame); },
      [this](ChildLinks::Source, const ChildLinks::Child&, const Error&) { OnChildClosed(); });
  if (upstream_) {
    upstream_->Start(
        [this](ByteView frame) {
          const auto type = ControlTypeOf(frame);
          if (type == ControlType::kAllKnow) return EndStay();
          if (type == ControlType::kFailure && !speaks_for_late_ranks_) upstream_->CloseAfterPeer();
        },
        [](const Error&) {});
    // A failure that came from above would be taken there for one of this process: a refusal is for it alone.
    if (!params_.from_above && !params_.sent_up) upstream_->Send(Encode(params_.failure));
    for (const Hello& hello : params_.unsent) upstream_->Send(Encode(hello));
    // If it closed before the failure from above has arrived, the kernel could discard its own message.
    if (params_.from_above && !speaks_for_late_ranks_) upstream_->CloseAfterPeer();
  }
  for (const auto& entry : children_.all()) Send(entry.first);
  stay_until_ = Clock::now() + (MoreNodesMayCome(params_.arrived) ? kLateComers : Duration::zero());
  timer_ = loop_.At(stay_until_, [this] { StayForLateRanks(); });
}

// A process that has not been accepted has no name of the accepting process.
void FailureNotice::Send(ChildLinks::Source source) {
  children_.Send(source, Encode(params_.self));
  children_.Send(source, Encode(params_.failure));
  if (all_are_here_) children_.Send(source, EncodeBare(ControlType::kAllKnow));
}

// The root has the ranks of all nodes. A leader may lack some that went to the root without it: it would stay for them, and the root for
// this leader.
void FailureNotice::EndStay() {
  if (std::exchange(all_are_here_, true)) return;
  children_.SendAll(EncodeBare(ControlType::kAllKnow));
  if (ending_) return;
  stayed_ = true;
  stay_until_ = Clock::now();
  WaitForChildren();
}

void FailureNotice::OnChildFrame(ChildLinks::Source source, ByteView frame) {
  if (ControlTypeOf(frame) != ControlType::kHello) return;
  if (const Result<Hello> hello = Decode<Hello>(frame)) {
    if (IsOfLaterRestart(*hello)) {
      later_restarts_.insert(source);
      children_.Send(source, EncodeBare(ControlType::kLater));
      if (ending_) return;
      stay_until_ = Clock::now();
      return WaitForChildren();
    }
    params_.arrived.Count(*hello, children_.Find(source)->same_node);
    if (upstream_ && speaks_for_late_ranks_) {
      // Not accepted, it connects to the root when this process has ended. After a whole stay the root ends as well.
      if (ending_ && !stayed_) return;
      upstream_->Send(frame);
    }
  }
  Send(source);
  if (AllNodesAreHere(params_.arrived)) EndStay();
}

void FailureNotice::OnChildClosed() {
  if (OnlyLaterRestartsAreHere() && (!MoreNodesMayCome(params_.arrived) || Clock::now() >= stay_until_))
    Finish();
}

bool FailureNotice::IsOfLaterRestart(const Hello& hello) const {
  return !hello.members.empty() && hello.members.front().agreement.restart > params_.restart;
}

bool FailureNotice::OnlyLaterRestartsAreHere() const {
  return std::ranges::all_of(children_.all(),
                             [this](const auto& child) { return later_restarts_.contains(child.first); });
}

void FailureNotice::StayForLateRanks() {
  const auto now = Clock::now();
  const Duration until_deadline =
      params_.deadline.IsNever() ? params_.late_nodes : params_.deadline.when() - now;
  const std::optional<Duration> stay =
      TimeToStay(params_.arrived, params_.failure.error.code, params_.late_nodes, until_deadline);
  if (!stay) return WaitForChildren();
  // One line is enough: the log of the root has the group's failure.
  LogEvent(params_.arrived.root ? LogLevel::kWarning : LogLevel::kDebug, "message", {},
           "this group cannot form ({}); waiting up to {} to report this to {}",
           params_.failure.error.message, FormatSeconds(*stay),
           DescribeLateRanks(params_.arrived, params_.node));
  stay_until_ = now + *stay;
  timer_ = loop_.At(stay_until_, [this] {
    stayed_ = true;
    WaitForChildren();
  });
}

// Children close when they have read it. If this process closed first, the kernel could discard it.
void FailureNotice::WaitForChildren() {
  if (OnlyLaterRestartsAreHere()) return Finish();
  if (std::exchange(waiting_, true)) return;
  timer_ = loop_.After(kLeaveGrace, [this] { Finish(); });
}

// The root stays for the ranks in a hello that does not arrive. The process above closes when it has read all.
void FailureNotice::Finish() {
  if (std::exchange(ending_, true)) return;
  timer_.Cancel();
  if (!upstream_) return Done();
  timer_ = loop_.After(params_.last_messages, [this] { Done(); });
  upstream_->CloseAfterPeer([this] { Done(); });
}

void FailureNotice::Done() {
  timer_.Cancel();
  if (on_done_) std::exchange(on_done_, nullptr)();
}

}  // namespace muster::rendezvous
