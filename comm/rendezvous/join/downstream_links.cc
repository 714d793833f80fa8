#include "comm/rendezvous/join/downstream_links.h"

#include <optional>
#include <utility>
#include <vector>

#include "comm/log/log.h"
#include "comm/rendezvous/join/tree.h"
#include "comm/rendezvous/roster/agreement.h"
#include "comm/rendezvous/roster/roster_builder.h"

namespace muster::rendezvous {

DownstreamLinks::DownstreamLinks(const JoinRequest& request, const UpstreamLink& upstream, int ranks_below,
                                 Events events)
    : request_(request), upstream_(upstream), events_(std::move(events)), members_(request.self) {
  arrived_.world_size = request.self.agreement.world_size;
  arrived_.nodes = request.meeting.placement.nodes.size();
  arrived_.local_size = request.self.claims.front().local_size;
  arrived_.below = ranks_below;
  arrived_.Count({{}, {request.self}}, true);
  links_->SetHandlers(
      [this](Source source, ByteView frame) { OnFrame(source, frame); },
      [this](Source source, const ChildLinks::Child& child, const Error&) { OnClosed(source, child); });
}

Acceptance DownstreamLinks::acceptance() const {
  Acceptance acceptance{
      MillisecondsLeft(upstream_.RootDeadline()), {}, request_.self.node, upstream_.accepted()};
  for (const RankClaim& claim : request_.self.claims) acceptance.ranks.push_back(claim.rank);
  return acceptance;
}

// Each child receives it twice at most for each process above, also if the node's ranks go up in several hellos: 64 ranks that
// wake up for each part of their node are most of the load of a crowded node. The second one means that its hello has gone up.
void DownstreamLinks::Accept() {
  const std::set<Source> sent = members_.SentSince(0);
  const Bytes frame = Encode(acceptance());
  for (const auto& [source, child] : links_->all()) {
    // The others of this node receive it when their hello goes up.
    if (!child.same_node || sent.contains(source)) child.stream->Send(frame);
  }
}

// A rank of this node received the first one when it came.
void DownstreamLinks::AcceptAgain(const std::set<Source>& sources) {
  const Bytes frame = Encode(acceptance());
  for (const Source source : sources) {
    const ChildLinks::Child* const child = links_->Find(source);
    if (child != nullptr && child->same_node) child->stream->Send(frame);
  }
}

void DownstreamLinks::SendRoster(const Roster& roster, ByteView frame) {
  // A process without a hello is no part of the group; the new owner answers it.
  for (auto& [source, child] : links_->all()) {
    if (child.ranks.empty()) continue;
    // Those of other nodes are in the root's roster, which has compared them.
    if (!arrived_.root || child.same_node) {
      if (const auto second = members_.FindSecondClaim(source, roster)) {
        LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", second->message);
        child.stream->Send(Encode(Failure{*second, child.ranks.front()}));
        child.ranks.clear();
        continue;
      }
      child.ranks = members_.RanksIn(source, roster);
    }
    child.stream->Send(frame);
  }
}

void DownstreamLinks::OnFrame(Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  if (*type == ControlType::kVersions) return CompareVersions(source, frame);
  if (*type == ControlType::kHello) {
    const Result<Hello> hello = Decode<Hello>(frame);
    if (hello) return OnHello(source, *hello);
    LogWarning("{}", hello.error().message);
    auto node = links_->all().extract(source);
    return OnClosed(source, node.mapped());
  }
  if (*type == ControlType::kLeave) {
    // A rank of this node has gone to the root: this process did not answer for long. It may have to go up again from here.
    Forget(source, links_->Find(source)->same_node);
    return links_->Remove(source);
  }
  if (*type != ControlType::kFailure) return;
  if (auto failure = Decode<Failure>(frame)) events_.on_failed(*std::move(failure));
}

// A rank of this node. Its messages may be different ones: it reads this process's versions, and fails.
void DownstreamLinks::CompareVersions(Source source, ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return links_->Remove(source);
  const std::string leader = fmt::format("the leader of {}", request_.self.node);
  const Status same = CheckSameVersion({leader, request_.versions}, {links_->Find(source)->name, *theirs});
  if (same) return;
  links_->Send(source, Encode(request_.versions));
  events_.on_failed({same.error()});
}

bool DownstreamLinks::MayBeBelow(const Hello& hello) const {
  return !hello.members.empty() &&
         IsAbove(request_.meeting, request_.self.node, hello.members.front().node, request_.fan_out);
}

void DownstreamLinks::OnHello(Source source, const Hello& hello) {
  if (auto leftover = FindLeftover(request_.self, hello)) {
    LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", leftover->message);
    return links_->Send(source, Encode(Failure{*std::move(leftover), FirstRankOf(hello)}));
  }
  ChildLinks::Child* child = links_->Find(source);
  const bool first = child->ranks.empty();
  if (first && !arrived_.root && !child->same_node && !MayBeBelow(hello)) return links_->Remove(source);
  arrived_.Count(hello, child->same_node);
  for (const ProcessInfo& member : hello.members) {
    if (member.refused && !arrived_.root) events_.on_failed(RefusalOf(member));
    for (const RankClaim& claim : member.claims) child->ranks.push_back(claim.rank);
  }
  // Not the leader of another node before the root has accepted this process: nothing is lost with it before.
  if (first && (arrived_.root || child->same_node || upstream_.accepted()))
    links_->Send(source, Encode(acceptance()));
  if (upstream_.parked()) links_->Send(source, EncodeBare(ControlType::kLater));
  if (!arrived_.root || child->same_node) members_.Add(source, hello);
  events_.on_hello(source, hello);
}

void DownstreamLinks::OnClosed(Source source, const ChildLinks::Child& child) {
  if (child.ranks.empty()) return;
  // A process that times out while the previous group still runs is no part of the next.
  if (upstream_.parked()) return Forget(source, child.same_node);
  if (arrived_.root) return events_.on_ended(source);
  if (child.same_node) return events_.on_failed(EndedWhileForming(child.ranks, request_.self.node));
  // It takes those behind it along, but it alone has ended.
  const ProcessInfo& speaker = members_.SpeakerOf(source);
  std::vector<int> ranks;
  for (const RankClaim& claim : speaker.claims) ranks.push_back(claim.rank);
  events_.on_failed(EndedWhileForming(std::move(ranks), speaker.node));
}

}  // namespace muster::rendezvous
