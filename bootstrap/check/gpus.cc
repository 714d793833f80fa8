#include "bootstrap/check/gpus.h"

#include <algorithm>

namespace muster::check {

void AddGpuFacts(const std::vector<nccl::GpuHello>& hellos, Evidence& evidence) {
  if (hellos.empty()) return;
  for (size_t node = 0; node < evidence.nodes.size(); ++node) {
    const std::vector<int> ranks = evidence.roster.RanksOn(static_cast<int>(node));
    const nccl::GpuHello& hello = hellos.at(static_cast<size_t>(ranks.front()));
    NodeFacts& facts = evidence.nodes[node];
    facts.gpu = hello.verdict.name;
    facts.gpu_problem = hello.verdict.problem;
    facts.driver = hello.driver;
    facts.cuda = hello.cuda;
    facts.nccl = hello.nccl;
  }
}

}  // namespace muster::check
