#include "comm/socket/engine/blocked_wait.h"

#include <gtest/gtest.h>

#include "comm/socket/engine/progress_engine.h"
#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

// Rank 0 takes the connection of rank 1, sends and ends, all before rank 1 serves again.
TEST(BlockedWait, TakesTheDataOfAPeerThatHasEndedSince) {
  SocketEndpointOptions without_port;
  without_port.tcp = false;
  FakeMeshes fake(BlockLayout({2}), without_port);
  const Bytes sent = {1, 2, 3};
  Bytes received(sent.size());
  Call call;
  call.communicator = 1;
  ConnectionSet of_receiver(fake.meshes[1], 1, Purpose::kCollective, {0, 1});
  {
    ConnectionSet of_sender(fake.meshes[0], 1, Purpose::kCollective, {0, 1});
    const Deadline deadline = Deadline::After(std::chrono::seconds(20));
    while (of_sender.Get(1).connection == nullptr) {
      ASSERT_FALSE(deadline.Expired());
      EXPECT_EQ(of_receiver.Get(0).connection, nullptr);
      fake.meshes[1]->Serve();
      fake.meshes[0]->Serve();
    }
    ProgressEngine sender(of_sender, nullptr, {});
    sender.Begin(call, std::chrono::minutes(1));
    sender.Send(1, sent);
    EXPECT_EQ(MessageOf(sender.Run()), "");
    of_sender.SendLeave();
  }
  fake.meshes[0].reset();
  ProgressEngineOptions options;
  options.patience = Duration::zero();
  options.cause_grace = Duration::zero();
  ProgressEngine receiver(of_receiver, nullptr, options);
  receiver.Begin(call, std::chrono::minutes(1));
  receiver.Receive(0, received);
  EXPECT_EQ(MessageOf(receiver.Run()), "");
  EXPECT_EQ(received, sent);
}

// Rank 0 does not connect.
TEST(BlockedWait, ARankWithoutDescriptorsNamesItself) {
  FakeMeshes fake(BlockLayout({1, 1}));
  ConnectionSet connections(fake.meshes[1], 1, Purpose::kCollective, {0, 1});
  ProgressEngine engine(connections, nullptr, {});
  Bytes received(1);
  engine.Begin({}, std::chrono::minutes(1));
  engine.Receive(0, received);
  const net::DescriptorLimit none(0);
  const Status status = engine.Run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "rank 1 on gpu02: cannot make an eventfd: Too many open files");
  EXPECT_EQ(status.error().hint, "raise the limit on open files: ulimit -Sn");
}

}  // namespace
}  // namespace muster::socket
