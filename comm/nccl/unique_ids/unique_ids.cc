#include "comm/nccl/unique_ids/unique_ids.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "comm/group/gather_fields.h"

namespace muster::nccl {
namespace {

constexpr auto kForEver = std::numeric_limits<uint32_t>::max();

uint32_t MillisecondsLeft(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.Remaining()).count();
  return static_cast<uint32_t>(std::min<int64_t>(left, kForEver));
}

// Each part contains the time for which its rank will wait.
Deadline Earliest(const std::vector<NcclIdPart>& parts, Deadline mine) {
  const uint32_t least = std::ranges::min(parts, {}, &NcclIdPart::milliseconds_left).milliseconds_left;
  return least == kForEver ? mine : mine.EarlierOf(Deadline::After(std::chrono::milliseconds(least)));
}

NcclIdPart Draw(NcclApi& nccl, bool mine_to_draw, Deadline deadline) {
  NcclIdPart part;
  part.version = nccl.version();
  part.milliseconds_left = MillisecondsLeft(deadline);
  if (!mine_to_draw) return part;
  NcclId id = {};
  const NcclResult result = nccl.GetUniqueId(&id);
  if (result == NcclResult::kSuccess) {
    part.id = id;
    return part;
  }
  part.failure = nccl.Describe(result);
  if (const std::string last = nccl.LastError(); !last.empty()) part.failure += ": " + last;
  return part;
}

// NCCL itself refuses a mixture only if the versions are compatible up to that point.
Status CheckVersions(const Roster& roster, const std::vector<NcclIdPart>& parts) {
  const auto other = std::ranges::find_if(
      parts, [&](const NcclIdPart& part) { return part.version != parts.front().version; });
  if (other == parts.end()) return {};
  return WithHint(
      Fail(Code::kDisagreement, "{} has NCCL {}, {} has NCCL {}", DescribeRank(roster, 0),
           ToString(parts.front().version), DescribeRank(roster, static_cast<int>(other - parts.begin())),
           ToString(other->version)),
      "install the same version on all nodes, or name its folder with NCCL_HOME");
}

}  // namespace

std::vector<int> NcclIdOwners(int size, bool scalable) {
  const int ids = scalable ? (size + kRanksPerNcclId - 1) / kRanksPerNcclId : 1;
  const int least = size / ids;
  const int larger_blocks = size % ids;
  std::vector<int> owners;
  int first = 0;
  for (int i = 0; i < ids; ++i) {
    owners.push_back(first);
    first += least + (i < larger_blocks ? 1 : 0);
  }
  return owners;
}

Result<NcclTerms> ExchangeNcclIds(Group& group, NcclApi& nccl, std::string_view name, Deadline deadline) {
  const Roster& roster = group.roster();
  const std::vector<int> owners = NcclIdOwners(roster.size(), nccl.HasInitScalable());
  const bool mine_to_draw = std::ranges::find(owners, group.rank()) != owners.end();
  MUSTER_TRY(const std::vector<NcclIdPart> parts,
             GatherFields(group, name, Draw(nccl, mine_to_draw, deadline), "NCCL id", deadline));
  MUSTER_CHECK(CheckVersions(roster, parts));
  NcclTerms terms{{}, Earliest(parts, deadline)};
  for (const int owner : owners) {
    const NcclIdPart& part = parts[static_cast<size_t>(owner)];
    if (!part.id) {
      return Fail(Code::kSystem, "{} could not draw an id of NCCL: {}", DescribeRank(roster, owner),
                  part.failure.empty() ? "it did not try" : part.failure);
    }
    terms.ids.push_back(*part.id);
  }
  return terms;
}

}  // namespace muster::nccl
