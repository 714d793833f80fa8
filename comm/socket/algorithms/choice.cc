#include "comm/socket/algorithms/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "comm/base/lists.h"
#include "comm/log/log.h"

namespace muster::socket {
namespace {

// Lengths at which the best algorithm changes; measured on loopback and Unix sockets.

// Up to here a message costs its latency: fewest steps win.
constexpr size_t kShortBytes = size_t{16} * 1024;
// From here on, for each rank, a ring's bandwidth beats its number of steps.
constexpr size_t kRingBytesPerRank = size_t{16} * 1024;
// The same for blocks that are gathered or scattered anyway.
constexpr size_t kRingBlockBytes = size_t{4} * 1024;
// From here on, for each rank, a pipelined chain beats a tree.
constexpr size_t kChainBytesPerRank = size_t{256} * 1024;
// Up to this number, ranks on one node exchange data directly instead of through their first.
constexpr int kFlatRanks = 4;
// Up to here AllToAll forwards blocks instead of sending each to its destination.
constexpr size_t kBruckBlockBytes = 1024;
// Above this number of ranks, pairwise connections could exhaust the descriptors (1024 is a common limit).
constexpr int kMaxPairwiseRanks = 512;
// More nodes than this do not all connect to the root.
constexpr int kMaxFlatNodes = 128;

size_t PerRank(const Layout& layout, size_t bytes) { return bytes / static_cast<size_t>(layout.ranks); }

// fits: the algorithm works on the layout
bool Anywhere(const Layout&) { return true; }
bool OnFewNodes(const Layout& layout) { return layout.nodes <= kMaxFlatNodes; }
bool OnFewRanks(const Layout& layout) { return layout.ranks <= kMaxPairwiseRanks; }

// If memory turns out not to be shared, the other rows remain.
bool OnOneNode(const Layout& layout) { return layout.single_node() && layout.ranks > 1; }
bool OnSharedNodes(const Layout& layout) { return layout.nodes > 1 && layout.ranks > layout.nodes; }

// best: the row to take if no earlier row was
bool Always(const Layout&, size_t) { return true; }
bool Never(const Layout&, size_t) { return false; }
bool Shared(const Layout& layout, size_t) { return layout.shares_memory; }
bool SharedShort(const Layout& layout, size_t bytes) { return layout.shares_memory && bytes <= kShortBytes; }
bool Short(const Layout&, size_t bytes) { return bytes <= kShortBytes; }
bool ShortAmongFew(const Layout& layout, size_t bytes) {
  const bool few = layout.single_node() && layout.ranks <= kFlatRanks;
  return bytes <= kShortBytes && (layout.one_rank_per_node() || few);
}
bool LongForRing(const Layout& layout, size_t bytes) { return PerRank(layout, bytes) >= kRingBytesPerRank; }
bool FlatLayout(const Layout& layout, size_t) { return layout.one_rank_per_node() || layout.single_node(); }
bool LongForChain(const Layout& layout, size_t bytes) { return PerRank(layout, bytes) >= kChainBytesPerRank; }
bool LongBlockOrFew(const Layout& layout, size_t block) {
  return layout.ranks <= kFlatRanks || block >= kRingBlockBytes;
}
// With short ones the root is spared a message for each node.
bool LongForNode(const Layout& layout, size_t block) {
  return block * static_cast<size_t>(layout.ranks) / static_cast<size_t>(layout.nodes) > kShortBytes;
}
bool ShortBlockAmongMany(const Layout& layout, size_t block) {
  return layout.ranks > kFlatRanks && block <= kBruckBlockBytes;
}

struct Row {
  Operation operation;
  Algorithm algorithm;
  bool (*fits)(const Layout& layout);
  bool (*best)(const Layout& layout, size_t bytes);
};

// For each operation the first row that fits and is best; its last row always is.
constexpr Row kTable[] = {
    {Operation::kBarrier, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kBarrier, Algorithm::kSharedMemoryTree, OnSharedNodes, Shared},
    {Operation::kBarrier, Algorithm::kRecursiveDoubling, Anywhere, ShortAmongFew},
    {Operation::kBarrier, Algorithm::kHierarchicalRecursiveDoubling, Anywhere, Always},

    {Operation::kAllReduce, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kAllReduce, Algorithm::kSharedMemoryTree, OnSharedNodes, SharedShort},
    {Operation::kAllReduce, Algorithm::kSharedMemoryStreams, OnSharedNodes, Shared},
    {Operation::kAllReduce, Algorithm::kRecursiveDoubling, Anywhere, ShortAmongFew},
    {Operation::kAllReduce, Algorithm::kHierarchicalRecursiveDoubling, Anywhere, Short},
    {Operation::kAllReduce, Algorithm::kRing, Anywhere, LongForRing},
    {Operation::kAllReduce, Algorithm::kRabenseifner, Anywhere, FlatLayout},
    {Operation::kAllReduce, Algorithm::kHierarchicalRabenseifner, Anywhere, Always},

    {Operation::kBroadcast, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kBroadcast, Algorithm::kSharedMemoryTree, OnSharedNodes, Shared},
    {Operation::kBroadcast, Algorithm::kBinomialFlat, Anywhere, Short},
    {Operation::kBroadcast, Algorithm::kChain, Anywhere, LongForChain},
    {Operation::kBroadcast, Algorithm::kBinomial, Anywhere, Always},

    {Operation::kReduce, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kReduce, Algorithm::kSharedMemoryTree, OnSharedNodes, Shared},
    {Operation::kReduce, Algorithm::kBinomialFlat, Anywhere, Short},
    {Operation::kReduce, Algorithm::kChain, Anywhere, LongForChain},
    {Operation::kReduce, Algorithm::kBinomial, Anywhere, Always},

    {Operation::kGather, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kGather, Algorithm::kFlat, OnFewNodes, LongForNode},
    {Operation::kGather, Algorithm::kBinomialFlat, Anywhere, Always},

    {Operation::kScatter, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kScatter, Algorithm::kFlat, OnFewNodes, LongForNode},
    {Operation::kScatter, Algorithm::kBinomialFlat, Anywhere, Always},

    {Operation::kAllGather, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kAllGather, Algorithm::kRing, Anywhere, LongBlockOrFew},
    {Operation::kAllGather, Algorithm::kGatherBroadcast, Anywhere, Always},

    {Operation::kReduceScatter, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kReduceScatter, Algorithm::kRing, Anywhere, LongBlockOrFew},
    {Operation::kReduceScatter, Algorithm::kReduceScatter, Anywhere, Always},

    {Operation::kAllToAll, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kAllToAll, Algorithm::kBruck, Anywhere, ShortBlockAmongMany},
    {Operation::kAllToAll, Algorithm::kPairwise, OnFewRanks, Always},
    {Operation::kAllToAll, Algorithm::kBruck, Anywhere, Always},

    // A rank has only its own length.
    {Operation::kGatherBytes, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kGatherBytes, Algorithm::kBinomialFlat, Anywhere, Always},
    {Operation::kGatherBytes, Algorithm::kBinomial, Anywhere, Never},
    {Operation::kAllGatherBytes, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kAllGatherBytes, Algorithm::kGatherBroadcast, Anywhere, Always},
    {Operation::kBroadcastBytes, Algorithm::kSharedMemory, OnOneNode, Shared},
    {Operation::kBroadcastBytes, Algorithm::kBinomial, Anywhere, Always},
    {Operation::kBroadcastBytes, Algorithm::kBinomialFlat, Anywhere, Never},
};

constexpr std::array<std::string_view, kAlgorithmCount> kNames = {"shared-memory",
                                                                  "shared-memory-tree",
                                                                  "shared-memory-streams",
                                                                  "recursive-doubling",
                                                                  "rabenseifner",
                                                                  "ring",
                                                                  "hierarchical-recursive-doubling",
                                                                  "hierarchical-rabenseifner",
                                                                  "flat",
                                                                  "binomial",
                                                                  "binomial-flat",
                                                                  "chain",
                                                                  "reduce-scatter",
                                                                  "gather-broadcast",
                                                                  "bruck",
                                                                  "pairwise"};

std::string NamesOf(const std::vector<Algorithm>& algorithms) {
  std::vector<std::string_view> names;
  std::ranges::transform(algorithms, std::back_inserter(names), [](Algorithm a) { return Name(a); });
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string DescribeLength(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

// "AllReduce f32[1048576] (4.0 MiB)"
std::string DescribeKind(const Call& call) {
  if (call.count == 0) return std::string(Name(call.operation));
  return fmt::format("{} {}[{}] ({})", Name(call.operation), Name(call.type), call.count,
                     DescribeLength(call.count * SizeOf(call.type)));
}

Status CheckForced(Operation operation, Algorithm algorithm, const Layout& layout) {
  if (Fits(operation, algorithm, layout)) return {};
  const std::vector<Algorithm> known = AlgorithmsOf(operation);
  if (std::ranges::find(known, algorithm) == known.end()) {
    return WithHint(Fail(Code::kUsage, "{} has no algorithm {}", Name(operation), Name(algorithm)),
                    known.empty() ? "it cannot be forced" : "one of: " + NamesOf(known));
  }
  return Fail(Code::kUsage, "{} cannot use {} on {}", Name(operation), Name(algorithm), Describe(layout));
}

bool UsesMemory(Algorithm algorithm) {
  return algorithm == Algorithm::kSharedMemory || algorithm == Algorithm::kSharedMemoryTree ||
         algorithm == Algorithm::kSharedMemoryStreams;
}

}  // namespace

std::string_view Name(Algorithm algorithm) { return kNames.at(static_cast<size_t>(algorithm)); }

Layout LayoutOf(const Topology& topology) {
  return {topology.size(), static_cast<int>(topology.nodes().size())};
}

std::string Describe(const Layout& layout) {
  return fmt::format("{}, {}", Counted(layout.ranks, "rank"), Counted(layout.nodes, "node"));
}

std::vector<Algorithm> AlgorithmsOf(Operation operation) {
  std::vector<Algorithm> algorithms;
  for (const Row& row : kTable) {
    if (row.operation != operation) continue;
    if (std::ranges::find(algorithms, row.algorithm) == algorithms.end()) algorithms.push_back(row.algorithm);
  }
  return algorithms;
}

bool Fits(Operation operation, Algorithm algorithm, const Layout& layout) {
  return std::ranges::any_of(kTable, [&](const Row& row) {
    return row.operation == operation && row.algorithm == algorithm && row.fits(layout);
  });
}

TreeShape ShapeOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kFlat:
      return {Shape::kFlat, Shape::kFlat};
    case Algorithm::kBinomialFlat:
      return {Shape::kBinomial, Shape::kFlat};
    case Algorithm::kChain:
      return {Shape::kChain, Shape::kChain};
    default:
      return {Shape::kBinomial, Shape::kBinomial};
  }
}

Result<Chooser> Chooser::Create(const Layout& layout, const ForcedAlgorithms& forced) {
  for (const auto& [operation, algorithm] : forced) MUSTER_CHECK(CheckForced(operation, algorithm, layout));
  return Chooser(layout, forced);
}

Algorithm Chooser::Choose(Operation operation, size_t bytes) const {
  if (!forced_.empty()) {
    if (const auto found = forced_.find(operation); found != forced_.end()) {
      if (layout_.shares_memory || !UsesMemory(found->second)) return found->second;
    }
  }
  Algorithm last{};
  for (const Row& row : kTable) {
    if (row.operation != operation) continue;
    last = row.algorithm;
    if (row.fits(layout_) && row.best(layout_, bytes)) return row.algorithm;
  }
  return last;
}

bool Chooser::WantsMemory(Operation operation, size_t bytes) const {
  if (AlgorithmsOf(operation).empty()) return false;
  Chooser sharing = *this;
  sharing.SetSharesMemory(true);
  return UsesMemory(sharing.Choose(operation, bytes));
}

void Chooser::Announce(const Call& call, Algorithm algorithm) {
  const size_t choice =
      static_cast<size_t>(call.operation) * kAlgorithmCount + static_cast<size_t>(algorithm);
  if (announced_[choice] || !LogEnabled(LogLevel::kDebug)) return;
  announced_.set(choice);
  LogDebug("{} on {}: {}", DescribeKind(call), Describe(layout_), Name(algorithm));
}

}  // namespace muster::socket
