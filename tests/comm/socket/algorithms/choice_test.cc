#include "comm/socket/algorithms/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

using testing::ElementsAre;

constexpr size_t kKiB = 1024;

Algorithm Best(const Layout& layout, Operation operation, size_t bytes) {
  return Chooser::Create(layout, {})->Choose(operation, bytes);
}

TEST(Choose, TakesTheFirstOfTheTableThatIsBest) {
  const Layout pair{2, 2};
  const Layout node{8, 1};
  const Layout cluster{16, 4};
  EXPECT_EQ(Best(pair, Operation::kAllReduce, 8), Algorithm::kRecursiveDoubling);
  EXPECT_EQ(Best(pair, Operation::kAllReduce, 1024 * kKiB), Algorithm::kRing);
  EXPECT_EQ(Best(node, Operation::kAllReduce, 8), Algorithm::kHierarchicalRecursiveDoubling);
  EXPECT_EQ(Best(node, Operation::kAllReduce, 64 * kKiB), Algorithm::kRabenseifner);
  EXPECT_EQ(Best(cluster, Operation::kAllReduce, 64 * kKiB), Algorithm::kHierarchicalRabenseifner);
  EXPECT_EQ(Best(cluster, Operation::kAllReduce, 1024 * kKiB), Algorithm::kRing);
  EXPECT_EQ(Best(cluster, Operation::kBarrier, 0), Algorithm::kHierarchicalRecursiveDoubling);
  EXPECT_EQ(Best(cluster, Operation::kBroadcast, 64 * kKiB), Algorithm::kBinomial);
  EXPECT_EQ(Best(cluster, Operation::kReduce, 64 * 1024 * kKiB), Algorithm::kChain);
  EXPECT_EQ(Best(cluster, Operation::kGather, 8), Algorithm::kBinomialFlat);
  EXPECT_EQ(Best(cluster, Operation::kGather, 64 * kKiB), Algorithm::kFlat);
  EXPECT_EQ(Best(cluster, Operation::kAllToAll, 8), Algorithm::kBruck);
  EXPECT_EQ(Best(cluster, Operation::kAllToAll, 64 * kKiB), Algorithm::kPairwise);
}

TEST(Choose, GoesThroughSharedMemoryWhereThereIsSome) {
  auto chooser = Chooser::Create({16, 4}, {});
  ASSERT_TRUE(chooser);
  EXPECT_TRUE(chooser->WantsMemory(Operation::kBarrier, 0));
  EXPECT_FALSE(chooser->WantsMemory(Operation::kAllToAll, 8));
  EXPECT_FALSE(chooser->WantsMemory(Operation::kSplit, 0));
  chooser->SetSharesMemory(true);
  EXPECT_EQ(chooser->Choose(Operation::kAllReduce, 8), Algorithm::kSharedMemoryTree);
  EXPECT_EQ(chooser->Choose(Operation::kAllReduce, 1024 * kKiB), Algorithm::kSharedMemoryStreams);
  EXPECT_EQ(chooser->Choose(Operation::kAllToAll, 8), Algorithm::kBruck);
  auto forced = Chooser::Create({4, 1}, {{Operation::kBarrier, Algorithm::kRecursiveDoubling},
                                         {Operation::kReduce, Algorithm::kSharedMemory}});
  ASSERT_TRUE(forced);
  EXPECT_FALSE(forced->WantsMemory(Operation::kBarrier, 0));
  EXPECT_NE(forced->Choose(Operation::kReduce, 8), Algorithm::kSharedMemory) << "there is none";
  forced->SetSharesMemory(true);
  EXPECT_EQ(forced->Choose(Operation::kReduce, 8), Algorithm::kSharedMemory);
  EXPECT_EQ(forced->Choose(Operation::kAllToAll, 8), Algorithm::kSharedMemory);
}

TEST(Choose, KeepsWithinTheDescriptorsOfAProcess) {
  EXPECT_EQ(Best({2048, 32}, Operation::kAllToAll, 64 * kKiB), Algorithm::kBruck);
  EXPECT_EQ(Best({2048, 256}, Operation::kScatter, 64 * kKiB), Algorithm::kBinomialFlat);
}

TEST(Choose, GivesWhatFitsForEveryOperationOfTheTable) {
  for (const Layout& layout : {Layout{1, 1}, Layout{2, 1}, Layout{9, 3}, Layout{1000, 500}}) {
    for (uint8_t number = 0; number < kOperationCount; ++number) {
      const Operation operation = static_cast<Operation>(number);
      if (AlgorithmsOf(operation).empty()) continue;
      for (size_t bytes = 0; bytes < (size_t{1} << 40); bytes = bytes * 2 + 1) {
        EXPECT_TRUE(Fits(operation, Best(layout, operation, bytes), layout)) << Name(operation) << bytes;
      }
    }
  }
}

TEST(AlgorithmsOf, AreNamedOnceEach) {
  EXPECT_THAT(AlgorithmsOf(Operation::kAllToAll),
              ElementsAre(Algorithm::kSharedMemory, Algorithm::kBruck, Algorithm::kPairwise));
  EXPECT_THAT(AlgorithmsOf(Operation::kSend), ElementsAre());
  for (size_t i = 0; i < kAlgorithmCount; ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(Name(static_cast<Algorithm>(i)), Name(static_cast<Algorithm>(j)));
    }
  }
}

Error Refused(const Layout& layout, const ForcedAlgorithms& forced) {
  const auto chooser = Chooser::Create(layout, forced);
  EXPECT_FALSE(chooser);
  return chooser ? Error{} : chooser.error();
}

TEST(Forced, IsTakenAtEveryLength) {
  const auto chooser = Chooser::Create({4, 2}, {{Operation::kAllReduce, Algorithm::kRing}});
  ASSERT_TRUE(chooser);
  EXPECT_EQ(chooser->Choose(Operation::kAllReduce, 0), Algorithm::kRing);
  EXPECT_EQ(chooser->Choose(Operation::kReduce, 0), Algorithm::kBinomialFlat);
}

TEST(Forced, IsRefusedWhereItDoesNotFit) {
  EXPECT_EQ(Refused({600, 2}, {{Operation::kAllToAll, Algorithm::kPairwise}}),
            (Error{Code::kUsage, "AllToAll cannot use pairwise on 600 ranks, 2 nodes", ""}));
  EXPECT_EQ(Refused({2, 1}, {{Operation::kAllGather, Algorithm::kBruck}}),
            (Error{Code::kUsage, "AllGather has no algorithm bruck",
                   "one of: shared-memory, ring, gather-broadcast"}));
  EXPECT_EQ(Refused({2, 1}, {{Operation::kSend, Algorithm::kRing}}),
            (Error{Code::kUsage, "Send has no algorithm ring", "it cannot be forced"}));
}

TEST(Forced, IsCheckedWhenACommunicatorIsMade) {
  FakeGroupState state(MakeRoster({0}));
  FakeGroup group(state, 0);
  auto endpoint = *SocketEndpoint::Open();
  PeerAddresses addresses(1);
  addresses.Set(0, ViewOf(endpoint->address()));
  SocketOptions options = TestOptions();
  options.algorithms = {{Operation::kBarrier, Algorithm::kChain}};
  const auto communicator = MakeSocketCommunicator(group, std::move(endpoint), std::move(addresses), options);
  ASSERT_FALSE(communicator);
  EXPECT_EQ(communicator.error(), (Error{Code::kUsage, "Barrier has no algorithm chain",
                                         "one of: shared-memory, shared-memory-tree, recursive-doubling, "
                                         "hierarchical-recursive-doubling"}));
}

TEST(Announce, SaysEachChoiceOncePerCommunicator) {
  const LogCapture log(LogLevel::kDebug);
  {
    SocketOptions options = TestOptions();
    options.shared_memory = false;
    FakeWorld world(BlockLayout({2, 1}), options);
    world.Run([](Communicator& c) {
      std::vector<float> data(1024 * kKiB);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(MessageOf(c.AllReduce(std::span(data), ReduceOp::kSum)), "");
        EXPECT_EQ(MessageOf(c.AllReduce(std::span(data).first(2), ReduceOp::kSum)), "");
        EXPECT_EQ(MessageOf(c.Barrier()), "");
        EXPECT_TRUE(c.AllGatherBytes({}));
      }
    });
  }
  EXPECT_EQ(log.Text(),
            "muster: debug: AllReduce f32[1048576] (4.0 MiB) on 3 ranks, 2 nodes: ring\n"
            "muster: debug: AllReduce f32[2] (8 B) on 3 ranks, 2 nodes: hierarchical-recursive-doubling\n"
            "muster: debug: Barrier on 3 ranks, 2 nodes: hierarchical-recursive-doubling\n"
            "muster: debug: AllGatherBytes on 3 ranks, 2 nodes: gather-broadcast\n");
}

}  // namespace
}  // namespace muster::socket
