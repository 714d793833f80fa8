#include "comm/rendezvous/messages/survey_messages.h"

#include "comm/rendezvous/messages/frames.h"

namespace muster {

void Fields(auto& wire, Is<OperationState> auto& operation) {
  wire(operation.communicator, operation.collective, operation.active, operation.operation,
       operation.sequence, operation.elements, operation.milliseconds, operation.waiting_for);
}

namespace map {

constexpr size_t kLongestKey = 256;
constexpr size_t kLongestName = 4096;

void Fields(auto& wire, Is<Progress> auto& progress) {
  wire(progress.items, progress.committed, progress.poisoned, progress.resumed, progress.granted,
       progress.second_commits);
  wire.Require(progress.committed <= progress.items &&
               progress.poisoned <= progress.items - progress.committed);
}

void Fields(auto& wire, Is<ItemTime> auto& item) {
  wire(item.item, AtMost(item.key, kLongestKey), item.rank, item.time);
}

void Fields(auto& wire, Is<RankShare> auto& share) {
  wire(share.rank, share.slots, share.lost, share.done, share.failed_attempts, share.granted, share.at_work,
       share.busy);
  wire.Require(share.slots >= 1);
}

void Fields(auto& wire, Is<MapState> auto& map) {
  wire(map.number, AtMost(map.subject, kLongestName), AtMost(map.journal, kLongestName),
       UpTo(map.phase, MapPhase::kFailed), map.time_is_up, map.progress, map.elapsed, map.slowest,
       map.longest, map.failed, map.ranks);
}

}  // namespace map

namespace rendezvous {

// At the end of a message, if there are any.
void MapsIfAny(auto& wire, auto& maps) {
  if constexpr (kReads<decltype(wire)>) {
    if (wire.remaining() == 0) return;
    wire(maps);
    wire.Require(!maps.empty());
  } else if (!maps.empty()) {
    wire(maps);
  }
}

void RequireRanks(auto& wire, const auto& items, size_t size) {
  for (const auto& item : items) wire.Require(item.rank >= 0 && std::cmp_less(item.rank, size));
}

void Fields(auto& wire, Is<ProcessState> auto& process) {
  // A letter for display.
  wire(process.pid, Between(process.state, '!', '~'), process.milliseconds, process.cpu_milliseconds,
       process.where);
}

void Fields(auto& wire, Is<RankReport> auto& report) {
  wire(report.rank, UpTo(report.state, RankState::kOwnGroup), report.exit_status, report.process,
       report.operations, report.stack);
}

void Fields(auto& wire, Is<Survey> auto& survey) { wire(survey.number, survey.milliseconds, survey.stacks); }

void Fields(auto& wire, Is<Surveyed> auto& surveyed) {
  wire(surveyed.number, surveyed.complete, surveyed.reports);
  MapsIfAny(wire, surveyed.maps);
}

void Fields(auto& wire, Is<GroupStatus> auto& status) {
  wire(status.job, status.group_id, status.forming, status.failure, status.complete, status.root_rank,
       status.answering_rank, status.nodes, status.node_of_rank, status.reports);
  for (const int node : status.node_of_rank)
    wire.Require(node >= 0 && std::cmp_less(node, status.nodes.size()));
  MapsIfAny(wire, status.maps);
  const size_t size = status.node_of_rank.size();
  RequireRanks(wire, status.reports, size);
  for (const map::MapState& map : status.maps) {
    for (const auto* items : {&map.slowest, &map.longest, &map.failed}) RequireRanks(wire, *items, size);
    RequireRanks(wire, map.ranks, size);
  }
}

MUSTER_MESSAGE(Survey, kSurvey, "survey");
MUSTER_MESSAGE(Surveyed, kSurveyed, "survey's answer");
MUSTER_MESSAGE(GroupStatus, kGroupStatus, "status of a group");

}  // namespace rendezvous
}  // namespace muster
