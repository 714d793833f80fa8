// No launcher started this process: a world of one. Inside an allocation of more than one task only on request. Of batch
// systems beside Slurm this is: more than one host.
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/batch_hosts.h"
#include "bootstrap/resolve/launchers/rows.h"
#include "bootstrap/resolve/slurm/allocation.h"

namespace muster::resolve {
namespace {

constexpr std::string_view kAlone = "for a world of one: MUSTER_LAUNCHER=none";

std::optional<Incomplete> PartOfMore(const Environment& environment) {
  if (const auto task = NumberOfTask(environment)) {
    return Incomplete{{Code::kBadEnvironment,
                       fmt::format("{}={} is a task of {}, without the number of tasks", task->variable,
                                   task->number, task->manager),
                       fmt::format("give --rank and --world-size, or set RANK and WORLD_SIZE; {}", kAlone)},
                      task->variable};
  }
  if (const auto peer = PeerOfOthers(environment)) {
    return Incomplete{
        {Code::kNotLaunched,
         fmt::format("{}={} is a process of {}, one of {}={}, and no launcher started it as a rank",
                     peer->variable, peer->number, peer->manager, peer->count_variable, peer->count),
         fmt::format("give --rank {} --world-size {} --endpoint HOST:PORT, with the host of rank 0; {}",
                     peer->number, peer->count, kAlone)},
        std::string(peer->variable)};
  }
  const auto hosts = HostsOfJob(environment);
  if (!hosts) return std::nullopt;
  return Incomplete{
      {Code::kNotLaunched,
       fmt::format(
           "this is an allocation of {} on {} hosts ({}={}), and no launcher started this process as a rank",
           hosts->manager, hosts->hosts, hosts->variable, *environment.Get(hosts->variable)),
       fmt::format("start it with the launcher of the site or of MPI, such as mpiexec; {}", kAlone)},
      hosts->variable};
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
    if (tuple.node) candidate.sources.push_back({"node", "SLURMD_NODENAME"});
  }
  tuple.job.key = JobKey("none", tuple.job);
  if (!context.forced && !allocation) candidate.warnings = DoubtsOfOne(environment);
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
