#include "comm/socket/transport/peer_acceptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <sstream>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/socket/transport/dial.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/net/other_user.h"

namespace muster::socket {
namespace {

using net::OpenDescriptors;
using std::chrono::minutes;
using testing::HasSubstr;

// Rank 0 receives; nothing here has a deadline that a slow machine could miss.
class PeerAcceptorTest : public testing::Test {
 protected:
  void Start(const PeerAcceptorOptions& options = {minutes(10), 128, {}}) {
    acceptor = std::make_unique<PeerAcceptor>(
        *loop, self, *endpoint, options,
        [this](const LinkKey& key, ProvenLink link) { arrived.emplace_back(key, std::move(link.fd)); });
    ASSERT_TRUE(acceptor->Start());
  }
  net::SocketAddress Address() const {
    return *net::SocketAddress::FromNumeric("127.0.0.1", endpoint->address().port);
  }
  // From another address of loopback, where one is given.
  UniqueFd Connect(const std::string& from = "127.0.0.1") const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto local = *net::SocketAddress::FromNumeric(from, 0);
    EXPECT_EQ(bind(fd.get(), local.get(), local.length()), 0);
    const net::SocketAddress address = Address();
    EXPECT_EQ(connect(fd.get(), address.get(), address.length()), 0);
    return fd;
  }
  // In another process; the connections end with it.
  bool ConnectAndStay(int times) const {
    static std::vector<UniqueFd> held;
    for (int i = 0; i < times; ++i) held.push_back(Connect());
    return true;
  }
  void Serve() {
    loop->RunReady();
    acceptor->OnTime();
  }
  bool Until(const std::function<bool()>& done, Dial* dial = nullptr) {
    const Deadline limit = Deadline::After(std::chrono::seconds(60));
    while (!done()) {
      if (limit.Expired()) return false;
      pollfd ready{loop->fd(), POLLIN, 0};
      const Deadline wake = dial == nullptr ? limit : dial->wake().EarlierOf(limit);
      poll(&ready, 1, acceptor->wake().EarlierOf(wake).PollMilliseconds());
      Serve();
      if (dial != nullptr) dial->OnTime();
    }
    return true;
  }
  // Rank 3 connects, proves itself and is taken.
  bool MemberGetsIn() {
    Dial dial(*loop, member, {1, Purpose::kCollective, 0}, {{Address()}}, minutes(1));
    const bool in = Until([&] { return dial.state() != Dial::State::kTrying; }, &dial);
    return in && dial.state() == Dial::State::kConnected && !arrived.empty();
  }
  // A connection that other code closed reads as the end, or as a reset.
  static bool IsClosed(const UniqueFd& fd) {
    char byte = 0;
    const ssize_t count = recv(fd.get(), &byte, 1, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }

  std::unique_ptr<net::EventLoop> loop = *net::EventLoop::Create();
  GroupMember self{0, 8, {}, "0011"};
  GroupMember member{3, 8, {}, "0011"};
  std::unique_ptr<SocketEndpoint> endpoint = *SocketEndpoint::Open();
  std::vector<std::pair<LinkKey, UniqueFd>> arrived;
  std::unique_ptr<PeerAcceptor> acceptor;
};

TEST_F(PeerAcceptorTest, AFloodLeavesTheCallerItsTurn) {
  Start();
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 3 * PeerAcceptor::kAcceptsPerWake; ++i) flood.push_back(Connect());
  const auto before = OpenDescriptors();
  Serve();
  EXPECT_EQ(OpenDescriptors() - before, PeerAcceptor::kAcceptsPerWake);
  for (int i = 0; i < 2; ++i) Serve();
  EXPECT_EQ(OpenDescriptors() - before, 3 * PeerAcceptor::kAcceptsPerWake);
}

TEST_F(PeerAcceptorTest, WhatIsDueComesBeforeNewConnections) {
  const LogCapture log;
  Start({std::chrono::milliseconds(1), 128, {}});
  const UniqueFd late = Connect();
  ASSERT_TRUE(Until([&] { return !acceptor->wake().IsNever(); }));
  const UniqueFd next = Connect();
  const auto before = OpenDescriptors();
  while (!acceptor->wake().Expired()) usleep(1000);
  Serve();
  EXPECT_THAT(log.Text(), HasSubstr("it did not prove its identity within 1ms"));
  EXPECT_EQ(OpenDescriptors(), before) << "one closed, one accepted";
}

TEST_F(PeerAcceptorTest, WhoeverHasHungUpCostsNothing) {
  const LogCapture log;
  Start();
  for (int i = 0; i < 20; ++i) Connect();
  const auto before = OpenDescriptors();
  Serve();
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_TRUE(acceptor->wake().IsNever());
  EXPECT_EQ(std::ranges::count(log.Text(), '\n'), 5) << "the log is not theirs";
  acceptor.reset();
  EXPECT_THAT(log.Text(), testing::EndsWith("rejected 15 more data connections (not logged one by one)\n"));
}

TEST_F(PeerAcceptorTest, SilentOnesOfOneAddressGiveWayAtOnce) {
  Start();
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 300; ++i) strangers.push_back(Connect());
  EXPECT_TRUE(MemberGetsIn());
  EXPECT_TRUE(IsClosed(strangers.front()));
}

TEST_F(PeerAcceptorTest, AllOfLoopbackIsOneAddress) {
  Start({minutes(10), 16, {}});
  std::vector<UniqueFd> strangers;
  for (int i = 2; i < 60; ++i) strangers.push_back(Connect("127.0.0." + std::to_string(i)));
  EXPECT_TRUE(MemberGetsIn());
  EXPECT_TRUE(IsClosed(strangers.front())) << "at once: the handshake has ten minutes";
}

TEST_F(PeerAcceptorTest, AGreetingAloneKeepsNobodyOut) {
  Start({minutes(10), 16, {}});
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(Connect());
    ConnectorHandshake greeting(member, {1, Purpose::kCollective, 0});
    EXPECT_EQ(greeting.Start(strangers.back().get()), Shake::kDone);
  }
  EXPECT_TRUE(MemberGetsIn());
}

TEST_F(PeerAcceptorTest, ManyGreetingsDoNotFillTheLog) {
  for (const auto& [level, lines] : {std::pair(LogLevel::kDebug, RejectionLog::kLoggedPerMinute + 1),
                                     std::pair(LogLevel::kInfo, uint64_t{0})}) {
    const LogCapture log(level);
    Start();
    for (int i = 0; i < 30; ++i) {
      UniqueFd stranger = Connect();
      ConnectorHandshake greeting(member, {1, Purpose::kCollective, 0});
      EXPECT_EQ(greeting.Start(stranger.get()), Shake::kDone);
      const auto before = OpenDescriptors();
      Serve();
      EXPECT_EQ(OpenDescriptors(), before + 1);
      stranger.Reset();
      Serve();
      EXPECT_EQ(OpenDescriptors(), before - 1);
    }
    acceptor.reset();
    EXPECT_EQ(std::ranges::count(log.Text(), '\n'), lines) << log.Text();
  }
}

TEST_F(PeerAcceptorTest, StrangersDoNotTakeTheLastDescriptors) {
  Start();
  const net::OtherProcess stranger([this] { return ConnectAndStay(100); });
  const net::DescriptorLimit limit(48);
  // The listener's queue is worked off, and both ends of a member's connection still find a descriptor.
  EXPECT_TRUE(MemberGetsIn());
  const std::vector<UniqueFd> own = net::TakeAllDescriptors();
  EXPECT_GE(own.size(), 5u) << "some are left for this process itself";
}

TEST_F(PeerAcceptorTest, WithoutAnyDescriptorItRestsAndGoesOn) {
  const LogCapture log;
  Start();
  const net::OtherProcess stranger([this] { return ConnectAndStay(1); });
  {
    const net::DescriptorLimit limit(8);
    std::vector<UniqueFd> all = net::TakeAllDescriptors();
    int rounds = 0;
    const Deadline limit_of_test = Deadline::After(std::chrono::milliseconds(350));
    while (!limit_of_test.Expired() || rounds < 5) {
      pollfd ready{loop->fd(), POLLIN, 0};
      poll(&ready, 1, acceptor->wake().EarlierOf(limit_of_test).PollMilliseconds());
      Serve();
      ++rounds;
    }
    EXPECT_LT(rounds, 40) << "it spins";
    all.clear();
    EXPECT_EQ(log.Text(), "muster: warning: cannot accept a connection: Too many open files; trying again\n");
  }
  EXPECT_TRUE(MemberGetsIn());
}

// A flood of connections at a process whose descriptors come and go.
TEST_F(PeerAcceptorTest, WithoutDescriptorsAgainAndAgainItWritesOneLine) {
  const LogCapture log;
  const auto lines = [&](const char* part) {
    std::istringstream text(log.Text());
    int count = 0;
    for (std::string line; std::getline(text, line);) count += line.find(part) != std::string::npos;
    return count;
  };
  Start();
  for (int i = 1; i <= 3; ++i) {
    {
      const net::OtherProcess stranger([this] { return ConnectAndStay(1); });
      const net::DescriptorLimit limit(8);
      const std::vector<UniqueFd> all = net::TakeAllDescriptors();
      Serve();
    }
    ASSERT_TRUE(Until([&] { return lines("it closed before") == i; }));
  }
  EXPECT_EQ(lines("trying again"), 1);
}

}  // namespace
}  // namespace muster::socket
