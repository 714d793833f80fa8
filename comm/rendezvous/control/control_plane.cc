#include "comm/rendezvous/control/control_plane.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "comm/log/log.h"
#include "comm/rendezvous/link/names.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ChildLinks::Source kUpstream = ChildLinks::kSelf;
// A failure that the root does not confirm within this is told to the own programs all the same.
constexpr Duration kConfirmation = seconds(2);
// The root does not wait longer than this for every node to confirm that it knows.
constexpr Duration kEveryoneKnowsWithin = seconds(5);
// How long a leader collects the leave messages of its node.
constexpr Duration kCollectLeaves = milliseconds(5);
// For peers to hang up.
constexpr Duration kLeaveGrace = seconds(2);

std::vector<ChildLinks::Child> TakeUnheard(ChildLinks& children) {
  std::vector<ChildLinks::Child> unheard;
  for (auto entry = children.all().begin(); entry != children.all().end();) {
    const auto child = entry++;
    if (!child->second.ranks.empty()) continue;
    unheard.push_back(std::move(child->second));
    children.all().erase(child);
  }
  return unheard;
}

LeaveProtocol::Children RanksBehind(ChildLinks& children) {
  LeaveProtocol::Children ranks;
  for (const auto& [source, child] : children.all()) {
    if (!child.ranks.empty()) ranks[source] = child.ranks;
  }
  return ranks;
}

}  // namespace

ControlPlane::ControlPlane(net::EventLoop& loop, Joined joined, std::vector<int> own_ranks,
                           LivenessOptions liveness, Events events)
    : loop_(loop),
      formed_(std::move(joined.group)),
      group_(*formed_),
      upstream_(std::move(joined.upstream)),
      is_root_(upstream_ == nullptr),
      children_(std::move(joined.children)),
      own_ranks_(std::move(own_ranks)),
      log_file_(joined.request ? joined.request->log_file : 0),
      events_(std::move(events)),
      exchanges_(group_.roster),
      leaves_(group_.roster, is_root_, own_ranks_, RanksBehind(*children_)),
      exit_reports_(loop, *children_,
                    {[this](const ExitReport& ends) { return SendUp(Encode(ends)); }, events_.on_ends,
                     events_.on_ends_told}),
      survey_(loop, {{group_.roster, *children_, own_ranks_, [this](ByteView frame) { return SendUp(frame); },
                      [this](int rank) { return HasLeft(rank); }, is_root_, events_.report_own,
                      [this] { return maps_.Look(); }},
                     group_.root_rank,
                     joined.request ? joined.request->job : "",
                     std::move(joined.status_server),
                     liveness.straggler_after,
                     [this]() -> const std::optional<Failure>& { return failure(); },
                     [this](const WaitingCall& call) { OnHopeless(call); }}),
      inquiry_({loop, group_.roster, *children_, is_root_, group_.roster.NodeOf(own_ranks_.front()),
                [this](ByteView frame) { return SendUp(frame); }, events_.whose}),
      maps_({loop,
             group_.roster,
             *children_,
             leaves_,
             is_root_,
             {group_.roster.NodeName(own_ranks_.front()), getpid(), joined.request ? joined.request->job : "",
              group_.roster.group_id},
             liveness.dead_after,
             [this](ByteView frame) { return SendUp(frame); },
             [this](int rank, ByteView message) { events_.on_map_message(rank, message); },
             [this](const std::vector<int>& ranks) { events_.on_ranks_lost(ranks); },
             [this](const Failure& failure) { Fail(failure); },
             [this] { events_.on_maps_over(); }}),
      job_clock_(loop, *children_, [this](Deadline latest) {
        maps_.SetLatest(latest);
        events_.on_job_end(latest);
      }) {
  if (upstream_) {
    upstream_->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                     [this](const Error& reason) { OnUpstreamClosed(reason); });
  }
  children_->SetHandlers([this](Source source, ByteView frame) { OnChildFrame(source, frame); },
                         [this](Source source, const ChildLinks::Child& child, const Error& reason) {
                           OnChildClosed(source, child, reason);
                         });
  std::vector<ChildLinks::Child> unheard = TakeUnheard(*children_);
  uint16_t probe_port = 0;
  if (joined.request) {
    const Meeting& meeting = joined.request->meeting;
    probe_port = PortLadder(meeting.key, joined.request->options.ports, meeting.ports_of_others, 1).front();
    if (is_root_) job_clock_.Ask(*joined.request);
    // A group that has failed is about to make room for the next.
    later_ = std::make_unique<RejoinHandler>(loop_, std::move(joined.request), is_root_, [this](int rank) {
      return failure() ? std::nullopt : leaves_.FindAtWork(rank);
    });
    later_->OpenLocally(std::move(joined.node_listener));
    for (ChildLinks::Child& visitor : unheard) later_->Take(std::move(visitor));
  }
  peers_ = std::make_unique<PeerWatch>(
      PeerWatch::Params{loop_, group_, upstream_, *children_, leaves_, liveness, own_ranks_.front(),
                        std::move(joined.upstream_name), probe_port},
      PeerWatch::Events{[this](Source source) { OnProcessEnded(source); },
                        [this](const PeerWatch::Silent& silent) { OnSilent(silent); }});
}

ControlPlane::~ControlPlane() {
  // An unconfirmed failure tells the processes below more than a silent end.
  if (const Failure* own = failures_.unconfirmed()) children_->SendAll(Encode(*own));
  for (const auto& [name, timer] : exchange_timers_) loop_.Cancel(timer);
  loop_.Cancel(own_failure_timer_);
  loop_.Cancel(told_timer_);
  loop_.Cancel(release_timer_);
  loop_.Cancel(leave_timer_);
}

bool ControlPlane::SendUp(ByteView frame) {
  if (upstream_) upstream_->Send(frame);
  return upstream_ != nullptr;
}

// ---- exchanges

void ControlPlane::Contribute(const KeyedAllGather& part) {
  if (!is_root()) {
    SendUp(Encode(part, ControlType::kKeyedAllGather));
    return;
  }
  const bool is_new = exchanges_.IsUnknown(part.name);
  if (is_new) {
    const Duration limit = FromMilliseconds(part.timeout_milliseconds);
    exchange_timers_[part.name] = loop_.After(limit, [this, name = part.name, limit] {
      if (const auto failure = exchanges_.GiveUp(name, limit)) Fail(*failure);
    });
  }
  if (const auto whole = exchanges_.Contribute(part)) {
    loop_.Cancel(exchange_timers_[part.name]);
    exchange_timers_.erase(part.name);
    Publish(*whole);
  }
  // What waits for nobody who has left when it begins does so only when ranks leave.
  if (is_new) CheckHopeless(leaves_.left());
}

// No rank waits for one that has left.
void ControlPlane::CheckHopeless(const std::set<int>& left) {
  if (!is_root() || failure()) return;
  if (const auto failure = exchanges_.FindHopeless(left)) Fail(*failure);
}

void ControlPlane::Publish(const KeyedAllGather& whole) {
  children_->SendAll(Encode(whole, ControlType::kKeyedAllGathered));
  events_.on_gathered(whole);
}

// ---- failures

void ControlPlane::Fail(const Failure& failure) {
  const FailureAgreement::Step step = failures_.Find(failure, upstream_ != nullptr);
  if (step == FailureAgreement::Step::kNothing) return;
  if (step == FailureAgreement::Step::kAgree) return Announce(failure);
  // Who had left before counts as well ended.
  SendLeaves();
  upstream_->Send(Encode(failure));
  if (step == FailureAgreement::Step::kPassUp) return;
  own_failure_timer_ = loop_.After(kConfirmation, [this] { Announce(*failures_.unconfirmed()); });
}

// The one place where this process learns of the group's failure.
void ControlPlane::Announce(Failure failure, bool from_above) {
  if (is_root()) failure.told_in = log_file_;
  std::set<Source> below;
  for (const auto& [source, child] : children_->all()) below.insert(source);
  if (!failures_.Agree(std::move(failure), from_above, std::move(below))) return;
  loop_.Cancel(own_failure_timer_);
  children_->SendAll(Encode(*failures_.failure()));
  told_timer_ = loop_.After(kEveryoneKnowsWithin, [this] {
    for (const Source source : failures_.GiveUp()) exit_reports_.GiveUp(source);
    CheckEveryoneKnows();
  });
  events_.on_failure(*failures_.failure());
  CheckEveryoneKnows();
}

void ControlPlane::CheckEveryoneKnows() {
  switch (failures_.WhoKnows(upstream_ != nullptr)) {
    case FailureAgreement::Knows::kNotAll:
      return;
    case FailureAgreement::Knows::kAllBelow:
      return upstream_->Send(EncodeBare(ControlType::kFailureKnown));
    case FailureAgreement::Knows::kEveryone:
      loop_.Cancel(told_timer_);
      children_->SendAll(EncodeBare(ControlType::kEveryoneKnows));
      events_.on_everyone_knows();
  }
}

// ---- leaving

void ControlPlane::Leave() {
  if (!leaves_.Begin()) return;
  TakeLeave(own_ranks_);
  // This process may end at any moment from here on.
  SendLeaves();
}

void ControlPlane::TakeLeave(const std::vector<int>& ranks) {
  const LeaveProtocol::Taken taken = leaves_.Take(ranks, upstream_ != nullptr);
  if (taken.pass_up == LeaveProtocol::PassUp::kNow) SendLeaves();
  if (taken.pass_up == LeaveProtocol::PassUp::kSoon && leave_timer_ == 0)
    leave_timer_ = loop_.After(kCollectLeaves, [this] { SendLeaves(); });
  // A leader confirms the leave messages of its followers: it stays until its own is confirmed.
  for (const Source source : taken.released) children_->Send(source, EncodeBare(ControlType::kReleased));
  maps_.Leave(taken.left);
  CheckHopeless(taken.left);
  // A rank that has left may come back for the next group while this one is still at work.
  if (later_ && !children_->empty()) later_->OpenLadder();
  CheckReleased();
}

void ControlPlane::SendLeaves() {
  loop_.Cancel(std::exchange(leave_timer_, 0));
  const std::vector<int> ranks = leaves_.TakeUnsent();
  if (!ranks.empty()) SendUp(EncodeLeave(ranks));
}

void ControlPlane::CheckReleased() {
  switch (leaves_.MayEnd(upstream_ != nullptr)) {
    case LeaveProtocol::End::kNotYet:
      return;
    case LeaveProtocol::End::kNow:
      return Released();
    case LeaveProtocol::End::kWhenChildrenAreGone:
      // Those who were released hang up; going before that could take the message from them.
      if (release_timer_ == 0) release_timer_ = loop_.After(kLeaveGrace, [this] { Released(); });
  }
}

void ControlPlane::Released() {
  if (!leaves_.Release()) return;
  loop_.Cancel(release_timer_);
  // Immediately, though this process may live on: the process above waits for it.
  peers_->StopHeartbeats();
  survey_.Stop();
  job_clock_.Stop();
  peers_->Forget(kUpstream);
  if (upstream_) upstream_->CloseAfterFlush();
  events_.on_released();
  exit_reports_.Released();
}

void ControlPlane::Retire() {
  children_->SendAll(EncodeBare(ControlType::kRetired));
  // Above they count as gone: nobody could tell how they end, and this process's end must not look like
  // theirs.
  leaves_.TakeOrphans();
  SendLeaves();
}

// ---- upstream

void ControlPlane::OnUpstreamFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!upstream_ || !type) return;
  switch (*type) {
    case ControlType::kKeyedAllGathered:
      if (const auto whole = DecodeKeyedAllGather(frame)) Publish(*whole);
      return;
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) Announce(*std::move(failure), true);
      return;
    case ControlType::kEveryoneKnows:
      if (!failures_.HearEveryoneKnows()) return;
      children_->SendAll(frame);
      events_.on_everyone_knows();
      return;
    case ControlType::kSurvey:
    case ControlType::kSurveyed:
      return survey_.HearFromAbove(frame);
    case ControlType::kReleased:
      return Released();
    case ControlType::kRetired:
      // The root's service of maps has ended with it.
      if (maps_.tolerates()) return LoseUpstream(peers_->LostUpstream({}));
      // Those below stay: their own node goes on being watched.
      LogEvent(LogLevel::kWarning, "retired", {},
               "the group's control plane has ended; a rank that dies is no longer detected");
      DropUpstream();
      return CheckReleased();
    case ControlType::kOwnerAsked:
    case ControlType::kOwnerTold:
      return inquiry_.HearFromAbove(frame);
    case ControlType::kJobEnd:
      return job_clock_.HearFromAbove(frame);
    case ControlType::kToRank:
    case ControlType::kTolerate:
      return maps_.HearFromAbove(frame);
    default:
      return;
  }
}

void ControlPlane::OnUpstreamClosed(const Error& reason) {
  // Let go of already: its end may come with its last message.
  if (upstream_) LoseUpstream(peers_->LostUpstream(reason));
}

// The stream itself may be on the stack of this call.
void ControlPlane::DropUpstream() {
  peers_->Forget(kUpstream);
  loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
}

void ControlPlane::LoseUpstream(const Failure& loss) {
  DropUpstream();
  if (leaves_.released()) return;
  if (!failure()) {
    const Failure* own = failures_.unconfirmed();
    return Announce(own != nullptr ? *own : loss);
  }
  // The process above has the failure; without it no process reports that every rank has it.
  failures_.GiveUp();
  CheckEveryoneKnows();
  exit_reports_.Released();
}

// ---- children

void ControlPlane::OnChildFrame(Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  switch (*type) {
    case ControlType::kKeyedAllGather:
      if (const auto part = DecodeKeyedAllGather(frame)) Contribute(*part);
      return;
    case ControlType::kFailure:
      if (const auto failure = DecodeFailure(frame)) Fail(*failure);
      return;
    case ControlType::kFailureKnown:
      failures_.Confirm(source);
      return CheckEveryoneKnows();
    case ControlType::kLeave:
      if (const auto ranks = DecodeLeave(frame)) TakeLeave(*ranks);
      return;
    case ControlType::kLate:
      return NoteLate();
    case ControlType::kSurvey:
    case ControlType::kSurveyed:
      return survey_.HearFromBelow(source, frame);
    case ControlType::kOwnerAsked:
    case ControlType::kOwnerTold:
      return inquiry_.HearFromBelow(source, frame);
    case ControlType::kEnded:
      return exit_reports_.Hear(source, frame);
    case ControlType::kToRoot:
    case ControlType::kRanksLost:
      return maps_.HearFromBelow(source, frame);
    default:
      return;
  }
}

void ControlPlane::OnChildClosed(Source source, const ChildLinks::Child& child, const Error& reason) {
  Forget(source);
  if (leaves_.AllHaveLeft(child.ranks)) return CheckReleased();
  if (failure()) return;
  const Failure loss = peers_->LostChild(child, reason);
  if (!maps_.tolerates()) return Fail(loss);
  Lose(child.ranks, loss);
}

void ControlPlane::Forget(Source source) {
  peers_->Forget(source);
  leaves_.Forget(source);
  inquiry_.Forget(source);
  failures_.Confirm(source);
  CheckEveryoneKnows();
  exit_reports_.GiveUp(source);
}

// A map goes on without them.
void ControlPlane::Lose(const std::vector<int>& ranks, const Failure& failure) {
  std::vector<int> lost;
  std::ranges::copy_if(ranks, std::back_inserter(lost), [this](int rank) { return !HasLeft(rank); });
  maps_.Lose({lost, failure.error.message, true});
  TakeLeave(lost);
}

// ---- what the watches notice

// An operation that can never end.
void ControlPlane::OnHopeless(const WaitingCall& call) {
  Fail({{Code::kPeerLost,
         fmt::format("{} left the group before {}", DescribeRanks(group_.roster, call.left),
                     ShortName(call.call)),
         ""},
        call.left.front(),
        -1,
        ""});
}

void ControlPlane::OnProcessEnded(Source source) {
  if (source == kUpstream) return OnUpstreamClosed({});
  auto node = children_->all().extract(source);
  if (!node.empty()) OnChildClosed(source, node.mapped(), {});
}

void ControlPlane::OnSilent(const PeerWatch::Silent& silent) {
  if (silent.above) return LoseUpstream(silent.failure);
  // This node itself is cut off: nobody's fault.
  const bool cut_off = silent.failure.rank < 0;
  if (maps_.tolerates() && !failure() && !cut_off) {
    for (const Source source : silent.below) {
      auto node = children_->all().extract(source);
      if (node.empty()) continue;
      Forget(source);
      Lose(node.mapped().ranks, silent.failure);
    }
    return CheckReleased();
  }
  Fail(silent.failure);
  for (const Source source : silent.below) {
    failures_.Confirm(source);
    exit_reports_.GiveUp(source);
  }
  CheckEveryoneKnows();
}

}  // namespace muster::rendezvous
