#include "comm/rendezvous/messages/survey_messages.h"

#include "comm/rendezvous/messages/control_frame.h"

namespace muster::rendezvous {
namespace {

using control_frame::Begin;
using control_frame::Body;
using control_frame::Finish;

void Put(WireWriter& writer, const std::vector<int>& numbers) {
  writer.U32(static_cast<uint32_t>(numbers.size()));
  for (const int number : numbers) writer.I32(number);
}

std::vector<int> GetNumbers(WireReader& reader) {
  std::vector<int> numbers(reader.Count(4));
  for (int& number : numbers) number = reader.I32();
  return numbers;
}

bool GetFlag(WireReader& reader) {
  const uint8_t flag = reader.U8();
  if (flag > 1) reader.MarkBad();
  return flag == 1;
}

void Put(WireWriter& writer, const OperationState& operation) {
  writer.U64(operation.communicator);
  writer.U8(operation.collective ? 1 : 0);
  writer.U8(operation.active ? 1 : 0);
  writer.String(operation.operation);
  writer.U64(operation.sequence);
  writer.String(operation.elements);
  writer.U64(operation.milliseconds);
  Put(writer, operation.waiting_for);
}

OperationState GetOperation(WireReader& reader) {
  OperationState operation;
  operation.communicator = reader.U64();
  operation.collective = GetFlag(reader);
  operation.active = GetFlag(reader);
  operation.operation = reader.String();
  operation.sequence = reader.U64();
  operation.elements = reader.String();
  operation.milliseconds = reader.U64();
  operation.waiting_for = GetNumbers(reader);
  return operation;
}

void Put(WireWriter& writer, const ProcessState& process) {
  writer.I32(process.pid);
  writer.U8(static_cast<uint8_t>(process.state));
  writer.U64(process.milliseconds);
  writer.U64(process.cpu_milliseconds);
  writer.String(process.where);
}

// A letter that people will see.
char GetLetter(WireReader& reader) {
  const uint8_t letter = reader.U8();
  if (letter < '!' || letter > '~') reader.MarkBad();
  return static_cast<char>(letter);
}

ProcessState GetProcess(WireReader& reader) {
  ProcessState process;
  process.pid = reader.I32();
  process.state = GetLetter(reader);
  process.milliseconds = reader.U64();
  process.cpu_milliseconds = reader.U64();
  process.where = reader.String();
  return process;
}

void Put(WireWriter& writer, const std::vector<RankReport>& reports) {
  writer.U32(static_cast<uint32_t>(reports.size()));
  for (const RankReport& report : reports) {
    writer.I32(report.rank);
    writer.U8(static_cast<uint8_t>(report.state));
    writer.I32(report.exit_status);
    Put(writer, report.process);
    writer.U32(static_cast<uint32_t>(report.operations.size()));
    for (const OperationState& operation : report.operations) Put(writer, operation);
    writer.String(report.stack);
  }
}

constexpr size_t kShortestReport = 4 + 1 + 4 + 25 + 4 + 4;
constexpr size_t kShortestOperation = 8 + 2 + 4 + 8 + 4 + 8 + 4;

std::vector<RankReport> GetReports(WireReader& reader) {
  std::vector<RankReport> reports(reader.Count(kShortestReport));
  for (RankReport& report : reports) {
    report.rank = reader.I32();
    const uint8_t state = reader.U8();
    if (state > static_cast<uint8_t>(RankState::kOwnGroup)) reader.MarkBad();
    report.state = static_cast<RankState>(state);
    report.exit_status = reader.I32();
    report.process = GetProcess(reader);
    report.operations.resize(reader.Count(kShortestOperation));
    for (OperationState& operation : report.operations) operation = GetOperation(reader);
    report.stack = reader.String();
    if (!reader.ok()) break;
  }
  return reports;
}

}  // namespace

Bytes Encode(const Survey& survey) {
  WireWriter writer = Begin(ControlType::kSurvey);
  writer.U64(survey.number);
  writer.U64(survey.milliseconds);
  Put(writer, survey.stacks);
  return writer.Take();
}

Result<Survey> DecodeSurvey(ByteView frame) {
  WireReader reader = Body(frame);
  Survey survey;
  survey.number = reader.U64();
  survey.milliseconds = reader.U64();
  survey.stacks = GetNumbers(reader);
  return Finish(reader, std::move(survey), "survey");
}

Bytes Encode(const Surveyed& surveyed) {
  WireWriter writer = Begin(ControlType::kSurveyed);
  writer.U64(surveyed.number);
  writer.U8(surveyed.complete ? 1 : 0);
  Put(writer, surveyed.reports);
  return writer.Take();
}

Result<Surveyed> DecodeSurveyed(ByteView frame) {
  WireReader reader = Body(frame);
  Surveyed surveyed;
  surveyed.number = reader.U64();
  surveyed.complete = GetFlag(reader);
  surveyed.reports = GetReports(reader);
  return Finish(reader, std::move(surveyed), "survey's answer");
}

Bytes Encode(const GroupStatus& status) {
  WireWriter writer = Begin(ControlType::kGroupStatus);
  writer.String(status.job);
  writer.String(status.group_id);
  writer.String(status.forming);
  writer.String(status.failure);
  writer.U8(status.complete ? 1 : 0);
  writer.I32(status.root_rank);
  writer.I32(status.answering_rank);
  writer.U32(static_cast<uint32_t>(status.nodes.size()));
  for (const std::string& node : status.nodes) writer.String(node);
  Put(writer, status.node_of_rank);
  Put(writer, status.reports);
  return writer.Take();
}

Result<GroupStatus> DecodeGroupStatus(ByteView frame) {
  WireReader reader = Body(frame);
  GroupStatus status;
  status.job = reader.String();
  status.group_id = reader.String();
  status.forming = reader.String();
  status.failure = reader.String();
  status.complete = GetFlag(reader);
  status.root_rank = reader.I32();
  status.answering_rank = reader.I32();
  status.nodes.resize(reader.Count(4));
  for (std::string& node : status.nodes) node = reader.String();
  status.node_of_rank = GetNumbers(reader);
  status.reports = GetReports(reader);
  const auto nodes = static_cast<int>(status.nodes.size());
  const auto ranks = static_cast<int>(status.node_of_rank.size());
  for (const int node : status.node_of_rank) {
    if (node < 0 || node >= nodes) reader.MarkBad();
  }
  for (const RankReport& report : status.reports) {
    if (report.rank < 0 || report.rank >= ranks) reader.MarkBad();
  }
  return Finish(reader, std::move(status), "status of a group");
}

}  // namespace muster::rendezvous
