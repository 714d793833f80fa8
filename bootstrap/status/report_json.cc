#include <nlohmann/json.hpp>

#include "bootstrap/report/map_report.h"
#include "bootstrap/status/report.h"
#include "comm/log/log_json.h"
#include "comm/rendezvous/survey/stragglers.h"

namespace muster::status {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(uint64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

std::string_view NameOf(rendezvous::RankState state) {
  switch (state) {
    case rendezvous::RankState::kSilent:
      return "silent";
    case rendezvous::RankState::kInGroup:
      return "in_group";
    case rendezvous::RankState::kProgram:
    case rendezvous::RankState::kOwnGroup:
      return "program";
    case rendezvous::RankState::kEnded:
      return "ended";
    case rendezvous::RankState::kLeft:
      return "left";
  }
  return "silent";
}

Json ToJson(const OperationState& operation) {
  Json object;
  object["operation"] = operation.operation;
  object["sequence"] = operation.sequence;
  object["elements"] = operation.elements;
  object["communicator"] = fmt::format("{:016x}", operation.communicator);
  object["active"] = operation.active;
  object["seconds"] = Seconds(operation.milliseconds);
  object["waiting_for"] = operation.waiting_for;
  return object;
}

Json ToJson(const rendezvous::ProcessState& process) {
  if (process.pid == 0) return nullptr;
  Json object;
  object["pid"] = process.pid;
  object["state"] = std::string(1, process.state);
  object["seconds"] = Seconds(process.milliseconds);
  object["cpu_seconds"] = Seconds(process.cpu_milliseconds);
  object["kernel"] = process.where.empty() ? Json(nullptr) : Json(process.where);
  return object;
}

Json ToJson(const rendezvous::GroupStatus& status, const rendezvous::RankReport& report) {
  Json object;
  object["rank"] = report.rank;
  object["node"] = status.nodes[static_cast<size_t>(status.node_of_rank[static_cast<size_t>(report.rank)])];
  object["state"] = NameOf(report.state);
  object["exit_status"] = report.exit_status < 0 ? Json(nullptr) : Json(report.exit_status);
  object["process"] = ToJson(report.process);
  object["operations"] = Json::array();
  for (const OperationState& operation : report.operations) object["operations"].push_back(ToJson(operation));
  object["stack"] = report.stack.empty() ? Json(nullptr) : Json(report.stack);
  return object;
}

Json ToJson(const rendezvous::GroupStatus& status) {
  Json object;
  object["job"] = status.job;
  object["group"] = status.group_id.empty() ? Json(nullptr) : Json(status.group_id);
  object["forming"] = status.forming.empty() ? Json(nullptr) : Json(status.forming);
  object["failure"] = status.failure.empty() ? Json(nullptr) : Json(status.failure);
  object["complete"] = status.complete;
  object["size"] = status.node_of_rank.size();
  object["root"] = status.root_rank;
  object["waiting"] = Json::array();
  const Roster roster = RosterOf(status);
  for (const rendezvous::WaitingCall& call :
       rendezvous::FindWaitingCalls(status.reports, std::chrono::seconds(1))) {
    object["waiting"].push_back(Describe(roster, call));
  }
  object["maps"] = Json::array();
  for (const map::MapState& map : status.maps)
    object["maps"].push_back(report::MapJson(map, [&](int rank) { return roster.NodeName(rank); }));
  object["ranks"] = Json::array();
  for (const rendezvous::RankReport& report : status.reports)
    object["ranks"].push_back(ToJson(status, report));
  return object;
}

}  // namespace

std::string StatusJson(const std::vector<rendezvous::GroupStatus>& groups,
                       std::chrono::system_clock::time_point time) {
  Json object;
  object["time"] = FormatTime(time);
  object["groups"] = Json::array();
  for (const rendezvous::GroupStatus& group : groups) object["groups"].push_back(ToJson(group));
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::status
