// No launcher started this process: a world of one. Inside an allocation of more than one task only on request. Of batch
// systems beside Slurm this is: more than one host.
#include <algorithm>
#include <iterator>
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

struct HostFile {
  size_t lines = 0;  // of slots, or of hosts; 0: there is none that can be read
  size_t hosts = 0;
};

HostFile ReadHostFile(const std::string& path) {
  size_t lines = 0;
  std::set<std::string_view> hosts;
  const std::string text = ReadAll(path, kLongestHostFile).value_or("");
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view host = Trim(line).substr(0, Trim(line).find_first_of(" \t"));
    if (host.empty()) continue;
    ++lines;
    hosts.insert(host);
  }
  return {lines, hosts.size()};
}

// A captured environment has its files elsewhere.
HostFile HostFileAt(const Environment& environment, std::string_view variable) {
  const auto path = environment.live() ? environment.Get(variable) : std::nullopt;
  return path ? ReadHostFile(std::string(*path)) : HostFile{};
}

HostFile HostFileOf(const Environment& environment, std::string_view manager) {
  const auto sign = std::ranges::find(kFiles, manager, &Sign::manager);
  return sign == std::end(kFiles) ? HostFile{} : HostFileAt(environment, sign->variable);
}

// "a 32 b 32": names and slots. A compound request may name a host twice. With jsrun the first is the node of the script,
// on which no rank runs.
size_t HostsOfLsf(const Environment& environment, std::string_view text) {
  auto words = Split(Trim(text), ' ');
  std::erase(words, "");
  const auto jsm = environment.All().lower_bound("JSM_");
  const bool has_jsm = jsm != environment.All().end() && jsm->first.starts_with("JSM_");
  const bool has_jsrun = has_jsm || environment.Has("CSM_ALLOCATION_ID");
  std::set<std::string_view> hosts;
  for (size_t i = has_jsrun ? 2 : 0; i < words.size(); i += 2) hosts.insert(words[i]);
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
    // One slot has one task, whatever its number: `pbsdsh -n 0`, and ssh by way of the batch system.
    if (HostFileOf(environment, sign.manager).lines == 1) continue;
    return Incomplete{{Code::kBadEnvironment,
                       fmt::format("{}={} is a task of {}, without the number of tasks", sign.variable,
                                   **number, sign.manager),
                       fmt::format("give --rank and --world-size, or set RANK and WORLD_SIZE; {}", kAlone)},
                      std::string(sign.variable)};
  }
  for (const Sign& sign : kFiles) {
    const size_t hosts = HostFileAt(environment, sign.variable).hosts;
    if (hosts > 1) return OnSeveralHosts(environment, sign, hosts);
  }
  for (const Sign& sign : kCounts) {
    const auto number = environment.GetCount(sign.variable);
    // Torque's is the number that was requested: with -l nodes=4 that may be four slots of one host.
    if (HostFileOf(environment, sign.manager).lines > 0) continue;
    const bool counts = sign.beside.empty() || environment.Has(sign.beside);
    if (counts && number && number->value_or(0) > sign.most)
      return OnSeveralHosts(environment, sign, static_cast<size_t>(**number));
  }
  const Sign lsf{"LSF", "LSB_MCPU_HOSTS"};
  const size_t hosts = HostsOfLsf(environment, environment.Get(lsf.variable).value_or(""));
  if (hosts > 1) return OnSeveralHosts(environment, lsf, hosts);
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
