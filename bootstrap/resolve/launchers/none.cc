// No launcher started this process: a world of one. Inside an allocation of more than one task only on request. Of batch
// systems beside Slurm this is: more than one host.
#include <set>

#include "bootstrap/environment/ancestry.h"
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/allocation.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr size_t kLongestHostFile = 16 << 20;
constexpr std::string_view kAlone = "for a world of one: MUSTER_LAUNCHER=none";

struct Sign {
  std::string_view manager;
  std::string_view variable;
  int most = 1;                  // of a world of one
  std::string_view beside = {};  // counts only if this is set, too
};
// A task's number, without the number of tasks: aprun, pbsdsh.
constexpr Sign kTasks[] = {{"ALPS", "ALPS_APP_PE", 0}, {"PBS", "PBS_TASKNUM"}};
// Files with a host a line, whose first word is its name.
constexpr Sign kFiles[] = {{"PBS", "PBS_NODEFILE"},
                           {"OAR", "OAR_NODEFILE"},
                           {"Grid Engine", "PE_HOSTFILE"},
                           {"Cobalt", "COBALT_NODEFILE"}};
constexpr Sign kCounts[] = {
    {"PBS", "PBS_NUM_NODES"}, {"Cobalt", "COBALT_PARTSIZE"}, {"Grid Engine", "NHOSTS", 1, "PE_HOSTFILE"}};

size_t HostsIn(const std::string& path) {
  std::set<std::string_view> hosts;
  const std::string text = ReadAll(path, kLongestHostFile).value_or("");
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view host = Trim(line).substr(0, Trim(line).find_first_of(" \t"));
    if (!host.empty()) hosts.insert(host);
  }
  return hosts.size();
}

Incomplete OnSeveralHosts(const Environment& environment, const Sign& sign, size_t hosts) {
  return {
      {Code::kNotLaunched,
       fmt::format(
           "this is an allocation of {} on {} hosts ({}={}), and no launcher started this process as a rank",
           sign.manager, hosts, sign.variable, *environment.Get(sign.variable)),
       fmt::format("start it with the launcher of the site or of MPI, such as mpiexec; {}", kAlone)},
      std::string(sign.variable)};
}

std::optional<Incomplete> PartOfMore(const Environment& environment) {
  for (const Sign& sign : kTasks) {
    const auto number = environment.GetCount(sign.variable);
    if (!number || number->value_or(0) <= sign.most) continue;
    return Incomplete{{Code::kBadEnvironment,
                       fmt::format("{}={} is a task of {}, without the number of tasks", sign.variable,
                                   **number, sign.manager),
                       fmt::format("give --rank and --world-size, or set RANK and WORLD_SIZE; {}", kAlone)},
                      std::string(sign.variable)};
  }
  for (const Sign& sign : kCounts) {
    const auto number = environment.GetCount(sign.variable);
    const bool counts = sign.beside.empty() || environment.Has(sign.beside);
    if (counts && number && number->value_or(0) > sign.most)
      return OnSeveralHosts(environment, sign, static_cast<size_t>(**number));
  }
  // "a 32 b 32"
  const Sign lsf{"LSF", "LSB_MCPU_HOSTS"};
  const auto words = Split(Trim(environment.Get(lsf.variable).value_or("")), ' ');
  if (words.size() > 2) return OnSeveralHosts(environment, lsf, words.size() / 2);
  // A captured environment has its files elsewhere.
  for (const Sign& sign : kFiles) {
    const auto path = environment.live() ? environment.Get(sign.variable) : std::nullopt;
    const size_t hosts = path ? HostsIn(std::string(*path)) : 0;
    if (hosts > 1) return OnSeveralHosts(environment, sign, hosts);
  }
  return std::nullopt;
}

Probed ProbeNone(const Environment& environment, const ProbeContext& context) {
  const auto allocation = FindAllocation(environment);
  if (!context.forced && allocation && !IsSingleTask(*allocation, environment)) {
    return Absent{fmt::format("{} job {} is more than one task", allocation->manager, allocation->job_id)};
  }
  if (auto part = context.forced || allocation ? std::nullopt : PartOfMore(environment))
    return *std::move(part);
  Candidate candidate;
  RankTuple& tuple = candidate.tuple;
  tuple.launcher = "none";
  candidate.sources = {{"rank", "(no launcher)", {}}, {"world_size", "(no launcher)", {}}};
  if (allocation) {
    tuple.job.id = allocation->job_id;
    tuple.node = allocation->node;
    if (tuple.node) candidate.sources.push_back({"node", "SLURMD_NODENAME", {}});
  }
  tuple.job.key = JobKey("none", tuple.job);
  return candidate;
}

}  // namespace

constinit const Launcher kNoneLauncher{
    .name = "none",
    .probe = ProbeNone,
    .tested = "no launcher",
    .note = "a world of one",
    .role = LauncherRole::kAlone,
    .meets = Meets::kNowhere,
    .has_signature = false,
};

}  // namespace muster::resolve
