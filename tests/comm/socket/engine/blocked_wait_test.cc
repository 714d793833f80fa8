#include "comm/socket/engine/blocked_wait.h"

#include <gtest/gtest.h>

#include "comm/socket/engine/progress_engine.h"
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

}  // namespace
}  // namespace muster::socket
