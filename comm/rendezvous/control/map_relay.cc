#include "comm/rendezvous/control/map_relay.h"

#include <algorithm>
#include <utility>

#include "comm/map/messages.h"
#include "comm/rendezvous/liveness/loss.h"

namespace muster::rendezvous {

map::Service& MapRelay::TheService() {
  if (!service_) {
    service_ = std::make_unique<map::Service>(map::Service::Params{
        params_.links.loop(), params_.roster, params_.owner, params_.silent_after,
        [this](int rank, ByteView message) { SendToRank(rank, message); }, [this](bool on) { Tolerate(on); },
        // The work of programs: the group may start again.
        [this](const Error& error) {
          params_.fail({error, -1, ExitStatus(error.code), ""});
        },
        params_.root_rank});
    service_->SetLatest(latest_);
    for (const int rank : params_.leaves.left()) service_->Lose(rank, "");
  }
  return *service_;
}

void MapRelay::SendToRoot(int rank, ByteView message) {
  if (params_.links.is_root()) return TheService().Receive(rank, message);
  const bool sent = params_.links.SendUp(Encode(RankMessage{rank, message}, ControlType::kToRoot));
  const auto heading = map::HeadingOf(message);
  if (!heading) return;
  // Else the rank would wait for an answer. In a failed group it has the failure before this.
  if (!sent) return Refuse(rank, heading->map);
  if (heading->type == map::MessageType::kJoin) joined_.emplace(rank, heading->map);
  if (heading->type == map::MessageType::kLeave) joined_.erase({rank, heading->map});
}

void MapRelay::Refuse(int rank, uint32_t map) {
  SendToRank(
      rank,
      map::Encode(map, map::Refused{{Code::kPeerLost,
                                     "the group's control plane has ended, and no map can begin or go on",
                                     "leave the group on all ranks after their last map"}}));
}

// A request that was on its way has no answer.
void MapRelay::LoseRoot() {
  for (const auto& [rank, map] : std::exchange(joined_, {})) Refuse(rank, map);
}

void MapRelay::SendToRank(int rank, ByteView message) {
  const Source child = params_.leaves.ChildOf(rank);
  if (child == ChildLinks::kSelf) return params_.deliver(rank, message);
  params_.links.children().Send(child, Encode(RankMessage{rank, message}, ControlType::kToRank));
}

void MapRelay::Tolerate(bool on) {
  if (tolerates_ && !on) params_.on_over();
  tolerates_ = on;
  params_.links.children().SendAll(Encode(Tolerance{on}));
}

void MapRelay::ReceiveFromParent(ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kTolerate) {
    if (const auto tolerance = Decode<Tolerance>(frame)) Tolerate(tolerance->on);
    return;
  }
  if (const auto message = Decode<RankMessage>(frame)) SendToRank(message->rank, message->content);
}

void MapRelay::ReceiveFromChild(Source source, ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kRanksLost) {
    if (const auto lost = Decode<RanksLost>(frame)) Lose(*lost);
    return;
  }
  const auto message = Decode<RankMessage>(frame);
  if (!message || params_.leaves.ChildOf(message->rank) != source) return;
  SendToRoot(message->rank, message->content);
}

void MapRelay::Lose(const RanksLost& lost) {
  if (lost.ranks.empty()) return;
  if (!params_.links.is_root()) {
    params_.links.SendUp(Encode(lost));
    return;
  }
  const bool missed =
      service_ && std::ranges::all_of(lost.ranks, [this](int rank) { return service_->HasLost(rank); });
  if (JudgeReportedLoss({lost.why.empty(), tolerates_, missed}) == Loss::kFailure)
    return params_.fail({{Code::kPeerLost, lost.why}, lost.ranks.front(), lost.exit_status, ""});
  if (lost.process) params_.on_lost(lost.ranks);
  for (const int rank : lost.ranks) TheService().Lose(rank, lost.why);
}

void MapRelay::Leave(const std::set<int>& ranks) {
  std::erase_if(joined_, [&](const auto& one) { return ranks.contains(one.first); });
  if (!service_) return;
  for (const int rank : ranks) service_->Lose(rank, "");
}

void MapRelay::SetLatest(Deadline latest) {
  latest_ = latest;
  if (service_) service_->SetLatest(latest);
}

}  // namespace muster::rendezvous
