#include "comm/rendezvous/join/upstream_link.h"

#include <sys/socket.h>

#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/join/tree.h"
#include "comm/rendezvous/roster/roster_builder.h"
#include "comm/rendezvous/survey/process_state.h"

namespace muster::rendezvous {
namespace {

// The root's failure takes time to arrive. It must arrive before the own deadline of processes that started
// earlier.
constexpr Duration kVerdictGrace = std::chrono::seconds(5);
// More for each level between: the process above must report the root's silence before those below it report its own.
constexpr Duration kGraceOfLevel = std::chrono::seconds(1);
// A report reaches the root within this time.
constexpr Duration kTimeToReport = std::chrono::seconds(2);

}  // namespace

void UpstreamLink::Attach(std::unique_ptr<net::FrameStream> stream, std::string name) {
  if (stream_) {
    // If it continues, it must not report the end of this process.
    stream_->Send(EncodeBare(ControlType::kLeave));
    Drop();
    if (std::exchange(silent_, false)) ForgetAcceptance(true);
  }
  stream_ = std::move(stream);
  name_ = std::move(name);
  acceptances_ = 0;
  stream_->Start([this](ByteView frame) { OnFrame(frame); },
                 [this](const Error& reason) { OnClosed(reason); });
  // On another node the handshake compares them.
  is_local_ = net::LocalAddress(stream_->fd()).family() == AF_UNIX;
  if (is_local_) stream_->Send(Encode(request_.versions));
}

std::string UpstreamLink::Describe() const {
  const auto credentials = stream_ && is_local_ ? net::CredentialsOf(stream_->fd()) : std::nullopt;
  if (!credentials || credentials->pid == 0) return name_;
  const auto state = LookAtProcess(credentials->pid);
  return fmt::format("{} (process {}{})", name_, credentials->pid,
                     state && IsStopped(*state) ? ", stopped" : "");
}

std::string UpstreamLink::LocalHost() const {
  return is_local_ ? "" : net::LocalAddress(stream_->fd()).Host();
}

Deadline UpstreamLink::RootDeadline() const { return accepted_ ? root_deadline_ : deadline_.when(); }

void UpstreamLink::OnFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  if (std::exchange(silent_, false)) events_.on_heard_again();
  switch (*type) {
    case ControlType::kAccepted:
      if (auto acceptance = Decode<Acceptance>(frame)) OnAccepted(*std::move(acceptance));
      return;
    case ControlType::kLater:
      return OnLater(frame);
    case ControlType::kRoster:
      return OnRoster(frame);
    case ControlType::kVersions:
      return CompareVersions(frame);
    case ControlType::kFailure:
      if (auto failure = Decode<Failure>(frame)) return OnFailure(*std::move(failure));
      return events_.on_failed({{Code::kInternal, fmt::format("{} sent a malformed failure", name_)}}, true);
    default:
      return;
  }
}

void UpstreamLink::OnAccepted(Acceptance acceptance) {
  const bool first = !accepted_ || parked_;
  accepted_ = true;
  parked_ = false;
  acceptance_ = std::move(acceptance);
  ++acceptances_;
  name_ = FormatRanks(acceptance_.ranks, acceptance_.node);
  const Duration remaining = FromMilliseconds(acceptance_.remaining_milliseconds);
  root_deadline_ = Deadline::After(remaining);
  if (!request_.self.refused && !leader_lost_)
    deadline_.Set(remaining + kVerdictGrace + LevelsBetween() * kGraceOfLevel);
  events_.on_accepted(first);
}

// The heartbeats of the process above begin after liveness.suspect_after.
void UpstreamLink::CheckSilence(bool stood_still) {
  const auto now = Clock::now();
  if (stood_still) listens_from_ = now;
  if (!stream_ || is_local_ || parked_) return;
  const LivenessOptions& liveness = request_.liveness;
  const Duration silent = now - std::max(stream_->last_received(), listens_from_);
  if (silent < liveness.suspect_after + 2 * liveness.heartbeat) return;
  if (!accepted_) return events_.on_silent(std::nullopt);
  if (leader_lost_ || !IsBelowALeader()) return;
  if (silent < liveness.dead_after && root_deadline_.Remaining() > kTimeToReport) return;
  silent_ = true;
  events_.on_silent(LeaderThatCannotJoin(
      {Code::kPeerLost, fmt::format("{} fell silent while the group was forming: no message for {}", name_,
                                    FormatSeconds(silent))}));
}

// Not if the root has accepted a leader that this process has lost: a group that had room for it is the one to answer.
void UpstreamLink::OnLater(ByteView frame) {
  if (lost_known_leader_) return;
  parked_ = true;
  deadline_.Stop();
  events_.on_later(frame);
}

void UpstreamLink::OnRoster(ByteView frame) {
  auto group = Decode<FormedGroup>(frame);
  if (group && group->roster.size() == request_.self.agreement.world_size) {
    return events_.on_roster(*std::move(group), frame);
  }
  Fail({Code::kInternal, fmt::format("{} sent a malformed roster", name_)});
}

void UpstreamLink::OnClosed(const Error& reason) {
  Drop();
  silent_ = false;
  if (parked_) {
    parked_ = false;
    accepted_ = false;
    deadline_.Set(request_.timeouts.rendezvous);
    return events_.on_restart();
  }
  // A process that has not accepted this one is no failed peer: it was in the previous group, which has just
  // ended.
  if (!accepted_) return events_.on_not_accepted();
  if (is_local_) return OnLeaderClosed();
  if (IsBelowALeader()) {
    return LoseLeader(true, EndedWhileForming(acceptance_.ranks, acceptance_.node).error);
  }
  const std::string detail = reason.message.empty() ? "" : ": " + reason.message;
  Fail({Code::kPeerLost, fmt::format("{} ended while the group was forming{}", name_, detail)});
}

// The root notices the end of a leader that it has accepted. Else no other process may notice it: the leader
// was the root itself, or had not found the root. The second acceptance means that this process's hello has gone up: without it
// the root would stay for this process.
void UpstreamLink::OnLeaderClosed() {
  Failure failure = EndedWhileForming(acceptance_.ranks, acceptance_.node);
  if (acceptance_.known_above && acceptances_ > 1) return events_.on_failed(std::move(failure), false);
  LoseLeader(acceptance_.known_above, std::move(failure.error));
}

// This process and the root.
Duration::rep UpstreamLink::LevelsBetween() const {
  const Detour above = DetourAround(request_.meeting, acceptance_.node, request_.self.node, request_.fan_out);
  return static_cast<Duration::rep>(above.hosts.size()) + (is_local_ ? 1 : 0);
}

// In a tree. Hellos of this process may have been lost with that leader, and those of late ranks are to go around it: the root
// would stay for these ranks.
bool UpstreamLink::IsBelowALeader() const {
  return acceptance_.known_above &&
         !DetourAround(request_.meeting, acceptance_.node, request_.self.node, request_.fan_out)
              .hosts.empty();
}

void UpstreamLink::LoseLeader(bool known_above, Error reason) {
  ForgetAcceptance(known_above);
  events_.on_leader_lost(LeaderThatCannotJoin(std::move(reason)));
}

void UpstreamLink::ForgetAcceptance(bool known_above) {
  accepted_ = false;
  leader_lost_ = true;
  lost_known_leader_ = known_above;
}

ProcessInfo UpstreamLink::LeaderThatCannotJoin(Error reason) const {
  ProcessInfo leader{acceptance_.node, 0, request_.self.agreement, {}, std::move(reason)};
  for (const int rank : acceptance_.ranks) leader.claims.push_back({rank, -1, -1, {}});
  return leader;
}

// From here the stream is unusable; it must not be destroyed within its own call.
void UpstreamLink::Drop() {
  loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(stream_))] {});
}

void UpstreamLink::OnFailure(Failure failure) {
  if (!KeepsLeaderFromRoot(failure) || !events_.can_prove())
    return events_.on_failed(std::move(failure), true);
  Drop();
  if (failure.error.code == Code::kAuthentication)
    failure.error.message = fmt::format("{} cannot prove its identity: {}", name_, failure.error.message);
  LoseLeader(false, std::move(failure.error));
}

// That leader has no proof, for which the root ends no rank, or no descriptor for a connection to the root. The kernel proves its user
// to this process.
bool UpstreamLink::KeepsLeaderFromRoot(const Failure& failure) const {
  const bool kept = failure.error.code == Code::kAuthentication || failure.error.code == Code::kSystem;
  return kept && request_.meeting.find_root != FindRoot::kSameNode && is_local_ && accepted_ &&
         !acceptance_.known_above && !request_.self.refused && failure.rank == acceptance_.ranks.front();
}

void UpstreamLink::CompareVersions(ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return;
  const std::string self = DescribeRank(request_.self.claims.front().rank, request_.self.node);
  const Status same = CheckSameVersion({self, request_.versions}, {name_, *theirs});
  if (!same) Fail(same.error());
}

}  // namespace muster::rendezvous
