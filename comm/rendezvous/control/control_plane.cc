#include "comm/rendezvous/control/control_plane.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/link/names.h"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Branches::Source kUpstream = Branches::kSelf;
// A failure that the root does not confirm within this is told to the own programs all the same.
constexpr Duration kConfirmation = seconds(2);
// The root does not wait longer than this for every node to confirm that it knows.
constexpr Duration kEveryoneKnowsWithin = seconds(5);
// How long a leader collects the goodbyes of its node.
constexpr Duration kCollectGoodbyes = milliseconds(5);
// For peers to hang up.
constexpr Duration kFarewell = seconds(2);

std::vector<Branches::Branch> TakeUnheard(Branches& branches) {
  std::vector<Branches::Branch> unheard;
  for (auto entry = branches.all().begin(); entry != branches.all().end();) {
    const auto branch = entry++;
    if (!branch->second.ranks.empty()) continue;
    unheard.push_back(std::move(branch->second));
    branches.all().erase(branch);
  }
  return unheard;
}

}  // namespace

ControlPlane::ControlPlane(EventLoop& loop, Joined joined, std::vector<int> own_ranks,
                           LivenessOptions liveness, Events events)
    : loop_(loop),
      group_(std::move(joined.group)),
      upstream_(std::move(joined.upstream)),
      upstream_name_(std::move(joined.upstream_name)),
      is_root_(upstream_ == nullptr),
      branches_(std::move(joined.branches)),
      own_ranks_(std::move(own_ranks)),
      liveness_(liveness),
      events_(std::move(events)),
      census_(group_.roster),
      endings_(loop, *branches_,
               {[this](const Ends& ends) {
                  if (upstream_) upstream_->Send(Encode(ends));
                  return upstream_ != nullptr;
                },
                [this](const std::vector<RankEnd>& ends) {
                  if (events_.on_ends) events_.on_ends(ends);
                },
                [this] {
                  if (events_.on_ends_told) events_.on_ends_told();
                }}) {
  inquiry_ = std::make_unique<OwnerInquiry>(OwnerInquiry::Params{loop_, group_.roster, *branches_, is_root_,
                                                                 group_.roster.NodeOf(own_ranks_.front()),
                                                                 [this](ByteView frame) {
                                                                   if (upstream_) upstream_->Send(frame);
                                                                   return upstream_ != nullptr;
                                                                 },
                                                                 events_.whose});
  job_clock_ = std::make_unique<JobClock>(loop_, *branches_, [this](Deadline latest) {
    if (events_.on_job_end) events_.on_job_end(latest);
  });
  if (upstream_) {
    upstream_same_node_ = LocalAddress(upstream_->fd()).family() == AF_UNIX;
    upstream_ranks_ = UpstreamRanks();
    if (upstream_same_node_) WatchProcess(kUpstream, upstream_->fd());
    upstream_->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                     [this](const Error& reason) { OnUpstreamClosed(reason); });
  }
  branches_->SetHandlers([this](Branches::Source source, ByteView frame) { OnBranchFrame(source, frame); },
                         [this](Branches::Source source, const Branches::Branch& branch,
                                const Error& reason) { OnBranchClosed(source, branch, reason); });
  std::vector<Branches::Branch> unheard = TakeUnheard(*branches_);
  branch_of_rank_.assign(static_cast<size_t>(group_.roster.size()), Branches::kSelf);
  for (const auto& [source, branch] : branches_->all()) {
    if (branch.same_node) WatchProcess(source, branch.stream->fd());
    for (const int rank : branch.ranks) {
      if (rank >= 0 && rank < group_.roster.size()) branch_of_rank_[static_cast<size_t>(rank)] = source;
    }
  }
  if (joined.request && is_root_) job_clock_->Ask(*joined.request);
  if (joined.request) {
    probe_port_ = PortLadder(joined.request->meeting.key, joined.request->options.ports,
                             joined.request->meeting.ports_of_others)
                      .front();
    job_ = joined.request->job;
    log_file_ = joined.request->log_file;
    later_ = std::make_unique<LaterDesk>(loop_, std::move(joined.request), is_root_,
                                         [this](int rank) { return StillHere(rank); });
    later_->OpenLocally(std::move(joined.local_door));
    for (Branches::Branch& visitor : unheard) later_->Take(std::move(visitor));
  }
  if (!OtherNodes().empty()) {
    pulse_ = std::make_unique<Pulse>(
        loop_, liveness_, [this] { return OtherNodes(); },
        Pulse::Events{[this](std::span<const int> ranks) {
                        return DescribeRanks(group_.roster, {ranks.begin(), ranks.end()});
                      },
                      [this](const Pulse::Silence& peer) { OnSuspect(peer); },
                      [this](const Pulse::Verdict& verdict) { OnSilent(verdict); }});
  }
  StartSurveys(std::move(joined.status_desk));
}

ControlPlane::~ControlPlane() {
  // What nobody could confirm any more tells those below more than a silent end.
  if (own_failure_ && !failure_) branches_->SendAll(Encode(*own_failure_));
  for (const auto& [name, timer] : exchange_timers_) loop_.Cancel(timer);
  loop_.Cancel(own_failure_timer_);
  loop_.Cancel(told_timer_);
  loop_.Cancel(release_timer_);
  loop_.Cancel(goodbye_timer_);
  loop_.Cancel(late_timer_);
}

// ---- exchanges

void ControlPlane::Contribute(const Exchange& part) { TakeExchange(part); }

void ControlPlane::TakeExchange(const Exchange& part) {
  if (!is_root()) {
    if (upstream_) upstream_->Send(Encode(part, ControlType::kExchange));
    return;
  }
  const bool is_new = census_.IsUnknown(part.name);
  if (is_new) {
    const Duration limit = FromMilliseconds(part.timeout_milliseconds);
    exchange_timers_[part.name] = loop_.After(limit, [this, name = part.name, limit] {
      if (auto failure = census_.GiveUp(name, limit)) TakeFailure(*std::move(failure));
    });
  }
  if (const auto whole = census_.Contribute(part)) {
    loop_.Cancel(exchange_timers_[part.name]);
    exchange_timers_.erase(part.name);
    Publish(*whole);
  }
  // What waits for nobody who has left when it begins does so only when ranks leave.
  if (is_new) CheckHopeless(census_.left());
}

// No rank waits for one that has left.
void ControlPlane::CheckHopeless(const std::set<int>& left) {
  if (!is_root() || failure_) return;
  if (auto failure = census_.FindHopeless(left)) TakeFailure(*std::move(failure));
}

void ControlPlane::Publish(const Exchange& whole) {
  branches_->SendAll(Encode(whole, ControlType::kExchanged));
  if (events_.on_exchanged) events_.on_exchanged(whole);
}

// ---- failures

void ControlPlane::Fail(Failure failure) { TakeFailure(std::move(failure)); }

void ControlPlane::TakeFailure(Failure failure) {
  if (failure_) return;
  if (is_root() || !upstream_) return Announce(failure);
  // Who had left before counts as well ended.
  SendGoodbyes();
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
  for (const auto& [source, branch] : branches_->all()) {
    if (!branch.ranks.empty()) not_told_.insert(source);
  }
  branches_->SendAll(Encode(*failure_));
  told_timer_ = loop_.After(kEveryoneKnowsWithin, [this] {
    for (const Branches::Source source : not_told_) endings_.GiveUp(source);
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
  branches_->SendAll(EncodeBare(ControlType::kEveryoneKnows));
  if (events_.on_everyone_knows) events_.on_everyone_knows();
}

// ---- leaving

void ControlPlane::Leave() {
  if (std::exchange(leaving_, true)) return;
  TakeGoodbye(own_ranks_);
  // This process may end at any moment from here on.
  SendGoodbyes();
}

void ControlPlane::TakeGoodbye(const std::vector<int>& ranks) {
  const std::set<int> left = census_.Goodbye(ranks);
  PassGoodbyeUp(ranks);
  // A leader's word for a follower's goodbye is enough: it stays until its own is confirmed.
  // Only the branches of those who have just left: with a thousand nodes, all would be looked at a thousand times.
  std::set<Branches::Source> sources;
  for (const int rank : left) sources.insert(branch_of_rank_[static_cast<size_t>(rank)]);
  for (const Branches::Source source : sources) {
    const Branches::Branch* const branch = branches_->Find(source);
    if (branch != nullptr && census_.AllHaveLeft(branch->ranks))
      branch->stream->Send(EncodeBare(ControlType::kReleased));
  }
  CheckHopeless(left);
  // Whoever has left may come back for the next group while this one is still at work.
  if (later_ && !branches_->empty()) later_->OpenLadder();
  CheckReleased();
}

// The ranks of a node end together: theirs are collected for a moment, unless they are the last.
void ControlPlane::PassGoodbyeUp(const std::vector<int>& ranks) {
  if (!upstream_) return;
  goodbyes_.insert(goodbyes_.end(), ranks.begin(), ranks.end());
  if (NobodyIsLeftBelow()) return SendGoodbyes();
  if (goodbye_timer_ == 0) goodbye_timer_ = loop_.After(kCollectGoodbyes, [this] { SendGoodbyes(); });
}

void ControlPlane::SendGoodbyes() {
  loop_.Cancel(std::exchange(goodbye_timer_, 0));
  if (upstream_ && !goodbyes_.empty()) upstream_->Send(EncodeGoodbye(goodbyes_));
  goodbyes_.clear();
}

// Of ranks that went to the root without their leader, the leader does not know whether they have left.
bool ControlPlane::KnowsOf(int rank) const {
  const Roster& roster = group_.roster;
  if (rank < 0 || rank >= roster.size()) return false;
  if (is_root() || roster.NodeOf(rank) != roster.NodeOf(own_ranks_.front())) return true;
  return std::ranges::count(own_ranks_, rank) > 0 ||
         std::ranges::any_of(branches_->all(), [rank](const auto& entry) {
           return std::ranges::count(entry.second.ranks, rank) > 0;
         });
}

std::optional<Error> ControlPlane::StillHere(int rank) const {
  // A group that has failed is about to make room for the next.
  if (failure_ || !KnowsOf(rank) || census_.HasLeft(rank)) return std::nullopt;
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
  if (is_root()) return census_.Empty();
  return !upstream_ && leaving_ && NobodyIsLeftBelow();
}

bool ControlPlane::NobodyIsLeftBelow() {
  return census_.AllHaveLeft(own_ranks_) && std::ranges::all_of(branches_->all(), [this](const auto& entry) {
           return census_.AllHaveLeft(entry.second.ranks);
         });
}

void ControlPlane::CheckReleased() {
  if (released_ || !NobodyNeedsUs()) return;
  if (branches_->empty()) return Released();
  // Those who were released hang up; going before that could take the message from them.
  if (release_timer_ == 0) release_timer_ = loop_.After(kFarewell, [this] { Released(); });
}

void ControlPlane::Released() {
  if (std::exchange(released_, true)) return;
  loop_.Cancel(release_timer_);
  // At once, though the process may live on: whoever is above waits for it.
  pulse_.reset();
  desk_.reset();
  job_clock_->Stop();
  stragglers_.reset();
  processes_.erase(kUpstream);
  if (upstream_) upstream_->CloseAfterFlush();
  if (events_.on_released) events_.on_released();
  endings_.Released();
}

void ControlPlane::AskOwner(OwnerQuestion question, OwnerInquiry::OnAnswer on_answer) {
  inquiry_->Ask(std::move(question), std::move(on_answer));
}

void ControlPlane::Retire() {
  branches_->SendAll(EncodeBare(ControlType::kRetired));
  // Above they count as gone: nobody could tell how they end, and this process's end must not look like
  // theirs.
  std::vector<int> orphans;
  for (const auto& [source, branch] : branches_->all()) {
    for (const int rank : branch.ranks) {
      if (!census_.HasLeft(rank)) orphans.push_back(rank);
    }
  }
  census_.Goodbye(orphans);
  goodbyes_.insert(goodbyes_.end(), orphans.begin(), orphans.end());
  SendGoodbyes();
}

// ---- upstream

// Local rank 0 leads, but where local ranks were not known, whoever came first: the process says who it is.
std::vector<int> ControlPlane::UpstreamRanks() const {
  if (!upstream_same_node_) return RanksOfProcess(group_.root_rank);
  const Roster& roster = group_.roster;
  const std::vector<int> on_node = roster.RanksOn(roster.NodeOf(own_ranks_.front()));
  const auto credentials = CredentialsOf(upstream_->fd());
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
    case ControlType::kExchanged:
      if (const auto whole = DecodeExchange(frame)) Publish(*whole);
      return;
    case ControlType::kFailure:
      if (const auto failure = DecodeFailure(frame)) {
        if (!failure_) failure_was_told_ = true;
        Announce(*failure);
      }
      return;
    case ControlType::kEveryoneKnows:
      if (std::exchange(everyone_knows_, true)) return;
      branches_->SendAll(frame);
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
      loop_.Post([stream = std::shared_ptr<FrameStream>(std::move(upstream_))] {});
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
  loop_.Post([stream = std::shared_ptr<FrameStream>(std::move(upstream_))] {});
  if (released_) return;
  if (failure_) {
    // Whoever hung up knows of the failure; nobody above is left to say that all do.
    not_told_.clear();
    CheckEveryoneKnows();
    return endings_.Released();
  }
  if (own_failure_) return Announce(*own_failure_);
  Announce(LostUpstream(reason));
}

// ---- branches

void ControlPlane::OnBranchFrame(Branches::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  switch (*type) {
    case ControlType::kExchange:
      if (const auto part = DecodeExchange(frame)) TakeExchange(*part);
      return;
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) TakeFailure(*std::move(failure));
      return;
    case ControlType::kFailureKnown:
      not_told_.erase(source);
      return CheckEveryoneKnows();
    case ControlType::kGoodbye:
      if (const auto ranks = DecodeGoodbye(frame)) TakeGoodbye(*ranks);
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
      return endings_.Hear(source, frame);
    default:
      return;
  }
}

void ControlPlane::OnBranchClosed(Branches::Source source, const Branches::Branch& branch,
                                  const Error& reason) {
  processes_.erase(source);
  inquiry_->Forget(source);
  not_told_.erase(source);
  CheckEveryoneKnows();
  endings_.GiveUp(source);
  if (census_.AllHaveLeft(branch.ranks)) return CheckReleased();
  if (!failure_) TakeFailure(LostBranch(branch, reason));
}

}  // namespace muster
