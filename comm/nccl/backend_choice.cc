#include "comm/nccl/backend_choice.h"

#include <algorithm>
#include <iterator>

namespace muster::nccl {
namespace {

constexpr size_t kNamedNodes = 8;

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamedNodes); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamedNodes) text += fmt::format(" and {} more", names.size() - kNamedNodes);
  return text;
}

// The nodes with at least one rank whose GPU is usable, or is not.
std::vector<std::string> NodesWith(bool usable, const Roster& roster,
                                   const std::vector<GpuVerdict>& verdicts) {
  std::vector<bool> has(roster.nodes.size());
  for (int rank = 0; rank < roster.size(); ++rank) {
    if (verdicts[static_cast<size_t>(rank)].usable() == usable)
      has[static_cast<size_t>(roster.NodeOf(rank))] = true;
  }
  std::vector<std::string> names;
  for (size_t node = 0; node < has.size(); ++node) {
    if (has[node]) names.push_back(roster.nodes[node].name);
  }
  return names;
}

// "rank 3 on gpu01: no GPU".
std::string FirstProblem(const Roster& roster, const std::vector<GpuVerdict>& verdicts) {
  const auto without = std::ranges::find_if_not(verdicts, &GpuVerdict::usable);
  const int rank = static_cast<int>(without - verdicts.begin());
  return fmt::format("{}: {}", DescribeRank(roster, rank), without->problem);
}

Result<BackendChoice> TakeNccl(const Roster& roster, const std::vector<GpuVerdict>& verdicts,
                               bool share_device) {
  std::vector<std::string> uuids;
  std::ranges::transform(verdicts, std::back_inserter(uuids), &GpuVerdict::uuid);
  MUSTER_CHECK(CheckDistinctDevices(roster, uuids, share_device));
  return BackendChoice{Backend::kNccl,
                       share_device ? "every rank has a GPU" : "every rank has a GPU of its own"};
}

tl::unexpected<Error> Mixture(const Roster& roster, const std::vector<GpuVerdict>& verdicts) {
  return WithHint(
      Fail(Code::kDisagreement, "some ranks have a GPU and some have none: with on {}; without on {} ({})",
           JoinNames(NodesWith(true, roster, verdicts)), JoinNames(NodesWith(false, roster, verdicts)),
           FirstProblem(roster, verdicts)),
      "leave the nodes without out (--exclude), or set backend: socket");
}

}  // namespace

Result<BackendChoice> AgreeOnBackend(Backend configured, const Roster& roster,
                                     const std::vector<GpuVerdict>& verdict_of_rank, bool share_device) {
  if (configured == Backend::kSocket) return BackendChoice{Backend::kSocket, "as configured"};
  if (verdict_of_rank.size() != static_cast<size_t>(roster.size())) {
    return Fail(Code::kInternal, "there are {} verdicts on GPUs for {} ranks", verdict_of_rank.size(),
                roster.size());
  }
  if (std::ranges::all_of(verdict_of_rank, &GpuVerdict::usable)) {
    return TakeNccl(roster, verdict_of_rank, share_device);
  }
  const std::string problem = FirstProblem(roster, verdict_of_rank);
  if (configured == Backend::kNccl) {
    return WithHint(Fail(Code::kConfiguration, "backend: nccl needs a GPU for every rank; {}", problem),
                    "set backend: auto or backend: socket to avoid NCCL");
  }
  if (std::ranges::none_of(verdict_of_rank, &GpuVerdict::usable)) {
    return BackendChoice{Backend::kSocket, "no rank has a GPU; " + problem};
  }
  return Mixture(roster, verdict_of_rank);
}

Status CheckNcclProtection(Protect protect, const Roster& roster) {
  if (protect != Protect::kAll || roster.nodes.size() <= 1) return {};
  return WithHint(
      Fail(Code::kConfiguration,
           "rendezvous.protect is all, but the backend of this group is nccl, and NCCL does not "
           "encrypt what it sends between its {} nodes",
           roster.nodes.size()),
      "set backend: socket, which seals it; or rendezvous.protect: control, on a network that you "
      "trust");
}

}  // namespace muster::nccl
