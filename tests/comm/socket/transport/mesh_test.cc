// How connections come about: strangers at the listener, addresses that lead nowhere, peers that come late.
#include "comm/socket/transport/mesh.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "comm/log/log.h"
#include "comm/log/rejection_log.h"
#include "comm/net/private_directory.h"
#include "comm/net/socket.h"
#include "tests/comm/socket/closed_port.h"
#include "tests/comm/socket/fake_group.h"
#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

// muster's own messages of one test.
class LogFile {
 public:
  LogFile() : path_(fmt::format("{}/mesh_test.{}.log", testing::TempDir(), getpid())) {
    std::filesystem::remove(path_);
    SetUpLog({LogLevel::kInfo, LogFormat::kText, path_});
    RejectionLog::ResetForTest();
  }
  ~LogFile() {
    SetUpLog({});
    std::filesystem::remove(path_);
  }
  std::vector<std::string> Lines() const {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  const std::string path_;
};

UniqueFd ConnectTo(const FakeWorld& world, int rank) {
  auto fd = net::StartConnect(*net::SocketAddress::FromNumeric("127.0.0.1", world.address(rank).port));
  EXPECT_TRUE(fd);
  pollfd connected{fd->get(), POLLOUT, 0};
  EXPECT_EQ(poll(&connected, 1, 10'000), 1);
  return *std::move(fd);
}

// Until the other side has closed.
void AwaitEnd(const UniqueFd& fd) {
  for (char byte = 0;;) {
    pollfd readable{fd.get(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 30'000), 1);
    if (recv(fd.get(), &byte, 1, 0) <= 0) return;
  }
}

TEST(Strangers, CostALogLineAndNothingElse) {
  SocketOptions options = TestOptions();
  options.timeouts.handshake = milliseconds(500);
  FakeWorld world(BlockLayout({1, 1}), options);
  const LogFile log;
  const UniqueFd garbled = ConnectTo(world, 0);
  ASSERT_GT(send(garbled.get(), "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL), 0);
  const UniqueFd silent = ConnectTo(world, 0);
  std::thread waiting([&] { EXPECT_EQ(MessageOf(world.at(0).Barrier()), ""); });
  AwaitEnd(garbled);
  AwaitEnd(silent);
  EXPECT_EQ(MessageOf(world.at(1).Barrier()), "");
  waiting.join();
  EXPECT_THAT(
      log.Lines(),
      ElementsAre(MatchesRegex("muster: warning: closed a data connection from 127.0.0.1:[0-9]+: it does not "
                               "speak muster's data protocol"),
                  MatchesRegex("muster: warning: closed a data connection from 127.0.0.1:[0-9]+: it did not "
                               "prove its identity within 500ms")));
}

TEST(Strangers, MayBeMoreThanAreLetInAtATime) {
  SocketOptions options = TestOptions();
  options.timeouts.handshake = milliseconds(20);
  options.half_open_limit = 2;
  FakeWorld world(BlockLayout({1, 1}), options);
  const LogFile log;
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 9; ++i) strangers.push_back(ConnectTo(world, 0));
  std::thread waiting([&] { EXPECT_EQ(MessageOf(world.at(0).Barrier()), ""); });
  // The peer stands in line behind them.
  EXPECT_EQ(MessageOf(world.at(1).Barrier()), "");
  waiting.join();
  // And the log is not theirs.
  EXPECT_THAT(log.Lines(), testing::SizeIs(RejectionLog::kLoggedPerMinute));
}

TEST(Strangers, FromOneAddressDelayNobody) {
  SocketOptions options = TestOptions();
  options.timeouts.handshake = std::chrono::minutes(10);
  FakeWorld world(BlockLayout({1, 1}), options);
  const LogFile log;
  std::vector<UniqueFd> strangers;
  // More than a listener has room for.
  for (int i = 0; i < 200; ++i) strangers.push_back(ConnectTo(world, 0));
  EXPECT_EQ(world.Messages([](Communicator& c) { return c.Barrier(); }), (std::vector<std::string>{"", ""}));
  // And the log is not theirs.
  EXPECT_THAT(log.Lines(), testing::SizeIs(RejectionLog::kLoggedPerMinute));
}

TEST(Strangers, AreNotToldFromSlowRanksWhereThereIsRoom) {
  SocketOptions options = TestOptions();
  options.timeouts.handshake = std::chrono::minutes(10);
  FakeWorld world(BlockLayout({1, 1}), options);
  const LogFile log;
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 100; ++i) slow.push_back(ConnectTo(world, 0));
  EXPECT_EQ(world.Messages([](Communicator& c) { return c.Barrier(); }), (std::vector<std::string>{"", ""}));
  EXPECT_THAT(log.Lines(), testing::IsEmpty());
}

TEST(Strangers, DoNotKeepOutTheRanksOfTheNode) {
  SocketOptions options = TestOptions();
  options.half_open_limit = 2;
  FakeWorld world(BlockLayout({2}), options);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 9; ++i) strangers.push_back(ConnectTo(world, 0));
  EXPECT_EQ(world.Messages([](Communicator& c) { return c.Barrier(); }), (std::vector<std::string>{"", ""}));
}

TEST(Addresses, FallBackToTcpOnTheSameNode) {
  FakeWorld world(MakeRoster(BlockLayout({3})), TestOptions(),
                  [](int, EndpointAddress& address) { address.unix_name = "nobody-listens-here"; });
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), testing::Each(""));
}

TEST(Addresses, FallBackToTcpWhereTheNameBelongsToAnotherGroup) {
  // The data of a peer need not be true.
  Roster other_roster = MakeRoster(BlockLayout({2}));
  other_roster.group_id = "ffffffffffffffffffffffffffffffff";
  FakeWorld other(other_roster, TestOptions(), nullptr);
  std::thread answering([&] { EXPECT_EQ(MessageOf(other.at(0).Barrier()), "enough"); });
  FakeWorld world(MakeRoster(BlockLayout({3})), TestOptions(),
                  [&](int, EndpointAddress& address) { address.unix_name = other.address(0).unix_name; });
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), testing::Each(""));
  other.state().Fail({Code::kPeerLost, "enough", ""});
  answering.join();
}

TEST(Addresses, AreTriedSideBySide) {
  Roster roster = MakeRoster(BlockLayout({2, 2}));
  // 127.255.255.254 refuses unless a process listens on all addresses, which the endpoint does: both lead to
  // the rank, and exactly one connection may come of it.
  for (Roster::Node& node : roster.nodes.own())
    node.addresses = {"::1", "not an address", "127.255.255.254", "127.0.0.1"};
  FakeWorld world(roster, TestOptions(), nullptr);
  const LogFile log;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), testing::Each(""));
  }
  EXPECT_THAT(log.Lines(), testing::IsEmpty());
}

// As logind (RemoveIPC) or a cleaner of temporary files does. Returns their directory.
std::string RemoveSockets(const FakeWorld& world, const std::vector<int>& ranks) {
  std::string path;
  for (const std::string& base : net::PrivateBases()) {
    for (const net::PrivateDirectory& directory : net::PrivateDirectory::FindIn(base)) {
      for (const int rank : ranks) {
        const std::string& name = world.address(rank).unix_name;
        if (!directory.Has(name)) continue;
        path = directory.path();
        EXPECT_EQ(unlink(directory.PathOf(name).c_str()), 0);
      }
    }
  }
  return path;
}

// Without ports, as in a launch of one node.
std::vector<std::vector<std::string>> BasesOfTwo() { return {net::PrivateBases(), net::PrivateBases()}; }

TEST(RemovedSockets, DoNotMakeALateRankLost) {
  SocketOptions options = TestOptions();
  options.patience = milliseconds(20);
  options.cause_grace = milliseconds(20);
  FakeWorld world(MakeRoster(BlockLayout({2})), options, nullptr, BasesOfTwo());
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), testing::Each(""));
  RemoveSockets(world, {0, 1});
  for (const int late : {0, 1}) {
    EXPECT_THAT(world.Messages([&](Communicator& c) {
      if (c.rank() == late) std::this_thread::sleep_for(milliseconds(300));
      return c.Barrier();
    }),
                testing::Each(""));
  }
}

TEST(RemovedSockets, AreTheReasonForAMissingConnection) {
  SocketOptions options = TestOptions();
  options.cause_grace = milliseconds(1);
  FakeWorld world(MakeRoster(BlockLayout({2})), options, nullptr, BasesOfTwo());
  const std::string path = RemoveSockets(world, {0, 1});
  EXPECT_EQ(MessageOf(world.at(1).Barrier()),
            fmt::format(
                "rank 1 on gpu01 cannot connect to rank 0 on gpu01 for Barrier #1: the sockets of the ranks "
                "of this node are no longer in {}: another program has removed them",
                path));
}

TEST(Addresses, AreAllNamedWhenNoneLeadsToThePeer) {
  const ClosedPort port;
  Roster roster = MakeRoster(BlockLayout({1, 1}));
  for (Roster::Node& node : roster.nodes.own()) node.addresses = {"127.0.0.1", "127.0.0.2"};
  SocketOptions options = TestOptions();
  options.cause_grace = milliseconds(1);
  options.called_back_within = milliseconds(1);
  FakeWorld world(roster, options, [&](int, EndpointAddress& address) { address.port = port.number(); });
  EXPECT_EQ(
      MessageOf(world.at(1).Barrier()),
      fmt::format("rank 1 on gpu02 cannot connect to rank 0 on gpu01 for Barrier #1: 127.0.0.1:{0}: "
                  "Connection refused, 127.0.0.2:{0}: Connection refused; that rank has not connected either",
                  port.number()));
  EXPECT_EQ(world.state().failure()->code, Code::kPeerLost);
}

TEST(Addresses, MayBeMissing) {
  SocketOptions options = TestOptions();
  options.cause_grace = milliseconds(1);
  options.called_back_within = milliseconds(1);
  FakeWorld world(MakeRoster(BlockLayout({1, 1})), options,
                  [](int, EndpointAddress& address) { address.port = 0; });
  EXPECT_EQ(MessageOf(world.at(1).Barrier()),
            "rank 1 on gpu02 cannot connect to rank 0 on gpu01 for Barrier #1: it has no address that this "
            "node could reach; that rank has not connected either");
}

// Rank 1 cannot connect to rank 0, which may call back immediately and has a minute for it.
class OneWay : public testing::TestWithParam<Protect> {
 protected:
  OneWay() {
    options_.protect = GetParam();
    options_.call_back_after = milliseconds(1);
    options_.called_back_within = std::chrono::minutes(1);
  }
  FakeWorld::Tamper ClosedDoorOfRankZero() {
    return [this](int rank, EndpointAddress& address) {
      if (rank == 0) address.port = port_.number();
    };
  }
  std::string Told() const {
    return fmt::format(
        "muster: warning: rank 1 on gpu02 cannot reach rank 0 on gpu01, though gpu01 reaches it: "
        "127.0.0.1:{}: Connection refused; connected the other way round",
        port_.number());
  }

  const ClosedPort port_;
  SocketOptions options_ = TestOptions();
};

INSTANTIATE_TEST_SUITE_P(PlainAndSealed, OneWay, testing::Values(Protect::kControl, Protect::kAll));

TEST_P(OneWay, TheOtherRankConnects) {
  FakeWorld world(MakeRoster(BlockLayout({1, 1})), options_, ClosedDoorOfRankZero());
  const LogFile log;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), testing::Each(""));
  }
  EXPECT_THAT(log.Lines(), ElementsAre(Told()));
}

// Nothing is given up before the other rank has come and had its time.
TEST_P(OneWay, TheOtherRankMayComeLate) {
  FakeWorld world(MakeRoster(BlockLayout({1, 1})), options_, ClosedDoorOfRankZero());
  const LogFile log;
  std::thread early([&] { EXPECT_EQ(MessageOf(world.at(1).Barrier()), ""); });
  pollfd nothing{-1, 0, 0};
  EXPECT_EQ(poll(&nothing, 1, 50), 0);
  EXPECT_EQ(MessageOf(world.at(0).Barrier()), "");
  early.join();
  EXPECT_THAT(log.Lines(), ElementsAre(Told()));
}

// A message that came after a Recv has failed alone would be taken for that of a later one.
TEST_P(OneWay, TheOtherRankComesTooLateForAFailedRecv) {
  options_.called_back_within = milliseconds(1);
  options_.cause_grace = milliseconds(1);
  FakeWorld world(MakeRoster(BlockLayout({1, 1})), options_, ClosedDoorOfRankZero());
  std::vector<int64_t> numbers(3);
  const auto receive = [&] { return world.at(1).Recv(HostBuffer(std::span(numbers)), 0); };
  EXPECT_THAT(MessageOf(receive()), HasSubstr("cannot connect to rank 0 on gpu01 for Recv #1"));
  EXPECT_EQ(world.state().failure(), std::nullopt);
  auto sent = std::async(std::launch::async, [&] {
    std::vector<int64_t> message(3);
    return world.at(0).Send(HostBuffer(std::span(message)), 1, {.timeout = milliseconds(300)});
  });
  while (sent.wait_for(milliseconds(0)) != std::future_status::ready) EXPECT_FALSE(receive());
  const Status late = sent.get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadline);
}

// Eight ranks a node: one line reports it for the node.
TEST_P(OneWay, IsToldOnceForANode) {
  FakeWorld world(MakeRoster(BlockLayout({4, 1})), options_, [this](int rank, EndpointAddress& address) {
    if (rank < 4) address.port = port_.number();
  });
  const LogFile log;
  EXPECT_THAT(world.Messages([](Communicator& c) {
    std::vector<int64_t> mine(5, c.rank());
    std::vector<int64_t> all(5);
    return c.AllToAll(HostBuffer(std::span<const int64_t>(mine)), HostBuffer(std::span(all)));
  }),
              testing::Each(""));
  EXPECT_THAT(log.Lines(), testing::SizeIs(1));
}

// A rank that calls back because the other one is late finds that this reaches it after all.
TEST(CallingBack, LeavesOneConnection) {
  SocketOptions options = TestOptions();
  options.call_back_after = milliseconds(1);
  FakeWorld world(BlockLayout({1, 1}), options);
  const LogFile log;
  for (const int late : {1, 0}) {
    std::thread early([&] { EXPECT_EQ(MessageOf(world.at(1 - late).Barrier()), ""); });
    pollfd nothing{-1, 0, 0};
    EXPECT_EQ(poll(&nothing, 1, 50), 0);
    EXPECT_EQ(MessageOf(world.at(late).Barrier()), "");
    early.join();
  }
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }), testing::Each(""));
  EXPECT_THAT(log.Lines(), testing::IsEmpty());
}

TEST(Peers, MayTakeLongerThanTheHandshakeToLook) {
  SocketOptions options = TestOptions();
  options.timeouts.handshake = milliseconds(1);
  FakeWorld world(BlockLayout({1, 1}), options);
  std::thread early([&] { EXPECT_EQ(MessageOf(world.at(1).Barrier()), ""); });
  // Rank 1's hello lies in the kernel for many times the handshake's deadline: rank 0 is busy.
  pollfd nothing{-1, 0, 0};
  EXPECT_EQ(poll(&nothing, 1, 50), 0);
  EXPECT_EQ(MessageOf(world.at(0).Barrier()), "");
  early.join();
}

bool Rang(const UniqueFd& waker) {
  pollfd readable{waker.get(), POLLIN, 0};
  return poll(&readable, 1, 0) == 1;
}

TEST(Serve, WakesOtherThreadsAndNotItsCaller) {
  const FakeMeshes fake(BlockLayout({2}));
  Mesh& lower = *fake.meshes[0];
  Mesh& higher = *fake.meshes[1];
  const UniqueFd caller(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const UniqueFd other(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  lower.AddWaker(caller.get());
  lower.AddWaker(other.get());
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (!lower.Take({1, Purpose::kCollective, 1}).link.fd && !deadline.Expired()) {
    higher.Take({1, Purpose::kCollective, 0});
    higher.Serve();
    lower.Serve(caller.get());
  }
  EXPECT_FALSE(deadline.Expired());
  EXPECT_TRUE(Rang(other));
  EXPECT_FALSE(Rang(caller));
}

TEST(MakeSocketCommunicator, RefusesEndpointsThatDoNotFit) {
  FakeGroupState state(MakeRoster(BlockLayout({2})));
  FakeGroup group(state, 0);
  auto endpoint = SocketEndpoint::Open();
  ASSERT_TRUE(endpoint);
  auto few = MakeSocketCommunicator(group, *std::move(endpoint), PeerAddresses(1), TestOptions());
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, Code::kUsage);
  EXPECT_EQ(few.error().message, "there are 1 data endpoints for 2 ranks");
}

}  // namespace
}  // namespace muster::socket
