#include "comm/net/acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/comm/net/test_loop.h"

namespace muster {
namespace {

class AcceptorTest : public testing::Test {
 protected:
  AcceptorTest() {
    auto listener = Listen(*SocketAddress::FromNumeric("127.0.0.1", 0));
    address = LocalAddress(listener->get());
    acceptor =
        std::make_unique<Acceptor>(*loop, *std::move(listener), [this](UniqueFd fd, const SocketAddress&) {
          accepted.push_back(std::move(fd));
          if (on_accept) on_accept();
        });
    EXPECT_TRUE(acceptor->Start());
  }
  void Connect() { clients.push_back(*StartConnect(address)); }

  TestLoop loop;
  SocketAddress address;
  std::unique_ptr<Acceptor> acceptor;
  std::function<void()> on_accept;
  std::vector<UniqueFd> clients;
  std::vector<UniqueFd> accepted;
};

TEST_F(AcceptorTest, TakesAllThatWait) {
  for (int i = 0; i < 5; ++i) Connect();
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 5; }));
}

TEST_F(AcceptorTest, WhilePausedTheyWait) {
  on_accept = [this] { acceptor->SetPaused(accepted.size() >= 2); };
  for (int i = 0; i < 3; ++i) Connect();
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 2; }));
  loop.Settle();
  EXPECT_EQ(accepted.size(), 2u);
  on_accept = nullptr;
  acceptor->SetPaused(false);
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 3; }));
}

TEST_F(AcceptorTest, TheHandlerMayDestroyIt) {
  on_accept = [this] { acceptor.reset(); };
  Connect();
  Connect();
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 1; }));
  loop.Settle();
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(AcceptorTest, WithoutDescriptorsItRestsAndGoesOnLater) {
  Connect();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  // None is free: whatever is opened next gets the lowest number.
  const rlimit none{static_cast<rlim_t>(OpenDescriptors()) - 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  int rounds = 0;
  const auto start = Clock::now();
  while (Clock::now() - start < std::chrono::milliseconds(30)) {
    loop->RunOnce(Deadline::At(start + std::chrono::milliseconds(30)));
    ++rounds;
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "muster: warning: cannot accept a connection: Too many open files; trying again\n");
  EXPECT_TRUE(accepted.empty());
  EXPECT_LT(rounds, 10) << "it spins";
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 1; }));
}

}  // namespace
}  // namespace muster
