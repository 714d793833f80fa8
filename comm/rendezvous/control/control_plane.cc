#include "comm/rendezvous/control/control_plane.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "comm/log/log.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/liveness/loss.h"
#include "comm/rendezvous/roster/agreement.h"
#include "comm/rendezvous/roster/hello_members.h"

namespace muster::rendezvous {
namespace {

constexpr ChildLinks::Source kUpstream = ChildLinks::kSelf;

std::vector<ChildLinks::Child> TakeChildrenWithoutRanks(ChildLinks& children) {
  std::vector<ChildLinks::Child> without_ranks;
  for (auto entry = children.all().begin(); entry != children.all().end();) {
    const auto child = entry++;
    if (!child->second.ranks.empty()) continue;
    without_ranks.push_back(std::move(child->second));
    children.all().erase(child);
  }
  return without_ranks;
}

}  // namespace

ControlPlane::ControlPlane(net::EventLoop& loop, Joined joined, std::vector<int> own_ranks,
                           LivenessOptions liveness, Events events)
    : formed_(std::move(joined.group)),
      group_(*formed_),
      request_(std::move(joined.request)),
      links_(loop, std::move(joined.upstream), std::move(joined.children)),
      own_ranks_(std::move(own_ranks)),
      events_(std::move(events)),
      failures_(links_, request_ ? request_->log_file : 0,
                // A program that had left before counts as a regular exit.
                {[this] { leaving_.SendUnsent(); }, events_.on_failure, events_.on_all_know,
                 [this](Source source) { exit_reports_.GiveUp(source); }}),
      leaving_(links_, group_.roster, own_ranks_,
               {[this](const std::set<int>& ranks) { OnLeft(ranks); }, [this] { OnReleased(); },
                [this] { exit_reports_.Flush(); }, [this] { return failure().has_value(); }}),
      exchanges_(links_, group_.roster, leaving_.protocol(), own_ranks_.size(),
                 {events_.on_gathered, [this](const Failure& failure) { failures_.Fail(failure); }}),
      exit_reports_(links_, group_.roster.size(),
                    {events_.on_ends, events_.on_ends_reported,
                     [this](const std::vector<RankEnd>& ends) { return HandOver(ends); }}),
      survey_(loop, {{group_.roster, links_.children(), own_ranks_,
                      [this](ByteView frame) { return links_.SendUp(frame); },
                      [this](int rank) { return HasLeft(rank); }, is_root(), events_.report_own,
                      [this] { return maps_.Look(); }},
                     group_.root_rank,
                     request_ ? request_->job : "",
                     std::move(joined.status_server),
                     liveness.straggler_after,
                     [this]() -> const std::optional<Failure>& { return failure(); },
                     [this](const WaitingCall& call) { OnHopeless(call); }}),
      inquiry_({links_, group_.roster, group_.roster.NodeOf(own_ranks_.front()), events_.whose}),
      maps_({links_,
             group_.roster,
             leaving_.protocol(),
             {group_.roster.NodeName(own_ranks_.front()), getpid(), request_ ? request_->job : "",
              group_.roster.group_id},
             liveness.dead_after,
             events_.on_map_message,
             [this](const std::vector<int>& ranks) { exchanges_.Lose(ranks); },
             [this](const Failure& failure) { failures_.Fail(failure); },
             events_.on_maps_over,
             group_.root_rank}),
      job_clock_(links_, [this](Deadline latest) {
        maps_.SetLatest(latest);
        events_.on_job_end(latest);
      }) {
  if (net::FrameStream* upstream = links_.upstream()) {
    upstream->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                    [this](const Error& reason) { OnUpstreamClosed(reason); });
  }
  links_.children().SetHandlers([this](Source source, ByteView frame) { OnChildFrame(source, frame); },
                                [this](Source source, const ChildLinks::Child& child, const Error& reason) {
                                  OnChildClosed(source, child, reason);
                                });
  uint16_t probe_port = 0;
  std::vector<ChildLinks::Child> without_ranks = TakeChildrenWithoutRanks(links_.children());
  if (request_) {
    const Meeting& meeting = request_->meeting;
    probe_port = PortLadder(meeting.key, request_->options.ports, meeting.ports_of_others, 1).front();
    if (is_root()) job_clock_.Ask(*request_);
    // A group that has failed is about to make room for the next.
    later_ = std::make_unique<RejoinHandler>(
        loop, request_, is_root(),
        RejoinHandler::Group{
            [this](int rank) { return failure() ? std::nullopt : leaving_.protocol().FindAtWork(rank); },
            [this](const OrphanReport& report) { return TakeReport(report); },
            [this](const Hello& hello, const ProcessInfo& lost) { return LoseUnformed(hello, lost); }});
    later_->OpenLocally(std::move(joined.node_listener));
    for (ChildLinks::Child& visitor : without_ranks) later_->Take(std::move(visitor));
  }
  peers_ = std::make_unique<PeerWatch>(
      PeerWatch::Params{links_, group_, leaving_.protocol(), liveness, own_ranks_.front(),
                        joined.upstream_rank >= 0 ? joined.upstream_rank : group_.root_rank,
                        std::move(joined.upstream_name), probe_port},
      PeerWatch::Events{[this](Source source) { OnProcessEnded(source); },
                        [this](const PeerWatch::Silent& silent) { OnSilent(silent); },
                        [this](const std::vector<int>& ranks) { exit_reports_.GiveUpBehind(ranks); }});
}

// ---- leaving

Failure ControlPlane::OwnFailure(Error error) const {
  const int rank = own_ranks_.front();
  error.message = fmt::format("{}: {}", DescribeRank(group_.roster, rank), error.message);
  return {std::move(error), rank};
}

void ControlPlane::OnLeft(const std::set<int>& ranks) {
  maps_.Leave(ranks);
  survey_.NoteLeft(ranks);
  if (is_root() && !failure()) exchanges_.CheckHopeless(ranks);
  // A rank that has left may come back for the next group while this one is still at work.
  if (later_ && !links_.children().empty()) later_->OpenLadder();
}

void ControlPlane::OnReleased() {
  // Immediately, although this process may go on: the process above waits for it.
  peers_->StopHeartbeats();
  survey_.Stop();
  job_clock_.Stop();
  peers_->Forget(kUpstream);
  if (net::FrameStream* upstream = links_.upstream()) upstream->CloseAfterFlush();
  events_.on_released();
  exit_reports_.Released();
}

// ---- upstream

void ControlPlane::OnUpstreamFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (links_.upstream() == nullptr || !type) return;
  switch (*type) {
    case ControlType::kKeyedAllGathered:
      return exchanges_.ReceiveFromParent(frame);
    case ControlType::kFailure:
    case ControlType::kAllKnow:
      return failures_.ReceiveFromParent(frame);
    case ControlType::kSurvey:
    case ControlType::kSurveyed:
      return survey_.ReceiveFromParent(frame);
    case ControlType::kReleased:
      return leaving_.Release();
    case ControlType::kRetired:
      return OnUpstreamRetired();
    case ControlType::kOwnerAsked:
    case ControlType::kOwnerAnswered:
      return inquiry_.ReceiveFromParent(frame);
    case ControlType::kJobEnd:
      return job_clock_.ReceiveFromParent(frame);
    case ControlType::kToRank:
    case ControlType::kTolerate:
      return maps_.ReceiveFromParent(frame);
    default:
      return;
  }
}

void ControlPlane::OnUpstreamRetired() {
  // The root's service of maps has ended with it.
  if (maps_.tolerates()) return LoseUpstream(peers_->LostUpstream({}));
  // Those below stay: their own node goes on being watched.
  LogEvent(LogLevel::kWarning, "retired", {},
           "the group's control plane has ended; the end of a rank is not detected from now on");
  DropUpstream();
  maps_.LoseRoot();
  leaving_.CheckReleased();
}

void ControlPlane::OnUpstreamClosed(const Error& reason) {
  // Released already: the upstream process may exit directly after its last message.
  if (links_.upstream() != nullptr) LoseUpstream(peers_->LostUpstream(reason));
}

void ControlPlane::DropUpstream() {
  peers_->Forget(kUpstream);
  links_.DropUpstream();
}

void ControlPlane::LoseUpstream(const Failure& loss) {
  DropUpstream();
  if (leaving_.protocol().released()) return;
  failures_.LoseUpstream(loss);
  exit_reports_.LoseUpstream();
}

// Around the lost process above. It may not have passed on that ranks had left, and these report no exit unless requested.
bool ControlPlane::HandOver(std::vector<RankEnd> ends) {
  if (!request_) return false;
  Detour detour =
      DetourAround(request_->meeting, peers_->UpstreamNode(), request_->self.node, request_->fan_out);
  if (detour.hosts.empty()) return false;
  std::set<int> unreported = leaving_.protocol().left();
  for (const RankEnd& end : ends) unreported.erase(end.rank);
  for (const int rank : unreported) ends.push_back({.rank = rank});
  handover_ = std::make_unique<ReportHandover>(links_.loop(), request_, std::move(detour),
                                               Encode(OrphanReport{group_.roster.group_id, std::move(ends)}),
                                               [this] { exit_reports_.Released(); });
  return true;
}

// ---- children

void ControlPlane::OnChildFrame(Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  switch (*type) {
    case ControlType::kKeyedAllGather:
      return exchanges_.ReceiveFromChild(frame);
    case ControlType::kFailure:
    case ControlType::kFailureKnown:
    case ControlType::kFailureDue:
      return failures_.ReceiveFromChild(source, frame);
    case ControlType::kLeave:
      if (const auto left = Decode<RanksLeft>(frame)) leaving_.Take(left->ranks);
      return;
    case ControlType::kLate:
      return survey_.NoteLate();
    case ControlType::kSurvey:
    case ControlType::kSurveyed:
      return survey_.ReceiveFromChild(source, frame);
    case ControlType::kOwnerAsked:
    case ControlType::kOwnerAnswered:
      return inquiry_.ReceiveFromChild(source, frame);
    case ControlType::kEnded:
      return exit_reports_.Receive(source, frame);
    case ControlType::kToRoot:
    case ControlType::kRanksLost:
      return maps_.ReceiveFromChild(source, frame);
    default:
      return;
  }
}

void ControlPlane::OnChildClosed(Source source, const ChildLinks::Child& child, const Error& reason) {
  LoseReports(source, child);
  Forget(source);
  switch (JudgeLoss({leaving_.protocol().AllHaveLeft(child.ranks), failure().has_value(),
                     maps_.tolerates() && !peers_->HasNodesBehind(child)})) {
    case Loss::kNone:
      return leaving_.CheckReleased();
    case Loss::kKnown:
      return;
    case Loss::kTolerated:
      return LoseRanks(child.ranks, peers_->LostChild(child, reason));
    case Loss::kFailure:
      return failures_.Fail(peers_->LostChild(child, reason));
  }
}

void ControlPlane::Forget(Source source) {
  peers_->Forget(source);
  leaving_.Forget(source);
  inquiry_.Forget(source);
  failures_.Forget(source);
  exit_reports_.GiveUp(source);
}

// The leaders behind it come with theirs.
void ControlPlane::LoseReports(Source source, const ChildLinks::Child& child) {
  if (!exit_reports_.Lose(source, peers_->RanksBehind(child))) return;
  if (later_) later_->OpenToOrphans();
  peers_->LoseNodesBehind(source);
}

bool ControlPlane::TakeReport(const OrphanReport& report) {
  if (report.group_id != group_.roster.group_id) return false;
  exit_reports_.TakeOver(report.ends);
  return true;
}

// The process above them ended before it had passed the roster on. Their programs never started: there is no exit to report.
std::optional<Failure> ControlPlane::LoseUnformed(const Hello& hello, const ProcessInfo& lost) {
  std::vector<int> unformed;
  for (const ProcessInfo& member : hello.members) {
    for (const RankClaim& claim : member.claims) {
      const bool here = !HasLeft(claim.rank) || lost_to_maps_.contains(claim.rank);
      if (here && IsMember(group_.roster, member, claim)) unformed.push_back(claim.rank);
    }
  }
  if (unformed.empty()) return std::nullopt;
  exit_reports_.GiveUpBehind(unformed);
  return failure() ? *failure() : RefusalOf(lost);
}

// A map goes on without them. A rank whose leader had been stopped has a connection of its own.
void ControlPlane::LoseRanks(const std::vector<int>& ranks, const Failure& failure) {
  std::vector<int> lost;
  std::ranges::copy_if(ranks, std::back_inserter(lost),
                       [this](int rank) { return !HasLeft(rank) && !leaving_.protocol().IsBelow(rank); });
  lost_to_maps_.insert(lost.begin(), lost.end());
  maps_.Lose({lost, failure.error.message, true});
  leaving_.Take(lost);
}

// ---- what the watches notice

// An operation that can never end.
void ControlPlane::OnHopeless(const WaitingCall& call) {
  failures_.Fail(
      {{Code::kPeerLost, fmt::format("{} left the group before {}", DescribeRanks(group_.roster, call.left),
                                     ShortName(call.call))},
       call.left.front()});
}

void ControlPlane::OnProcessEnded(Source source) {
  if (source == kUpstream) return OnUpstreamClosed({});
  auto node = links_.children().all().extract(source);
  if (!node.empty()) OnChildClosed(source, node.mapped(), {});
}

void ControlPlane::OnSilent(const PeerWatch::Silent& silent) {
  if (silent.above) {
    // If it goes on after a standstill, its group's failure is its own silence, not the end of those that it lost by that.
    // A map goes on without them.
    if (!maps_.tolerates()) links_.SendUp(Encode(silent.failure));
    return LoseUpstream(silent.failure);
  }
  const bool names_a_rank = silent.failure.rank >= 0;
  const bool alone = std::ranges::none_of(silent.below, [this](Source source) {
    return peers_->HasNodesBehind(*links_.children().Find(source));
  });
  if (JudgeLoss({false, failure().has_value(), maps_.tolerates() && alone, names_a_rank}) ==
      Loss::kTolerated) {
    for (const Source source : silent.below) {
      auto node = links_.children().all().extract(source);
      if (node.empty()) continue;
      Forget(source);
      LoseRanks(node.mapped().ranks, silent.failure);
    }
    return leaving_.CheckReleased();
  }
  failures_.Fail(silent.failure);
  for (const Source source : silent.below) {
    failures_.Forget(source);
    // The failure that was sent may have closed the connection.
    if (const ChildLinks::Child* child = links_.children().Find(source)) LoseReports(source, *child);
  }
}

}  // namespace muster::rendezvous
