#include "comm/rendezvous/control/control_plane.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
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

}  // namespace

ControlPlane::ControlPlane(net::EventLoop& loop, Joined joined, std::vector<int> own_ranks,
                           LivenessOptions liveness, Events events)
    : loop_(loop),
      group_(std::move(joined.group)),
      upstream_(std::move(joined.upstream)),
      upstream_name_(std::move(joined.upstream_name)),
      is_root_(upstream_ == nullptr),
      children_(std::move(joined.children)),
      own_ranks_(std::move(own_ranks)),
      liveness_(liveness),
      events_(std::move(events)),
      members_(group_.roster),
      exit_reports_(loop, *children_,
                    {[this](const ExitReport& ends) {
                       if (upstream_) upstream_->Send(Encode(ends));
                       return upstream_ != nullptr;
                     },
                     [this](const std::vector<RankEnd>& ends) {
                       if (events_.on_ends) events_.on_ends(ends);
                     },
                     [this] {
                       if (events_.on_ends_told) events_.on_ends_told();
                     }}) {
  inquiry_ = std::make_unique<OwnerInquiry>(OwnerInquiry::Params{loop_, group_.roster, *children_, is_root_,
                                                                 group_.roster.NodeOf(own_ranks_.front()),
                                                                 [this](ByteView frame) {
                                                                   if (upstream_) upstream_->Send(frame);
                                                                   return upstream_ != nullptr;
                                                                 },
                                                                 events_.whose});
  job_clock_ = std::make_unique<JobClock>(loop_, *children_, [this](Deadline latest) {
    if (events_.on_job_end) events_.on_job_end(latest);
  });
  if (upstream_) {
    upstream_same_node_ = net::LocalAddress(upstream_->fd()).family() == AF_UNIX;
    upstream_ranks_ = UpstreamRanks();
    if (upstream_same_node_) WatchProcess(kUpstream, upstream_->fd());
    upstream_->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                     [this](const Error& reason) { OnUpstreamClosed(reason); });
  }
  children_->SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnChildFrame(source, frame); },
                         [this](ChildLinks::Source source, const ChildLinks::Child& child,
                                const Error& reason) { OnChildClosed(source, child, reason); });
  std::vector<ChildLinks::Child> unheard = TakeUnheard(*children_);
  child_of_rank_.assign(static_cast<size_t>(group_.roster.size()), ChildLinks::kSelf);
  for (const auto& [source, child] : children_->all()) {
    if (child.same_node) WatchProcess(source, child.stream->fd());
    for (const int rank : child.ranks) {
      if (rank >= 0 && rank < group_.roster.size()) child_of_rank_[static_cast<size_t>(rank)] = source;
    }
  }
  if (joined.request && is_root_) job_clock_->Ask(*joined.request);
  if (joined.request) {
    probe_port_ = PortLadder(joined.request->meeting.key, joined.request->options.ports,
                             joined.request->meeting.ports_of_others)
                      .front();
    job_ = joined.request->job;
    log_file_ = joined.request->log_file;
    later_ = std::make_unique<RejoinHandler>(loop_, std::move(joined.request), is_root_,
                                             [this](int rank) { return StillHere(rank); });
    later_->OpenLocally(std::move(joined.node_listener));
    for (ChildLinks::Child& visitor : unheard) later_->Take(std::move(visitor));
  }
  if (!OtherNodes().empty()) {
    heartbeat_ = std::make_unique<HeartbeatMonitor>(
        loop_, liveness_, [this] { return OtherNodes(); },
        HeartbeatMonitor::Events{[this](std::span<const int> ranks) {
                                   return DescribeRanks(group_.roster, {ranks.begin(), ranks.end()});
                                 },
                                 [this](const HeartbeatMonitor::Silence& peer) { OnSuspect(peer); },
                                 [this](const HeartbeatMonitor::Verdict& verdict) { OnSilent(verdict); }});
  }
  StartSurveys(std::move(joined.status_server));
}

ControlPlane::~ControlPlane() {
  // What nobody could confirm any more tells those below more than a silent end.
  if (own_failure_ && !failure_) children_->SendAll(Encode(*own_failure_));
  for (const auto& [name, timer] : exchange_timers_) loop_.Cancel(timer);
  loop_.Cancel(own_failure_timer_);
  loop_.Cancel(told_timer_);
  loop_.Cancel(release_timer_);
  loop_.Cancel(leave_timer_);
  loop_.Cancel(late_timer_);
}

// ---- exchanges

void ControlPlane::Contribute(const KeyedAllGather& part) { TakeKeyedAllGather(part); }

void ControlPlane::TakeKeyedAllGather(const KeyedAllGather& part) {
  if (!is_root()) {
    if (upstream_) upstream_->Send(Encode(part, ControlType::kKeyedAllGather));
    return;
  }
  const bool is_new = members_.IsUnknown(part.name);
  if (is_new) {
    const Duration limit = FromMilliseconds(part.timeout_milliseconds);
    exchange_timers_[part.name] = loop_.After(limit, [this, name = part.name, limit] {
      if (auto failure = members_.GiveUp(name, limit)) TakeFailure(*std::move(failure));
    });
  }
  if (const auto whole = members_.Contribute(part)) {
    loop_.Cancel(exchange_timers_[part.name]);
    exchange_timers_.erase(part.name);
    Publish(*whole);
  }
  // What waits for nobody who has left when it begins does so only when ranks leave.
  if (is_new) CheckHopeless(members_.left());
}

// No rank waits for one that has left.
void ControlPlane::CheckHopeless(const std::set<int>& left) {
  if (!is_root() || failure_) return;
  if (auto failure = members_.FindHopeless(left)) TakeFailure(*std::move(failure));
}

void ControlPlane::Publish(const KeyedAllGather& whole) {
  children_->SendAll(Encode(whole, ControlType::kKeyedAllGathered));
  if (events_.on_gathered) events_.on_gathered(whole);
}

// ---- failures

void ControlPlane::Fail(Failure failure) { TakeFailure(std::move(failure)); }

void ControlPlane::TakeFailure(Failure failure) {
  if (failure_) return;
  if (is_root() || !upstream_) return Announce(failure);
  // Who had left before counts as well ended.
  SendLeaves();
  upstream_->Send(Encode(failure));
  if (own_failure_) return;
  own_failure_ = std::move(failure);
  own_failure_timer_ = loop_.After(kConfirmation, [this] { Announce(*own_failure_); });
}

// The one place where this process learns of the group's failure.
void ControlPlane::Announce(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  if (is_root()) failure_->told_in = log_file_;
  loop_.Cancel(own_failure_timer_);
  for (const auto& [source, child] : children_->all()) {
    if (!child.ranks.empty()) not_told_.insert(source);
  }
  children_->SendAll(Encode(*failure_));
  told_timer_ = loop_.After(kEveryoneKnowsWithin, [this] {
    for (const ChildLinks::Source source : not_told_) exit_reports_.GiveUp(source);
    not_told_.clear();
    CheckEveryoneKnows();
  });
  if (events_.on_failure) events_.on_failure(*failure_);
  CheckEveryoneKnows();
}

void ControlPlane::CheckEveryoneKnows() {
  if (!failure_ || !not_told_.empty() || everyone_knows_) return;
  if (upstream_) {
    upstream_->Send(EncodeBare(ControlType::kFailureKnown));
    return;
  }
  everyone_knows_ = true;
  loop_.Cancel(told_timer_);
  children_->SendAll(EncodeBare(ControlType::kEveryoneKnows));
  if (events_.on_everyone_knows) events_.on_everyone_knows();
}

// ---- leaving

void ControlPlane::Leave() {
  if (std::exchange(leaving_, true)) return;
  TakeLeave(own_ranks_);
  // This process may end at any moment from here on.
  SendLeaves();
}

void ControlPlane::TakeLeave(const std::vector<int>& ranks) {
  const std::set<int> left = members_.Leave(ranks);
  PassLeaveUp(ranks);
  // A leader confirms the leave messages of its followers: it stays until its own is confirmed.
  // Only the children of ranks that have just left: with a thousand nodes, all would be looked at a thousand times.
  std::set<ChildLinks::Source> sources;
  for (const int rank : left) sources.insert(child_of_rank_[static_cast<size_t>(rank)]);
  for (const ChildLinks::Source source : sources) {
    const ChildLinks::Child* const child = children_->Find(source);
    if (child != nullptr && members_.AllHaveLeft(child->ranks))
      child->stream->Send(EncodeBare(ControlType::kReleased));
  }
  CheckHopeless(left);
  // Whoever has left may come back for the next group while this one is still at work.
  if (later_ && !children_->empty()) later_->OpenLadder();
  CheckReleased();
}

// The ranks of a node end together: theirs are collected for a moment, unless they are the last.
void ControlPlane::PassLeaveUp(const std::vector<int>& ranks) {
  if (!upstream_) return;
  leaves_.insert(leaves_.end(), ranks.begin(), ranks.end());
  if (NobodyIsLeftBelow()) return SendLeaves();
  if (leave_timer_ == 0) leave_timer_ = loop_.After(kCollectLeaves, [this] { SendLeaves(); });
}

void ControlPlane::SendLeaves() {
  loop_.Cancel(std::exchange(leave_timer_, 0));
  if (upstream_ && !leaves_.empty()) upstream_->Send(EncodeLeave(leaves_));
  leaves_.clear();
}

// Of ranks that went to the root without their leader, the leader does not know whether they have left.
bool ControlPlane::KnowsOf(int rank) const {
  const Roster& roster = group_.roster;
  if (rank < 0 || rank >= roster.size()) return false;
  if (is_root() || roster.NodeOf(rank) != roster.NodeOf(own_ranks_.front())) return true;
  return std::ranges::count(own_ranks_, rank) > 0 ||
         std::ranges::any_of(children_->all(), [rank](const auto& entry) {
           return std::ranges::count(entry.second.ranks, rank) > 0;
         });
}

std::optional<Error> ControlPlane::StillHere(int rank) const {
  // A group that has failed is about to make room for the next.
  if (failure_ || !KnowsOf(rank) || members_.HasLeft(rank)) return std::nullopt;
  const Roster& roster = group_.roster;
  return Error{
      Code::kDisagreement,
      fmt::format("{} is already at work in this launch's present group, as pid {}",
                  DescribeRank(roster, rank), roster.members[static_cast<size_t>(rank)].pid),
      "two programs of one rank cannot run at once: use two steps; launches by hand that run at once "
      "need a MASTER_PORT each"};
}

// All others wait for the word from above; where nobody is left above, the own node decides.
bool ControlPlane::NobodyNeedsUs() {
  if (is_root()) return members_.Empty();
  return !upstream_ && leaving_ && NobodyIsLeftBelow();
}

bool ControlPlane::NobodyIsLeftBelow() {
  return members_.AllHaveLeft(own_ranks_) && std::ranges::all_of(children_->all(), [this](const auto& entry) {
           return members_.AllHaveLeft(entry.second.ranks);
         });
}

void ControlPlane::CheckReleased() {
  if (released_ || !NobodyNeedsUs()) return;
  if (children_->empty()) return Released();
  // Those who were released hang up; going before that could take the message from them.
  if (release_timer_ == 0) release_timer_ = loop_.After(kLeaveGrace, [this] { Released(); });
}

void ControlPlane::Released() {
  if (std::exchange(released_, true)) return;
  loop_.Cancel(release_timer_);
  // At once, though the process may live on: whoever is above waits for it.
  heartbeat_.reset();
  server_.reset();
  job_clock_->Stop();
  stragglers_.reset();
  processes_.erase(kUpstream);
  if (upstream_) upstream_->CloseAfterFlush();
  if (events_.on_released) events_.on_released();
  exit_reports_.Released();
}

void ControlPlane::AskOwner(OwnerQuestion question, OwnerInquiry::OnAnswer on_answer) {
  inquiry_->Ask(std::move(question), std::move(on_answer));
}

void ControlPlane::Retire() {
  children_->SendAll(EncodeBare(ControlType::kRetired));
  // Above they count as gone: nobody could tell how they end, and this process's end must not look like
  // theirs.
  std::vector<int> orphans;
  for (const auto& [source, child] : children_->all()) {
    for (const int rank : child.ranks) {
      if (!members_.HasLeft(rank)) orphans.push_back(rank);
    }
  }
  members_.Leave(orphans);
  leaves_.insert(leaves_.end(), orphans.begin(), orphans.end());
  SendLeaves();
}

// ---- upstream

// Local rank 0 leads, but where local ranks were not known, whoever came first: the process says who it is.
std::vector<int> ControlPlane::UpstreamRanks() const {
  if (!upstream_same_node_) return RanksOfProcess(group_.root_rank);
  const Roster& roster = group_.roster;
  const std::vector<int> on_node = roster.RanksOn(roster.NodeOf(own_ranks_.front()));
  const auto credentials = net::CredentialsOf(upstream_->fd());
  for (const int rank : on_node) {
    if (credentials && roster.members[static_cast<size_t>(rank)].pid == credentials->pid) {
      return RanksOfProcess(rank);
    }
  }
  return {on_node.front()};
}

// One process may stand for several ranks.
std::vector<int> ControlPlane::RanksOfProcess(int rank) const {
  const Roster& roster = group_.roster;
  const Roster::Member& member = roster.members[static_cast<size_t>(rank)];
  std::vector<int> ranks;
  for (int other = 0; other < roster.size(); ++other) {
    const Roster::Member& candidate = roster.members[static_cast<size_t>(other)];
    if (candidate.node == member.node && candidate.pid == member.pid) ranks.push_back(other);
  }
  return ranks;
}

void ControlPlane::OnUpstreamFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!upstream_ || !type) return;
  switch (*type) {
    case ControlType::kKeyedAllGathered:
      if (const auto whole = DecodeKeyedAllGather(frame)) Publish(*whole);
      return;
    case ControlType::kFailure:
      if (const auto failure = DecodeFailure(frame)) {
        if (!failure_) failure_was_told_ = true;
        Announce(*failure);
      }
      return;
    case ControlType::kEveryoneKnows:
      if (std::exchange(everyone_knows_, true)) return;
      children_->SendAll(frame);
      if (events_.on_everyone_knows) events_.on_everyone_knows();
      return;
    case ControlType::kSurvey:
      if (const auto survey = DecodeSurvey(frame)) surveyor_->OnSurveyFromAbove(*survey);
      return;
    case ControlType::kSurveyed:
      if (auto answer = DecodeSurveyed(frame)) surveyor_->OnAnswerFromAbove(*std::move(answer));
      return;
    case ControlType::kReleased:
      return Released();
    case ControlType::kRetired:
      // Those below stay: their own node goes on being watched.
      LogEvent(LogLevel::kWarning, "retired", {},
               "the group's control plane has ended; a rank that dies is no longer noticed");
      processes_.erase(kUpstream);
      loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
      return CheckReleased();
    case ControlType::kOwnerAsked:
    case ControlType::kOwnerTold:
      return inquiry_->HearFromAbove(frame);
    case ControlType::kJobEnd:
      return job_clock_->HearFromAbove(frame);
    default:
      return;
  }
}

void ControlPlane::OnUpstreamClosed(const Error& reason) {
  // Let go of already: its end may come with its last message.
  if (!upstream_) return;
  processes_.erase(kUpstream);
  loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
  if (released_) return;
  if (failure_) {
    // Whoever hung up knows of the failure; nobody above is left to say that all do.
    not_told_.clear();
    CheckEveryoneKnows();
    return exit_reports_.Released();
  }
  if (own_failure_) return Announce(*own_failure_);
  Announce(LostUpstream(reason));
}

// ---- children

void ControlPlane::OnChildFrame(ChildLinks::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  switch (*type) {
    case ControlType::kKeyedAllGather:
      if (const auto part = DecodeKeyedAllGather(frame)) TakeKeyedAllGather(*part);
      return;
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) TakeFailure(*std::move(failure));
      return;
    case ControlType::kFailureKnown:
      not_told_.erase(source);
      return CheckEveryoneKnows();
    case ControlType::kLeave:
      if (const auto ranks = DecodeLeave(frame)) TakeLeave(*ranks);
      return;
    case ControlType::kLate:
      return NoteLate();
    case ControlType::kSurvey:
      if (const auto survey = DecodeSurvey(frame)) surveyor_->OnSurveyFromBelow(source, *survey);
      return;
    case ControlType::kSurveyed:
      if (const auto answer = DecodeSurveyed(frame)) surveyor_->OnAnswerFromBelow(*answer);
      return;
    case ControlType::kOwnerAsked:
    case ControlType::kOwnerTold:
      return inquiry_->HearFromBelow(source, frame);
    case ControlType::kEnded:
      return exit_reports_.Hear(source, frame);
    default:
      return;
  }
}

void ControlPlane::OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child,
                                 const Error& reason) {
  processes_.erase(source);
  inquiry_->Forget(source);
  not_told_.erase(source);
  CheckEveryoneKnows();
  exit_reports_.GiveUp(source);
  if (members_.AllHaveLeft(child.ranks)) return CheckReleased();
  if (!failure_) TakeFailure(LostChild(child, reason));
}

}  // namespace muster::rendezvous
