#include "bootstrap/resources/threads.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/system/cpus.h"

namespace muster {
namespace {

std::optional<int> CpusIn(std::string_view name,
                          const std::map<std::string, std::string, std::less<>>& environment) {
  const auto variable = environment.find(name);
  if (variable == environment.end()) return std::nullopt;
  const auto cpus = ParseInteger<int>(variable->second);
  return cpus && *cpus > 0 ? std::optional(*cpus) : std::nullopt;
}

}  // namespace

std::optional<int> ThreadsOf(const config::RunThreads& wanted, const ThreadFacts& facts) {
  if (wanted.choice == config::RunThreads::Choice::kNone) return std::nullopt;
  if (wanted.choice == config::RunThreads::Choice::kCount) return wanted.count;
  // The least of these. A step may have fewer CPUs for each task than its job requested. If no plug-in of
  // Slurm's binds tasks, a task may use the CPUs of other jobs.
  std::optional<int> threads;
  const auto limit = [&threads](int cpus, int ranks) {
    const int share = std::max(1, cpus / std::max(ranks, 1));
    threads = std::min(threads.value_or(share), share);
  };
  if (facts.cpus_per_task) limit(*facts.cpus_per_task, facts.ranks_per_task);
  if (facts.cpus_of_job && (facts.cpus == 0 || *facts.cpus_of_job < facts.cpus))
    limit(*facts.cpus_of_job, facts.local_ranks);
  if (facts.local_ranks == 1 && !threads) return std::nullopt;
  if (facts.cpus > 0) limit(facts.cpus, facts.sharers);
  return threads.value_or(1);
}

int UsableCpus() {
  const auto cpus = CpusOf();
  return cpus ? static_cast<int>(cpus->size()) : 0;
}

std::optional<int> ThreadsOfRank(const config::RunThreads& wanted, const Roster& roster, int rank,
                                 const std::map<std::string, std::string, std::less<>>& environment) {
  if (environment.contains("OMP_NUM_THREADS")) return std::nullopt;
  std::vector<pid_t> processes;
  for (const int local : roster.RanksOn(roster.NodeOf(rank))) {
    processes.push_back(roster.members[static_cast<size_t>(local)].pid);
  }
  const pid_t own = roster.members[static_cast<size_t>(rank)].pid;
  ThreadFacts facts{UsableCpus(), CountSharers(processes), static_cast<int>(processes.size())};
  facts.cpus_per_task = CpusIn("SLURM_CPUS_PER_TASK", environment);
  facts.cpus_of_job = CpusIn("SLURM_CPUS_ON_NODE", environment);
  // A batch script is no task, and the ranks that it starts may each be what a task was to be.
  if (environment.contains("SLURM_STEP_ID"))
    facts.ranks_per_task = static_cast<int>(std::ranges::count(processes, own));
  const auto threads = ThreadsOf(wanted, facts);
  if (threads) {
    LogDebug("OMP_NUM_THREADS={} for {}: {} CPUs, shared by {} ranks (run.threads)", *threads,
             DescribeRank(roster, rank), facts.cpus, facts.sharers);
  }
  return threads;
}

}  // namespace muster
