#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bootstrap/report/map_report.h"
#include "bootstrap/report/report.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log_json.h"

namespace muster::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr size_t kSlowest = 10;

// Microseconds are precise enough.
double Seconds(Duration duration) {
  return static_cast<double>(std::chrono::round<std::chrono::microseconds>(duration).count()) / 1e6;
}

Json SecondsOrNull(const std::optional<Duration>& duration) {
  return duration ? Json(Seconds(*duration)) : Json(nullptr);
}

std::string TimeAt(const RunRecord& record, Duration at) {
  return FormatTime(record.began + std::chrono::duration_cast<std::chrono::system_clock::duration>(at));
}

Json FailureJson(const RunRecord& record) {
  if (!record.failure) return nullptr;
  const rendezvous::Failure& failure = *record.failure;
  const bool known = failure.rank >= 0 && failure.rank < static_cast<int>(record.ranks.size());
  const Duration at = record.failed.value_or(record.ended);
  Json lines = Json::array();
  if (!failure.stderr_tail.empty()) {
    for (const std::string_view line : Split(failure.stderr_tail, '\n')) lines.push_back(line);
  }
  return {{"code", CodeName(failure.error.code)},
          {"message", failure.error.message},
          {"hint", failure.error.hint},
          {"rank", failure.rank >= 0 ? Json(failure.rank) : Json(nullptr)},
          {"node", known ? Json(record.ranks[static_cast<size_t>(failure.rank)].node) : Json(nullptr)},
          {"exit_status", failure.exit_status >= 0 ? Json(failure.exit_status) : Json(nullptr)},
          {"at_s", Seconds(at)},
          {"time", TimeAt(record, at)},
          {"last_lines", std::move(lines)}};
}

Json MomentJson(const RunRecord& record, const Moment& moment) {
  return {{"rank", moment.rank},
          {"node", record.ranks[static_cast<size_t>(moment.rank)].node},
          {"at_s", Seconds(moment.at)}};
}

// `moments`: earliest first.
Json PhaseJson(const RunRecord& record, const std::optional<Duration>& from,
               const std::optional<Duration>& to, const std::vector<Moment>& moments) {
  if (!from) return nullptr;
  Json phase = {{"from_s", Seconds(*from)}, {"to_s", SecondsOrNull(to)}};
  if (moments.empty()) return phase;
  phase["first"] = MomentJson(record, moments.front());
  phase["last"] = MomentJson(record, moments.back());
  phase["slowest"] = Json::array();
  for (size_t i = 0; i < std::min(moments.size(), kSlowest); ++i) {
    phase["slowest"].push_back(MomentJson(record, moments[moments.size() - 1 - i]));
  }
  return phase;
}

std::vector<Moment> ResolveTimes(const RunRecord& record) {
  return MomentsInOrder(record, [](const RankRecord& rank) {
    return rank.end ? std::optional(rank.end->resolve) : std::nullopt;
  });
}

Json PhasesJson(const RunRecord& record) {
  const auto& programs = record.formed;
  const auto run_from = record.initialized ? record.initialized : programs;
  Json phases;
  phases["resolve"] = PhaseJson(record, Duration{}, record.joining, ResolveTimes(record));
  phases["rendezvous"] = PhaseJson(record, record.joining, record.formed, ArrivalsInOrder(record));
  phases["init"] = record.initialized ? PhaseJson(record, programs, record.initialized, {}) : Json(nullptr);
  phases["run"] = PhaseJson(record, run_from, record.ended, EndsInOrder(record));
  return phases;
}

std::string_view MemoryWord(rendezvous::OutOfMemory out_of_memory) {
  constexpr auto kNames = std::to_array<std::string_view>({"no", "node", "yes"});
  static_assert(kNames.size() == static_cast<size_t>(rendezvous::OutOfMemory::kOwn) + 1);
  return kNames.at(static_cast<size_t>(out_of_memory));
}

Json RankJson(const RunRecord& record, size_t rank) {
  const RankRecord& of_rank = record.ranks[rank];
  const auto& end = of_rank.end;
  Json json = {
      {"rank", rank},
      {"node", of_rank.node.empty() ? Json(nullptr) : Json(of_rank.node)},
      {"outcome", OutcomeName(record.OutcomeOf(static_cast<int>(rank)))},
      {"arrived_s", of_rank.arrived ? Json(Seconds(record.joining + *of_rank.arrived)) : Json(nullptr)}};
  json["exit_code"] = end && end->signal == 0 && end->cause != rendezvous::EndCause::kNotStarted
                          ? Json(end->exit_code)
                          : Json(nullptr);
  json["signal"] = end && end->signal != 0 ? Json(end->signal) : Json(nullptr);
  json["out_of_memory"] = end ? Json(MemoryWord(end->out_of_memory)) : Json(nullptr);
  json["resolve_s"] = end ? Json(Seconds(end->resolve)) : Json(nullptr);
  json["join_s"] = end ? Json(Seconds(end->join)) : Json(nullptr);
  json["run_s"] = end ? Json(Seconds(end->run)) : Json(nullptr);
  return json;
}

}  // namespace

std::string ReportJson(const RunRecord& record, std::string_view version) {
  Json report;
  report["schema"] = kSchema;
  report["muster"] = version;
  report["job"] = record.job;
  report["group"] = record.group.empty() ? Json(nullptr) : Json(record.group);
  report["command"] = record.command;
  report["began"] = TimeAt(record, {});
  report["ended"] = TimeAt(record, record.ended);
  report["seconds"] = Seconds(record.ended);
  report["exit_status"] = record.exit_status;
  report["world_size"] = record.ranks.size();
  report["root"] = record.root;
  report["failure"] = FailureJson(record);
  report["outcomes"] = Json::object();
  for (const auto& [outcome, ranks] : RanksByOutcome(record)) {
    report["outcomes"][std::string(OutcomeName(outcome))] = FormatRanges(ranks);
  }
  report["phases"] = PhasesJson(record);
  report["maps"] = Json::array();
  for (const map::MapState& map : record.maps) {
    report["maps"].push_back(
        MapJson(map, [&](int rank) { return record.ranks[static_cast<size_t>(rank)].node; }));
  }
  report["ranks"] = Json::array();
  for (size_t rank = 0; rank < record.ranks.size(); ++rank) report["ranks"].push_back(RankJson(record, rank));
  return report.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::report
