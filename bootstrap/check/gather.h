// Gathers facts of this process and its node. The only file of this room that queries the operating system.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/check/findings/evidence.h"
#include "bootstrap/check/findings/facts.h"
#include "bootstrap/check/gpu/gpu_check.h"
#include "comm/base/error.h"
#include "comm/nccl/devices/gpu_hello.h"

namespace muster::check {

// `what`, for the error: "open files". Error: kSystem.
Result<Limit> LimitOf(__rlimit_resource resource, std::string_view what);

// Does not block. Error: kSystem.
Result<RankFacts> FactsOfThisProcess(std::optional<std::string> visible_devices);

// `addresses`: this node's in the roster, best first; empty if there is one node only. Unknown facts stay
// empty. Reads /sys and /dev; does not block.
NodeFacts FactsOfThisNode(const std::vector<std::string>& addresses);

// The GPU of each rank, for CollectOptions; empty if a rank has none, since the group then uses no GPU.
std::vector<GpuToCheck> GpusToCheck(const std::vector<nccl::GpuHello>& hellos);

// Of each node, the facts in the second hello of its first rank. `hellos` is empty if no rank searched for
// GPUs.
void AddGpuFacts(const std::vector<nccl::GpuHello>& hellos, Evidence& evidence);

}  // namespace muster::check
