// How many threads a program's libraries may start: OMP_NUM_THREADS.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bootstrap/config/config.h"
#include "comm/roster.h"

namespace muster {

struct ThreadFacts {
  int cpus = 0;         // that this process may use; 0: unknown
  int sharers = 1;      // ranks of this node that may use some of them, the own ones included
  int local_ranks = 1;  // of this node
  std::optional<int> cpus_per_task = {};  // SLURM_CPUS_PER_TASK
  int ranks_per_task = 1;
  std::optional<int> cpus_of_job = {};  // on this node: SLURM_CPUS_ON_NODE
};

// Absent: not to be set, because the rank may use every CPU that the library finds by itself.
std::optional<int> ThreadsOf(const config::RunThreads& wanted, const ThreadFacts& facts);

// Of this process, by its affinity mask; 0: unknown.
int UsableCpus();

// All of that for a rank that this process starts; `environment` is this process's.
std::optional<int> ThreadsOfRank(const config::RunThreads& wanted, const Roster& roster, int rank,
                                 const std::map<std::string, std::string, std::less<>>& environment);

}  // namespace muster
