// Ports that other software of the same job will bind by a rule of its own, and that muster therefore leaves
// alone: for the group's root, for the store, and for the program's own store.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::join {

// Of a Slurm job: that of JAX's coordinator, which process 0 binds on the job's first node. Pure, and the same
// on every rank. Empty where the id is no number.
//
// Source: jax/_src/clusters/slurm_cluster.py, get_coordinator_address: job_id % 2**12 + (65535 - 2**12 + 1).
std::vector<uint16_t> PortsOfOthers(std::string_view slurm_job_id);

}  // namespace muster::join
