#include <array>
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
  constexpr auto kNames =
      std::to_array<std::string_view>({"silent", "in_group", "program", "ended", "left", "program"});
  static_assert(kNames.size() == static_cast<size_t>(rendezvous::RankState::kOwnGroup) + 1);
  return kNames.at(static_cast<size_t>(state));
}

Json ToJson(const OperationState& operation) {
  return {
      {"operation", operation.operation},    {"sequence", operation.sequence},
      {"elements", operation.elements},      {"communicator", fmt::format("{:016x}", operation.communicator)},
      {"active", operation.active},          {"seconds", Seconds(operation.milliseconds)},
      {"waiting_for", operation.waiting_for}};
}

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ToJson(const rendezvous::ProcessState& process) {
  if (process.pid == 0) return nullptr;
  return {{"pid", process.pid},
          {"state", std::string(1, process.state)},
          {"seconds", Seconds(process.milliseconds)},
          {"cpu_seconds", Seconds(process.cpu_milliseconds)},
          {"kernel", OrNull(process.where)}};
}

Json ToJson(const rendezvous::GroupStatus& status, const rendezvous::RankReport& report) {
  Json operations = Json::array();
  for (const OperationState& operation : report.operations) operations.push_back(ToJson(operation));
  return {{"rank", report.rank},
          {"node", status.nodes[static_cast<size_t>(status.node_of_rank[static_cast<size_t>(report.rank)])]},
          {"state", NameOf(report.state)},
          {"exit_status", report.exit_status < 0 ? Json(nullptr) : Json(report.exit_status)},
          {"process", ToJson(report.process)},
          {"operations", operations},
          {"stack", OrNull(report.stack)}};
}

Json ToJson(const rendezvous::GroupStatus& status) {
  Json object = {{"job", status.job},
                 {"group", OrNull(status.group_id)},
                 {"forming", OrNull(status.forming)},
                 {"failure", OrNull(status.failure)},
                 {"complete", status.complete},
                 {"size", status.node_of_rank.size()},
                 {"root", status.root_rank},
                 {"waiting", Json::array()}};
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
