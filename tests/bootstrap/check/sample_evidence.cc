#include "tests/bootstrap/check/sample_evidence.h"

#include <fmt/core.h>

namespace muster::check {

Evidence SampleEvidence(int nodes, int ranks_on_each) {
  Evidence evidence;
  evidence.launcher = "slurm";
  evidence.job = "slurm:4.0:0";
  evidence.formed_in = std::chrono::milliseconds(200);
  evidence.took = std::chrono::milliseconds(1500);
  evidence.trials = {"sum of all ranks", "Barrier"};
  for (int node = 0; node < nodes; ++node) {
    evidence.roster.nodes.push_back(
        {fmt::format("gpu{:02}", node + 1), {fmt::format("10.1.0.{}", node + 1)}});
    evidence.nodes.push_back(
        {"0.1.0", "6.1.0", "2.36", "eth0", 1500, uint64_t{8} << 30, uint64_t{16} << 30, 0, false});
    if (nodes > 1) evidence.links.push_back({{}, nodes - 1, {45'000, 0, 1'000'000'000, 1'100'000'000}});
    for (int local = 0; local < ranks_on_each; ++local) {
      evidence.roster.members.push_back({node, local, 1000, {}});
      evidence.ranks.push_back({4096, 65536, kUnlimited, 2, {}});
    }
  }
  return evidence;
}

}  // namespace muster::check
