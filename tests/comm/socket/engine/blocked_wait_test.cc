#include "comm/socket/engine/blocked_wait.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/socket/engine/progress_engine.h"
#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

void Connect(FakeMeshes& fake, ConnectionSet& of_first, ConnectionSet& of_second) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(20));
  while (of_first.Get(1).connection == nullptr || of_second.Get(0).connection == nullptr) {
    ASSERT_FALSE(deadline.Expired());
    for (const auto& mesh : fake.meshes) mesh->Serve();
  }
}

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

// An error of the network is no end of the peer's process.
TEST(BlockedWait, ALostLinkIsReportedWithItsReason) {
  FakeMeshes fake(BlockLayout({1, 1}));
  ConnectionSet of_sender(fake.meshes[0], 1, Purpose::kCollective, {0, 1});
  ConnectionSet of_receiver(fake.meshes[1], 1, Purpose::kCollective, {0, 1});
  Connect(fake, of_sender, of_receiver);
  ASSERT_GE(dup2(net::SocketWithError().get(), of_receiver.Get(0).connection->fd()), 0);
  ProgressEngineOptions options;
  options.cause_grace = Duration::zero();
  ProgressEngine receiver(of_receiver, nullptr, options);
  Bytes received(1);
  receiver.Begin({}, std::chrono::minutes(1));
  receiver.Receive(0, received);
  const Status status = receiver.Run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "rank 1 on gpu02 lost its connection to rank 0 on gpu01 during Barrier #0: Connection refused");
  EXPECT_EQ(status.error().hint, "check the network between gpu02 and gpu01");
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
