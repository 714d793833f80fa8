// The identity of this process within its launch: the result of resolving. A value; the terms are PyTorch's.
#pragma once

#include <optional>
#include <string>

#include "comm/address.h"

namespace muster {

struct JobIdentity {
  std::string key;   // "slurm:4.0:0": launcher, job.step, restart; the launch's name for users and logs
  std::string id;    // the job's number or run id; empty if there is none
  std::string step;  // empty if there is none
  int restart = 0;

  friend bool operator==(const JobIdentity&, const JobIdentity&) = default;
};

struct RankTuple {
  std::string launcher;  // "slurm", "torchrun", ..., "none"
  int rank = 0;
  int world_size = 1;
  // Absent if nothing in the environment can determine it before the ranks have met.
  std::optional<int> local_rank;
  std::optional<int> local_world_size;
  std::optional<int> node_rank;
  std::optional<int> num_nodes;
  std::optional<std::string> node;  // the launcher's name for this node, else the host's own
  JobIdentity job;
  std::optional<Endpoint> master;  // MASTER_ADDR:MASTER_PORT if the launcher gave both

  friend bool operator==(const RankTuple&, const RankTuple&) = default;
};

}  // namespace muster
