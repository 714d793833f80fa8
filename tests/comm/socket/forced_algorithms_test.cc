// Every algorithm of every operation, at lengths it would not be taken at too, in worlds of 1 to 17 ranks on
// even, uneven and cyclic nodes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/socket/algorithms/choice.h"
#include "tests/comm/socket/collective_checks.h"

namespace muster::socket {
namespace {

Layout LayoutOfRanks(const NamedLayout& named) {
  const int nodes = *std::ranges::max_element(named.node_of_rank) + 1;
  return {static_cast<int>(named.node_of_rank.size()), nodes};
}

std::vector<Algorithm> Fitting(Operation operation, const Layout& layout) {
  std::vector<Algorithm> algorithms = AlgorithmsOf(operation);
  std::erase_if(algorithms, [&](Algorithm algorithm) { return !Fits(operation, algorithm, layout); });
  return algorithms;
}

// The `turn`th algorithm of each operation: after as many turns as the richest has, each has had its own.
ForcedAlgorithms ForcedAt(const Layout& layout, size_t turn) {
  ForcedAlgorithms forced;
  for (uint8_t number = 0; number < kOperationCount; ++number) {
    const Operation operation = static_cast<Operation>(number);
    const std::vector<Algorithm> algorithms = Fitting(operation, layout);
    if (!algorithms.empty()) forced[operation] = algorithms[turn % algorithms.size()];
  }
  return forced;
}

size_t Turns(const Layout& layout) {
  size_t turns = 0;
  for (uint8_t number = 0; number < kOperationCount; ++number) {
    turns = std::max(turns, Fitting(static_cast<Operation>(number), layout).size());
  }
  return turns;
}

std::string Describe(const ForcedAlgorithms& forced) {
  std::string text;
  for (const auto& [operation, algorithm] : forced) {
    text += fmt::format("{}: {}; ", Name(operation), Name(algorithm));
  }
  return text;
}

class ForcedAlgorithmsTest : public testing::TestWithParam<NamedLayout> {};

TEST_P(ForcedAlgorithmsTest, AreRightEverywhere) {
  const Layout layout = LayoutOfRanks(GetParam());
  Planner planner(static_cast<uint32_t>(layout.ranks * 100 + layout.nodes), layout.ranks);
  for (size_t turn = 0; turn < Turns(layout); ++turn) {
    SocketOptions options = TestOptions();
    options.algorithms = ForcedAt(layout, turn);
    SCOPED_TRACE(Describe(options.algorithms));
    FakeWorld world(GetParam().node_of_rank, options);
    const Plan plan = planner.Next();
    SCOPED_TRACE(Describe(plan, layout.ranks));
    CheckAll(world, plan);
  }
}

// Also longer than any segment or buffer on the way, and not a multiple of them.
TEST(ForcedAlgorithms, MoveLongData) {
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({1, 1}), BlockLayout({3, 2})}) {
    const Layout ranks = LayoutOfRanks({"", layout});
    for (size_t turn = 0; turn < Turns(ranks); ++turn) {
      SocketOptions options = TestOptions();
      options.algorithms = ForcedAt(ranks, turn);
      SCOPED_TRACE(Describe(options.algorithms));
      FakeWorld world(layout, options);
      const Plan plan{DataType::kF32, ReduceOp::kSum, 333'333, world.size() - 1, 7};
      CheckReductions(world, plan);
      CheckBroadcastAndScatter(world, plan);
    }
  }
}

// Bit for bit, on every rank and in the next run.
TEST(ForcedAlgorithms, RoundTheSameEverywhere) {
  for (const std::vector<int>& nodes :
       {BlockLayout({5}), BlockLayout({3, 1, 3}), BlockLayout({1, 1, 1, 1}), BlockLayout({4, 4})}) {
    const Layout layout = LayoutOfRanks({"", nodes});
    for (size_t turn = 0; turn < Turns(layout); ++turn) {
      SocketOptions options = TestOptions();
      options.algorithms = ForcedAt(layout, turn);
      SCOPED_TRACE(Describe(options.algorithms));
      FakeWorld one(nodes, options);
      FakeWorld another(nodes, options);
      for (const DataType type : {DataType::kF16, DataType::kBF16, DataType::kF32, DataType::kF64}) {
        for (const ReduceOp operation : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kAvg}) {
          EXPECT_TRUE(ReduceNumbersThatRound(one, type, operation) ==
                      ReduceNumbersThatRound(another, type, operation))
              << Name(type) << " " << Name(operation);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ForcedAlgorithmsTest, testing::ValuesIn(ManyLayouts()), NameOf);

}  // namespace
}  // namespace muster::socket
