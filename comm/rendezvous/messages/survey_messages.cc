#include "comm/rendezvous/messages/survey_messages.h"

#include "comm/rendezvous/messages/frames.h"

namespace muster {

void Fields(auto& wire, Is<OperationState> auto& operation) {
  wire(operation.communicator, operation.collective, operation.active, operation.operation,
       operation.sequence, operation.elements, operation.milliseconds, operation.waiting_for);
}

namespace rendezvous {

void Fields(auto& wire, Is<ProcessState> auto& process) {
  // A letter that people will see.
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
}

void Fields(auto& wire, Is<GroupStatus> auto& status) {
  wire(status.job, status.group_id, status.forming, status.failure, status.complete, status.root_rank,
       status.answering_rank, status.nodes, status.node_of_rank, status.reports);
  for (const int node : status.node_of_rank)
    wire.Require(node >= 0 && std::cmp_less(node, status.nodes.size()));
  for (const RankReport& report : status.reports)
    wire.Require(report.rank >= 0 && std::cmp_less(report.rank, status.node_of_rank.size()));
}

Bytes Encode(const Survey& survey) { return EncodeFields(ControlType::kSurvey, survey); }
Result<Survey> DecodeSurvey(ByteView frame) { return DecodeFrame<Survey>(frame, "survey"); }

Bytes Encode(const Surveyed& surveyed) { return EncodeFields(ControlType::kSurveyed, surveyed); }
Result<Surveyed> DecodeSurveyed(ByteView frame) { return DecodeFrame<Surveyed>(frame, "survey's answer"); }

Bytes Encode(const GroupStatus& status) { return EncodeFields(ControlType::kGroupStatus, status); }
Result<GroupStatus> DecodeGroupStatus(ByteView frame) {
  return DecodeFrame<GroupStatus>(frame, "status of a group");
}

}  // namespace rendezvous
}  // namespace muster
