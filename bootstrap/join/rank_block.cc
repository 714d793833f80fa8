#include "bootstrap/join/rank_block.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace muster::join {
namespace {

void Multiply(int ranks, Placement& placement) {
  for (Placement::Node& node : placement.nodes.own()) node.tasks *= ranks;
  std::vector<int> node_of_rank;
  for (const int node : placement.node_of_rank)
    node_of_rank.insert(node_of_rank.end(), static_cast<size_t>(ranks), node);
  placement.node_of_rank = std::move(node_of_rank);
}

}  // namespace

void ExpandToBlock(const RankBlock& block, rendezvous::JoinRequest& request) {
  rendezvous::Agreement& agreement = request.self.agreement;
  agreement.world_size = block.world_size();
  Bytes payload = std::move(request.self.claims.front().payload);
  request.self.claims.clear();
  for (int local = 0; local < block.ranks; ++local) {
    request.self.claims.push_back({block.first_rank() + local, local, block.ranks, {}});
  }
  request.self.claims.front().payload = std::move(payload);
  request.meeting.job_key += fmt::format(" per-node={}", block.ranks);
  agreement.job_key = request.meeting.job_key;
  Multiply(block.ranks, request.meeting.placement);
}

}  // namespace muster::join
