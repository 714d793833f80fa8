#include "bootstrap/resolve/resolve_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

using Json = nlohmann::ordered_json;

// Host names and variables are bytes from outside: invalid UTF-8 is replaced, and throws nothing.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json JobJson(const JobIdentity& job) {
  return {{"key", job.key}, {"id", OrNull(job.id)}, {"step", OrNull(job.step)}, {"restart", job.restart}};
}

Json MasterJson(const std::optional<Endpoint>& master) {
  return master ? Json{{"host", master->host}, {"port", master->port}} : Json(nullptr);
}

Json AllocationJson(const std::optional<Allocation>& allocation) {
  if (!allocation) return nullptr;
  return {{"manager", allocation->manager},
          {"job_id", OrNull(allocation->job_id)},
          {"kind", allocation->kind},
          {"nodelist", OrNull(allocation->nodelist)},
          {"num_nodes", OrNull(allocation->num_nodes)},
          {"tasks", OrNull(allocation->tasks)},
          {"node", OrNull(allocation->node)}};
}

bool IsOutOfQuestion(const Considered& one) {
  const Launcher* launcher = FindLauncher(one.launcher);
  return one.verdict == "absent" && launcher != nullptr && (launcher->IsDocumented() || launcher->rare);
}

// A line of srun holds 1 KiB: launchers that do not matter are left out.
Json ConsideredJson(const std::vector<Considered>& considered) {
  Json list = Json::array();
  for (const Considered& one : considered) {
    if (IsOutOfQuestion(one)) continue;
    list.push_back({{"launcher", one.launcher}, {"verdict", one.verdict}, {"reason", one.reason}});
  }
  return list;
}

// An unknown value is unset, so that no stale one stays beside the fresh ones.
void AppendExport(std::string& out, std::string_view name, const std::optional<int>& value) {
  out += value ? fmt::format("export {}={}\n", name, *value) : fmt::format("unset {}\n", name);
}

std::string SourceText(const Resolution& resolution, std::string_view field) {
  for (const FieldSource& source : resolution.sources) {
    if (source.field != field) continue;
    return source.launcher.empty() ? source.variable
                                   : fmt::format("{}, borrowed from {}", source.variable, source.launcher);
  }
  return {};
}

void AppendField(std::string& out, const Resolution& resolution, std::string_view field,
                 const std::string& value) {
  out += fmt::format("  {:<17} {:<24} {}", field, value, SourceText(resolution, field));
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string Show(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "unknown until the ranks have met";
}

void AppendConsidered(std::string& out, const std::vector<Considered>& considered) {
  if (considered.empty()) return;
  out += "considered:\n";
  std::string rest;
  for (const Considered& one : considered) {
    if (IsOutOfQuestion(one)) {
      rest += fmt::format("{}{} ({})", rest.empty() ? "" : ", ", one.launcher, one.reason);
    } else {
      out += fmt::format("  {:<10} {:<12} {}\n", one.launcher, one.verdict, one.reason);
    }
  }
  if (!rest.empty()) out += fmt::format("absent, too: {}\n", rest);
}

}  // namespace

std::string ResolveJson(const Resolution& resolution) {
  const RankTuple& tuple = resolution.tuple;
  return Dump({{"launcher", tuple.launcher},
               {"rank", tuple.rank},
               {"world_size", tuple.world_size},
               {"local_rank", OrNull(tuple.local_rank)},
               {"local_world_size", OrNull(tuple.local_world_size)},
               {"node_rank", OrNull(tuple.node_rank)},
               {"num_nodes", OrNull(tuple.num_nodes)},
               {"node", OrNull(tuple.node)},
               {"job", JobJson(tuple.job)},
               {"master", MasterJson(tuple.master)},
               {"allocation", AllocationJson(resolution.allocation)},
               {"warnings", resolution.warnings},
               {"considered", ConsideredJson(resolution.considered)}});
}

std::string ResolveJson(const Refusal& refusal) {
  const Error& error = refusal.error;
  return Dump({{"error", {{"code", CodeName(error.code)}, {"message", error.message}, {"hint", error.hint}}},
               {"allocation", AllocationJson(refusal.allocation)},
               {"considered", ConsideredJson(refusal.considered)}});
}

std::string ResolveExport(const Resolution& resolution) {
  const RankTuple& tuple = resolution.tuple;
  std::string out = fmt::format("export RANK={}\nexport WORLD_SIZE={}\n", tuple.rank, tuple.world_size);
  AppendExport(out, "LOCAL_RANK", tuple.local_rank);
  AppendExport(out, "LOCAL_WORLD_SIZE", tuple.local_world_size);
  AppendExport(out, "NODE_RANK", tuple.node_rank);
  AppendExport(out, "GROUP_RANK", tuple.node_rank);
  AppendExport(out, "GROUP_WORLD_SIZE", tuple.num_nodes);
  if (tuple.master) {
    out += fmt::format("export MASTER_ADDR={}\nexport MASTER_PORT={}\n",
                       config::ShellQuoted(tuple.master->host), tuple.master->port);
  }
  return out;
}

std::string ResolveText(const Resolution& resolution) {
  const RankTuple& tuple = resolution.tuple;
  std::string out = fmt::format(
      "rank {} of {}, started by {}\n\n", tuple.rank, tuple.world_size,
      HasRole(tuple.launcher, LauncherRole::kAlone) ? "no launcher: a world of one" : tuple.launcher);
  AppendField(out, resolution, "rank", std::to_string(tuple.rank));
  AppendField(out, resolution, "world_size", std::to_string(tuple.world_size));
  AppendField(out, resolution, "local_rank", Show(tuple.local_rank));
  AppendField(out, resolution, "local_world_size", Show(tuple.local_world_size));
  AppendField(out, resolution, "node_rank", Show(tuple.node_rank));
  AppendField(out, resolution, "num_nodes", Show(tuple.num_nodes));
  AppendField(out, resolution, "node", tuple.node.value_or("unknown"));
  AppendField(out, resolution, "job.id", tuple.job.id.empty() ? "none" : tuple.job.id);
  if (!tuple.job.step.empty()) AppendField(out, resolution, "job.step", tuple.job.step);
  if (tuple.job.restart > 0) AppendField(out, resolution, "job.restart", std::to_string(tuple.job.restart));
  if (tuple.master) AppendField(out, resolution, "master", ToString(*tuple.master));
  for (const std::string& warning : resolution.warnings) out += fmt::format("\nwarning: {}\n", warning);
  out += '\n';
  AppendConsidered(out, resolution.considered);
  return out;
}

std::string ResolveText(const Refusal& refusal) {
  const bool is_no_rank = refusal.error.code == Code::kNotLaunched;
  std::string out = fmt::format("{}: {}\n", is_no_rank ? "not a rank" : "refused", refusal.error.message);
  if (!refusal.error.hint.empty()) out += fmt::format("what to do: {}\n", refusal.error.hint);
  out += '\n';
  AppendConsidered(out, refusal.considered);
  return out;
}

}  // namespace muster::resolve
