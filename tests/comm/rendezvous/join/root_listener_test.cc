#include "comm/rendezvous/join/root_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/net/hosts.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/link/root_dialer.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/name_service.h"
#include "tests/comm/net/ordinary_ports.h"
#include "tests/comm/net/test_loop.h"
#include "tests/comm/rendezvous/members.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

class RootListenerTest : public testing::Test {
 protected:
  RootListenerTest() {
    request.meeting.key = fmt::format("root_listener_test {}", getpid());
    request.meeting.find_root = FindRoot::kEndpoint;
    request.meeting.endpoint = Endpoint{"127.0.0.1", net::FreePort()};
    request.self = PartyOf(0, "gpu01", 2);
  }
  using Links = std::vector<std::unique_ptr<net::FrameStream>>;
  static void Keep(Links& all, std::unique_ptr<net::FrameStream> link) {
    all.push_back(std::move(link));
    all.back()->Start([](ByteView) {}, [](const Error&) {});
  }
  void Start() {
    listener = std::make_unique<RootListener>(
        *loop, request, *prover,
        [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress&) {
          Keep(accepted, std::move(link));
        },
        [this](const Error& error) { misplaced = error; }, look_up_again);
    listener->Start();
  }
  void DialAt(const std::string& host, const std::vector<uint16_t>& ports) {
    dialer = std::make_unique<RootDialer>(
        *loop, RootDialer::Params{auth::MeetingIdOf(request.meeting.key), seconds(10), seconds(10)}, *prover,
        [this](std::unique_ptr<net::FrameStream> link) { Keep(dialed, std::move(link)); }, nullptr);
    std::vector<net::SocketAddress> candidates;
    for (const uint16_t port : ports) candidates.push_back(*net::SocketAddress::FromNumeric(host, port));
    dialer->AddCandidates(candidates);
  }
  bool Linked() const { return !accepted.empty() && !dialed.empty(); }

  net::TestLoop loop;
  std::unique_ptr<auth::Prover> prover = auth::MakeNoneProver();
  JoinRequest request;
  std::vector<std::unique_ptr<net::FrameStream>> accepted;
  std::vector<std::unique_ptr<net::FrameStream>> dialed;
  std::optional<Error> misplaced;
  Duration look_up_again = std::chrono::milliseconds(20);
  std::unique_ptr<RootListener> listener;
  std::unique_ptr<RootDialer> dialer;
};

TEST_F(RootListenerTest, ListensExactlyAtTheEndpoint) {
  Start();
  DialAt("127.0.0.1", {request.meeting.endpoint->port});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  EXPECT_EQ(listener->Problem(), "");
  // And nowhere else.
  EXPECT_TRUE(net::Listen(*net::SocketAddress::FromNumeric("127.0.0.2", request.meeting.endpoint->port)));
}

TEST_F(RootListenerTest, ListensOnTheLadderOfItsHost) {
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "127.0.0.1";
  Start();
  DialAt("127.0.0.1", PortLadder(request.meeting.key, request.options.ports));
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

TEST_F(RootListenerTest, ANodeWhoseNameSaysNothingListensEverywhere) {
  request.meeting.find_root = FindRoot::kFirstNode;
  request.self.node = "no such host";
  Start();
  DialAt("127.0.0.3", PortLadder(request.meeting.key, request.options.ports));
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

TEST_F(RootListenerTest, ListensOnTheLadderOfAnEndpointWithoutPort) {
  request.meeting.endpoint->port = 0;
  request.options.ports = {62800, 62807};
  const std::vector<uint16_t> ladder = PortLadder(request.meeting.key, request.options.ports);
  std::vector<UniqueFd> strangers;
  for (size_t i = 0; i < 7; ++i) {
    auto taken = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", ladder[i]));
    if (taken) strangers.push_back(*std::move(taken));
  }
  Start();
  DialAt("127.0.0.1", {ladder[7]});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

// As Debian's /etc/hosts has it on the node itself; the others see another address.
TEST_F(RootListenerTest, AHostThatIsOnlyLoopbackHereListensEverywhere) {
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "127.0.1.1";
  Start();
  DialAt("127.0.0.3", PortLadder(request.meeting.key, request.options.ports));
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

TEST_F(RootListenerTest, AnEndpointByANameOfLoopbackListensEverywhere) {
  net::SetName("gpu01", "127.0.1.1");
  request.meeting.endpoint->host = "gpu01";
  Start();
  DialAt("127.0.0.3", {request.meeting.endpoint->port});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  EXPECT_FALSE(misplaced);
}

TEST_F(RootListenerTest, AnEndpointAtLocalhostListensOnLoopbackAlone) {
  request.meeting.endpoint->host = "localhost";
  const uint16_t port = request.meeting.endpoint->port;
  Start();
  DialAt("127.0.0.1", {port});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  EXPECT_TRUE(net::Listen(*net::SocketAddress::FromNumeric("127.0.0.2", port)));
  const bool has_ipv6 = net::Listen(*net::SocketAddress::FromNumeric("::1", 0)).has_value();
  if (!has_ipv6) return;
  accepted.clear();
  dialed.clear();
  DialAt("::1", {port});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

// A minimal container has no /etc/hosts.
TEST_F(RootListenerTest, AnEndpointAtLocalhostNeedsNoNameService) {
  for (const char* const host : {"localhost", "ip6-loopback"}) {
    net::SetName(host, "");
    request.meeting.endpoint = Endpoint{host, net::FreePort()};
    accepted.clear();
    dialed.clear();
    Start();
    DialAt("127.0.0.1", {request.meeting.endpoint->port});
    ASSERT_TRUE(loop.Until([&] { return Linked(); })) << host;
  }
  net::SetName("localhost", "127.0.0.1");
}

// The other nodes may know another address of this node by its name.
TEST_F(RootListenerTest, AtTheNameOfANodeItListensOnAllAddresses) {
  const auto interfaces = net::LocalInterfaces();
  const auto other = std::ranges::find_if(*interfaces, [](const net::LocalInterface& interface) {
    return !interface.address.IsLoopback() && !interface.address.IsLinkLocal();
  });
  net::SetName("gpu01", other == interfaces->end() ? "127.0.1.1" : other->address.Host());
  for (const FindRoot how : {FindRoot::kFirstNode, FindRoot::kHost}) {
    request.meeting.find_root = how;
    request.meeting.host = "gpu01";
    accepted.clear();
    dialed.clear();
    Start();
    DialAt("127.0.0.3", PortLadder(request.meeting.key, request.options.ports));
    ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  }
}

TEST_F(RootListenerTest, AnotherNodesAddressIsMisplaced) {
  request.meeting.endpoint->host = "192.0.2.1";
  Start();
  ASSERT_TRUE(loop.Until([&] { return misplaced.has_value(); }));
  EXPECT_EQ(
      *misplaced,
      (Error{Code::kConfiguration,
             "rank 0 runs on gpu01 and must be reached there, but 192.0.2.1 is 192.0.2.1, which is not an "
             "address of that node",
             "set MASTER_ADDR or rendezvous.endpoint to the node of rank 0"}));
}

// A pod's name is published seconds after its start.
TEST_F(RootListenerTest, ANameThatCannotBeResolvedIsLookedUpAgain) {
  net::SetName("job-0", "");
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "job-0";
  Start();
  ASSERT_TRUE(loop.Until([&] { return !listener->Problem().empty(); }));
  EXPECT_EQ(listener->Problem(), "cannot resolve host \"job-0\": Temporary failure in name resolution");
  // Other nodes may have the name already.
  DialAt("127.0.0.3", PortLadder(request.meeting.key, request.options.ports));
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  net::SetName("job-0", "127.0.0.1");
  ASSERT_TRUE(loop.Until([&] { return listener->Problem().empty(); }));
  EXPECT_FALSE(misplaced);
}

TEST_F(RootListenerTest, ANameThatTurnsOutToBeAnotherNodesIsMisplaced) {
  net::SetName("job-0", "");
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "job-0";
  Start();
  ASSERT_TRUE(loop.Until([&] { return !listener->Problem().empty(); }));
  net::SetName("job-0", "192.0.2.1");
  ASSERT_TRUE(loop.Until([&] { return misplaced.has_value(); }));
  EXPECT_EQ(
      misplaced->message,
      "rank 0 runs on gpu01 and must be reached there, but job-0 is 192.0.2.1, which is not an address of "
      "that node");
}

// The address of a service of Kubernetes, for example.
TEST_F(RootListenerTest, ANameThatLeadsARankHereIsNotMisplaced) {
  net::SetName("job-0", "");
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "job-0";
  Start();
  DialAt("127.0.0.3", PortLadder(request.meeting.key, request.options.ports));
  ASSERT_TRUE(loop.Until([&] { return Linked() && !listener->Problem().empty(); }));
  net::SetName("job-0", "192.0.2.1");
  ASSERT_TRUE(loop.Until([&] { return listener->Problem().empty(); }));
  loop.Settle();
  EXPECT_FALSE(misplaced);
}

// The name of a pod that was restarted has its old address for a while.
TEST_F(RootListenerTest, ANameThatIsAnotherNodesOnceIsNotMisplaced) {
  net::SetName("job-0", std::vector<std::string>{"192.0.2.1", "127.0.0.1"});
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "job-0";
  Start();
  ASSERT_TRUE(loop.Until([&] { return net::AnswersFor("job-0") == 2; }));
  loop.For(std::chrono::milliseconds(50));
  EXPECT_FALSE(misplaced);
}

TEST_F(RootListenerTest, WithoutAFreePortItWaitsForOne) {
  const LogCapture log;
  const uint16_t port = request.meeting.endpoint->port;
  auto taken = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", port));
  ASSERT_TRUE(taken);
  Start();
  ASSERT_TRUE(loop.Until([&] { return !listener->Problem().empty(); }));
  const std::string problem =
      fmt::format("no port to listen on among {0}: cannot bind 127.0.0.1:{0}: Address already in use", port);
  EXPECT_EQ(listener->Problem(), problem);
  EXPECT_EQ(log.Text(), fmt::format("muster: warning: {}; waiting for one to become free\n", problem));
  taken->Reset();
  ASSERT_TRUE(loop.Until([&] { return listener->Problem().empty(); }));
  DialAt("127.0.0.1", {port});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

// It would not become free: the root waited for it until its deadline.
TEST_F(RootListenerTest, APortThatThisUserMayNotBindIsNotWaitedFor) {
  const net::OrdinaryPorts ordinary;
  if (!net::OrdinaryPorts::Exist()) GTEST_SKIP() << "needs a port that is for root alone";
  const LogCapture log;
  for (const auto& [host, address] : {std::pair("127.0.0.1", "127.0.0.1"), std::pair("gpu01", "0.0.0.0")}) {
    net::SetName("gpu01", "127.0.1.1");
    request.meeting.endpoint = Endpoint{host, net::OrdinaryPorts::kPrivileged};
    misplaced.reset();
    Start();
    ASSERT_TRUE(loop.Until([&] { return misplaced.has_value(); })) << host;
    EXPECT_EQ(
        *misplaced,
        (Error{Code::kSystem,
               fmt::format("no port to listen on among 80: cannot bind {}:80: Permission denied", address),
               "choose a port from 1024 on; lower ones are for root"}));
  }
  EXPECT_EQ(log.Text(), "");
}

TEST_F(RootListenerTest, OfARangeItTakesThePortsThatThisUserMayBind) {
  const net::OrdinaryPorts ordinary;
  if (!net::OrdinaryPorts::Exist()) GTEST_SKIP() << "needs a port that is for root alone";
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "127.0.0.1";
  request.options.ports = {1020, 1027};
  Start();
  DialAt("127.0.0.1", PortLadder(request.meeting.key, request.options.ports));
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

// Strangers on the first ports of the ladder do not hold up the root: it logs that and takes the next.
TEST_F(RootListenerTest, WithTheFirstPortsTakenItListensOnTheNext) {
  const LogCapture log;
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "127.0.0.1";
  const auto ladder = PortLadder(request.meeting.key, request.options.ports, {}, kLadderLength + 2);
  std::vector<UniqueFd> strangers;
  for (size_t i = 0; i <= kLadderLength; ++i) {
    auto taken = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", ladder[i]));
    if (taken) strangers.push_back(*std::move(taken));
  }
  Start();
  DialAt("127.0.0.1", {ladder[kLadderLength + 1]});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  EXPECT_EQ(log.Text(), fmt::format("muster: warning: the first 9 ports of this launch are taken; "
                                    "listening on port {}\n",
                                    ladder[kLadderLength + 1]));
}

TEST_F(RootListenerTest, WithASecretItListensOnAPortOfEachLadder) {
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "127.0.0.1";
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  const auto seeds = LadderSeeds(request.meeting.key, request.secret);
  Start();
  for (const std::string& seed : seeds) {
    accepted.clear();
    dialed.clear();
    DialAt("127.0.0.1", PortLadder(seed, request.options.ports));
    ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  }
}

TEST_F(RootListenerTest, ClosedItStopsTrying) {
  const uint16_t port = request.meeting.endpoint->port;
  auto taken = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", port));
  Start();
  ASSERT_TRUE(loop.Until([&] { return !listener->Problem().empty(); }));
  listener->Close();
  taken->Reset();
  loop.For(std::chrono::milliseconds(300));
  EXPECT_TRUE(net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", port)));
}

TEST_F(RootListenerTest, ClosedBeforeItsNameIsKnownItNeverListens) {
  Start();
  listener->Close();
  loop.For(std::chrono::milliseconds(50));
  EXPECT_TRUE(net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", request.meeting.endpoint->port)));
}

}  // namespace
}  // namespace muster::rendezvous
