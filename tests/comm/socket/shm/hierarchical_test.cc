#include "comm/socket/shm/hierarchical.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

#include "tests/comm/net/test_base.h"
#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

constexpr size_t kChunk = size_t{1024} * 1024;

// This rank of the node sleeps until that one has published.
void Sleep(Segment& segment, int rank, int published_by, const Doorbell& doorbell) {
  std::ranges::copy(doorbell.name(), segment.member(rank).doorbell.begin());
  segment.member(rank).doorbell_length = static_cast<uint32_t>(doorbell.name().size());
  segment.sleeper(rank) = static_cast<uint32_t>(published_by) + 1;
}

// Rank 0 is the root, ranks 1 and 2 are on the other node. Rank 2 is the test: it sleeps until rank 1 has published.
TEST(HierarchicalBroadcast, WakesItsNodeBeforeItWaitsForTheNextChunk) {
  const FakeMeshes fake(BlockLayout({1, 2}));
  const net::TestBase base;
  const net::PrivateDirectory directory = *net::PrivateDirectory::MakeIn(base.path);
  const Doorbell sleeper = *Doorbell::Open(directory);
  std::unique_ptr<Segment> owned = *Segment::Create(SegmentShape::For(2, kChunk));
  Sleep(*owned, 1, 0, sleeper);

  ConnectionSet of_root(fake.meshes[0], 1, Purpose::kCollective, {0, 1, 2});
  ConnectionSet of_first(fake.meshes[1], 1, Purpose::kCollective, {0, 1, 2});
  ProgressEngineOptions options;
  options.spin = true;
  ProgressEngine root(of_root, nullptr, options);
  ProgressEngine first(of_first, nullptr, options);
  const Topology topology(fake.state.roster(), 1);
  NodeMemory memory(first, std::move(owned), *Doorbell::Open(directory), directory, topology.local());

  Call call;
  call.communicator = 1;
  call.sequence = 1;
  call.operation = Operation::kBroadcast;
  Bytes sent(2 * kChunk);
  std::iota(sent.begin(), sent.end(), uint8_t{0});
  Bytes received(sent.size());
  std::promise<void> woken;
  std::thread sender([&] {
    root.Begin(call, std::chrono::minutes(1));
    root.Send(1, ByteView(sent).first(kChunk));
    EXPECT_EQ(MessageOf(root.Run()), "");
    woken.get_future().wait();
    root.Send(1, ByteView(sent).last(kChunk));
    EXPECT_EQ(MessageOf(root.Run()), "");
  });
  std::thread receiver([&] {
    first.Begin(call, std::chrono::minutes(1));
    EXPECT_EQ(MessageOf(HierarchicalBroadcast({first, topology, &memory}, received, 0)), "");
  });
  pollfd bell{sleeper.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&bell, 1, 10'000), 1);
  woken.set_value();
  sender.join();
  receiver.join();
  EXPECT_TRUE(received == sent);
}

// Rank 2 is the test. It may wait for messages next, as in ReduceScatter; rank 1 sleeps until it has published.
TEST(HierarchicalReduce, WakesTheFirstRankOfItsNodeBeforeItReturns) {
  const FakeMeshes fake(BlockLayout({1, 2}));
  const net::TestBase base;
  const net::PrivateDirectory directory = *net::PrivateDirectory::MakeIn(base.path);
  const Doorbell sleeper = *Doorbell::Open(directory);
  std::unique_ptr<Segment> owned = *Segment::Create(SegmentShape::For(2, kChunk));
  Sleep(*owned, 0, 1, sleeper);

  ConnectionSet connections(fake.meshes[2], 1, Purpose::kCollective, {0, 1, 2});
  ProgressEngineOptions options;
  options.spin = true;
  ProgressEngine engine(connections, nullptr, options);
  const Topology topology(fake.state.roster(), 2);
  NodeMemory memory(engine, std::move(owned), *Doorbell::Open(directory), directory, topology.local());
  Call call;
  call.sequence = 1;
  call.operation = Operation::kReduceScatter;
  engine.Begin(call, std::chrono::minutes(1));
  const Bytes sent(sizeof(int64_t));
  EXPECT_EQ(MessageOf(HierarchicalReduce({engine, topology, &memory}, {DataType::kI64, ReduceOp::kSum}, sent,
                                         {}, 0)),
            "");
  pollfd bell{sleeper.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&bell, 1, 0), 1);
}

}  // namespace
}  // namespace muster::socket
