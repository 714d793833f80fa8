#include "comm/net/acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "comm/log/log.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/net/test_loop.h"

namespace muster::net {
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

TEST_F(AcceptorTest, AFloodLeavesTheLoopItsTurn) {
  for (int i = 0; i < 3 * Acceptor::kAcceptsPerWake; ++i) Connect();
  loop->RunOnce(Deadline::After(std::chrono::seconds(1)));
  EXPECT_EQ(accepted.size(), static_cast<size_t>(Acceptor::kAcceptsPerWake));
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 3 * Acceptor::kAcceptsPerWake; }));
}

TEST_F(AcceptorTest, TimersThatAreDueComeFirst) {
  std::optional<size_t> accepted_before;
  loop->After(Duration::zero(), [&] { accepted_before = accepted.size(); });
  Connect();
  ASSERT_TRUE(loop.Until([&] { return accepted.size() == 1; }));
  EXPECT_EQ(accepted_before, 0u);
}

// A flood of connections at a process whose descriptors come and go.
TEST_F(AcceptorTest, WithoutDescriptorsAgainAndAgainItWritesOneLine) {
  const LogCapture log;
  // UBSan needs descriptors for its first look at a type, here the types of the log.
  LogWarning("begins");
  loop.Settle();
  for (size_t i = 0; i < 3; ++i) {
    Connect();
    {
      const DescriptorLimit limit(8);
      const std::vector<UniqueFd> all = TakeAllDescriptors();
      loop.Settle();
      EXPECT_EQ(accepted.size(), i);
    }
    ASSERT_TRUE(loop.Until([&] { return accepted.size() == i + 1; }));
  }
  EXPECT_EQ(log.Text(),
            "muster: warning: begins\n"
            "muster: warning: cannot accept a connection: Too many open files; trying again\n");
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

// Readable, but accept(2) fails, as it does where the process has no descriptor left.
class BrokenListenerTest : public testing::Test {
 protected:
  BrokenListenerTest() {
    auto [near, other] = SocketPair();
    far = std::move(other);
    EXPECT_EQ(write(far.get(), "x", 1), 1);
    acceptor =
        std::make_unique<Acceptor>(*loop, std::move(near), [](UniqueFd, const SocketAddress&) { FAIL(); });
    EXPECT_TRUE(acceptor->Start());
  }

  TestLoop loop;
  UniqueFd far;
  std::unique_ptr<Acceptor> acceptor;
};

TEST_F(BrokenListenerTest, ItRestsInsteadOfSpinningAndSaysItOnce) {
  const LogCapture log;
  int rounds = 0;
  const auto start = Clock::now();
  while (Clock::now() - start < std::chrono::milliseconds(250)) {
    loop->RunOnce(Deadline::At(start + std::chrono::milliseconds(250)));
    ++rounds;
  }
  EXPECT_EQ(log.Text(), "muster: warning: cannot accept a connection: Invalid argument; trying again\n");
  EXPECT_LT(rounds, 20) << "it spins";
  EXPECT_GE(rounds, 3) << "it does not try again";
}

TEST_F(BrokenListenerTest, MayBeDestroyedWhileItRests) {
  const LogCapture log;
  ASSERT_TRUE(loop.Until([&] { return log.Has("trying again"); }));
  acceptor.reset();
  loop.For(std::chrono::milliseconds(120));
}

}  // namespace
}  // namespace muster::net
