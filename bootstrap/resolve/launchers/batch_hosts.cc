#include "bootstrap/resolve/launchers/batch_hosts.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "bootstrap/environment/ancestry.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr size_t kLongestHostFile = 16 << 20;

struct Sign {
  std::string_view manager;
  std::string_view variable;
  std::string_view beside = {};  // counts only if this is set, too
};
// Files with a host a line, whose first word is its name.
constexpr Sign kFiles[] = {{"PBS", "PBS_NODEFILE"},
                           {"OAR", "OAR_NODEFILE"},
                           {"Grid Engine", "PE_HOSTFILE"},
                           {"Cobalt", "COBALT_NODEFILE"}};
// PBS_NUM_NODES is what Torque was asked for: with -l nodes=4 that may be four slots of one host.
constexpr Sign kCounts[] = {
    {"PBS", "PBS_NUM_NODES"}, {"Cobalt", "COBALT_PARTSIZE"}, {"Grid Engine", "NHOSTS", "PE_HOSTFILE"}};
constexpr Sign kLsf{"LSF", "LSB_MCPU_HOSTS"};

// Managers that start one process on each of several nodes: the process's number, and beside it how many they are.
constexpr Sign kPeers[] = {{"AWS Batch", "AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES"},
                           {"SkyPilot", "SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"},
                           {"Volcano", "VC_TASK_INDEX", "VC_WORKER_NUM"},
                           {"Beaker", "BEAKER_REPLICA_RANK", "BEAKER_REPLICA_COUNT"},
                           {"HTCondor", "_CONDOR_PROCNO", "_CONDOR_NPROCS"},
                           {"PaddlePaddle", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"},
                           {"JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES"}};

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

HostFile HostFileAt(const Environment& environment, std::string_view variable) {
  const auto path = environment.live() ? environment.Get(variable) : std::nullopt;
  return path ? ReadHostFile(std::string(*path)) : HostFile{};
}

// Of a batch system; null: it has no host file.
const Sign* FileSign(std::string_view manager) {
  const auto sign = std::ranges::find(kFiles, manager, &Sign::manager);
  return sign == std::end(kFiles) ? nullptr : sign;
}

HostFile HostFileOf(const Environment& environment, std::string_view manager) {
  const Sign* sign = FileSign(manager);
  return sign == nullptr ? HostFile{} : HostFileAt(environment, sign->variable);
}

std::optional<int> CountOf(const Environment& environment, const Sign& sign) {
  if (!sign.beside.empty() && !environment.Has(sign.beside)) return std::nullopt;
  const auto count = environment.GetCount(sign.variable);
  return count ? *count : std::nullopt;
}

// Counts only if no host file can be read. A container may hide it: a rank 0 of 1 on several hosts is worse than a refusal on
// one.
std::optional<JobHosts> ByCount(const Environment& environment, const Sign& sign) {
  const auto count = CountOf(environment, sign);
  if (!count || *count <= 1 || HostFileOf(environment, sign.manager).lines > 0) return std::nullopt;
  return JobHosts{std::string(sign.manager), std::string(sign.variable), static_cast<size_t>(*count)};
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

// The host file of a container's host, for example.
bool IsHidden(const Environment& environment, const Sign& file) {
  if (!environment.live() || environment.Get(file.variable).value_or("").empty()) return false;
  return HostFileAt(environment, file.variable).lines == 0;
}

// Whether a variable shows the number of hosts.
bool IsCounted(const Environment& environment, std::string_view manager) {
  return std::ranges::any_of(
      kCounts, [&](const Sign& sign) { return sign.manager == manager && CountOf(environment, sign); });
}

}  // namespace

std::optional<JobHosts> HostsOfJob(const Environment& environment) {
  for (const Sign& sign : kFiles) {
    const size_t hosts = HostFileAt(environment, sign.variable).hosts;
    if (hosts > 1) return JobHosts{std::string(sign.manager), std::string(sign.variable), hosts};
  }
  for (const Sign& sign : kCounts) {
    if (auto hosts = ByCount(environment, sign)) return hosts;
  }
  const size_t hosts = HostsOfLsf(environment, environment.Get(kLsf.variable).value_or(""));
  if (hosts > 1) return JobHosts{std::string(kLsf.manager), std::string(kLsf.variable), hosts};
  return std::nullopt;
}

std::optional<TaskNumber> NumberOfTask(const Environment& environment) {
  const auto number = [&](std::string_view variable) {
    const auto count = environment.GetCount(variable);
    return count ? count->value_or(-1) : -1;
  };
  // PE 0 may be the only one: `aprun -n 1`.
  const int pe = number("ALPS_APP_PE");
  if (pe > 0 || (pe == 0 && HostsOfJob(environment))) return TaskNumber{"ALPS", "ALPS_APP_PE", pe};
  // One slot has one task, whatever its number: `pbsdsh -n 0`, and ssh by way of the batch system.
  const int task = number("PBS_TASKNUM");
  if (task > 1 && HostFileOf(environment, "PBS").lines != 1) return TaskNumber{"PBS", "PBS_TASKNUM", task};
  return std::nullopt;
}

std::optional<Peer> PeerOfOthers(const Environment& environment) {
  for (const Sign& sign : kPeers) {
    const auto number = environment.GetCount(sign.variable);
    const auto count = environment.GetCount(sign.beside);
    if (!number || !*number || !count || !*count || **count <= 1) continue;
    return Peer{sign.manager, sign.variable, **number, sign.beside, **count};
  }
  return std::nullopt;
}

std::vector<std::string> DoubtsOfOne(const Environment& environment) {
  std::vector<std::string> doubts;
  for (const Sign& file : kFiles) {
    if (!IsHidden(environment, file) || IsCounted(environment, file.manager)) continue;
    doubts.push_back(
        fmt::format("{}={} cannot be read, so this is a world of one, whatever the number of hosts: in a "
                    "container, bind the file into it",
                    file.variable, *environment.Get(file.variable)));
  }
  if (environment.Has("ALPS_APP_PE")) {
    doubts.push_back(
        "ALPS_APP_PE=0 is a task of ALPS, without the number of tasks, and is taken for the only one: if "
        "aprun starts several, give --rank and --world-size, or set RANK and WORLD_SIZE");
  }
  // A broker of Flux removes them, too.
  const std::string step = environment.live() ? environment.process()->slurm_step : "";
  if (ParseInteger<int>(step.substr(step.rfind('.') + 1)) && !environment.Has("FLUX_URI")) {
    doubts.push_back(fmt::format(
        "Slurm's step {} started this process, but its variables were removed, so this is a world of one, "
        "whatever the number of tasks: pass SLURM_* on (in a container: without --cleanenv)",
        step));
  }
  // Its batch script runs on the first node of the instance; a task of `flux run` has FLUX_TASK_RANK.
  if (environment.Has("FLUX_URI") && !environment.Has("FLUX_TASK_RANK")) {
    doubts.push_back(
        "FLUX_URI is set, but no launcher started this process as a rank: if the Flux instance has several "
        "nodes, start it with flux run");
  }
  return doubts;
}

Allocation AllocationOf(const JobHosts& hosts, const Environment& environment) {
  struct Name {
    std::string_view manager;
    std::string_view short_name;
    std::string_view job_id;
  };
  constexpr Name kNames[] = {{"PBS", "pbs", "PBS_JOBID"},
                             {"OAR", "oar", "OAR_JOB_ID"},
                             {"Grid Engine", "grid-engine", "JOB_ID"},
                             {"Cobalt", "cobalt", "COBALT_JOBID"},
                             {"LSF", "lsf", "LSB_JOBID"}};
  const Name& name = *std::ranges::find(kNames, hosts.manager, &Name::manager);
  Allocation allocation{.manager = std::string(name.short_name)};
  allocation.job_id = environment.Get(name.job_id).value_or("");
  allocation.kind = "batch script";
  allocation.num_nodes = static_cast<int>(hosts.hosts);
  return allocation;
}

}  // namespace muster::resolve
