#include "comm/rendezvous/link/root_dialer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/net/acceptor.h"
#include "comm/rendezvous/link/authenticating_acceptor.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const auth::MeetingId kMeeting = auth::MeetingIdOf("root_dialer_test");

// Refuses every client, as munge does a credential of another user; lets every server pass.
class RefusingProver final : public auth::Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  Pending Make(const std::string&, auth::Role, ByteView, std::function<void(Result<Bytes>)> done) override {
    done(Bytes());
    return nullptr;
  }
  Pending Check(const std::string&, auth::Role peer_role, ByteView, ByteView,
                std::function<void(Status)> done) override {
    if (peer_role == auth::Role::kServer) {
      done({});
    } else {
      done(WithHint(Fail(Code::kAuthentication, "by its munge credential it runs as uid 7, this rank as 8"),
                    "one user"));
    }
    return nullptr;
  }
};

class RootDialerTest : public testing::Test {
 protected:
  net::SocketAddress At(uint16_t port) const { return *net::SocketAddress::FromNumeric("127.0.0.1", port); }

  uint16_t OpenDoor(const std::vector<uint16_t>& ports, auth::MeetingId meeting = kMeeting) {
    listeners.push_back(std::make_unique<AuthenticatingAcceptor>(
        *loop, AuthenticatingAcceptor::Params{meeting, seconds(10)}, *prover,
        [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress&) {
          Keep(accepted, std::move(link));
        }));
    const auto port = listeners.back()->Open(At(0), ports);
    EXPECT_TRUE(port);
    return port.value_or(0);
  }
  void MakeDialer(Duration handshake_timeout = seconds(10), Duration connect_timeout = seconds(10)) {
    dialer = std::make_unique<RootDialer>(
        *loop, RootDialer::Params{kMeeting, handshake_timeout, connect_timeout}, *prover,
        [this](std::unique_ptr<net::FrameStream> link) {
          Keep(links, std::move(link));
          if (on_link) on_link();
        },
        [this](const Error& error) {
          rejected.push_back(error);
          if (on_rejected) on_rejected();
        });
  }
  using Links = std::vector<std::unique_ptr<net::FrameStream>>;
  static void Keep(Links& all, std::unique_ptr<net::FrameStream> link) {
    all.push_back(std::move(link));
    all.back()->Start([](ByteView) {}, [](const Error&) {});
  }
  // Listens, and treats connections as the test sets it.
  struct Stranger {
    UniqueFd listener;
    std::vector<UniqueFd> clients;
  };
  void OpenStranger(Stranger& stranger, std::string_view says) {
    stranger.listener = *net::Listen(At(0));
    Stranger* self = &stranger;
    ASSERT_TRUE(loop->Watch(stranger.listener.get(), EPOLLIN, [self, says](uint32_t) {
      auto fd = net::Accept(self->listener.get());
      if (!fd || !*fd) return;
      if (!says.empty()) {
        EXPECT_EQ(send(fd->get(), says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
      }
      self->clients.push_back(*std::move(fd));
    }));
  }
  uint16_t PortOf(const Stranger& stranger) { return net::LocalAddress(stranger.listener.get()).port(); }
  bool Linked() const { return !links.empty() && !accepted.empty(); }
  bool ProblemHas(std::string_view part) const { return dialer->Problem().find(part) != std::string::npos; }

  net::TestLoop loop;
  std::unique_ptr<auth::Prover> prover = auth::MakeNoneProver();
  std::vector<std::unique_ptr<net::FrameStream>> accepted;
  std::vector<std::unique_ptr<net::FrameStream>> links;
  std::vector<Error> rejected;
  std::function<void()> on_link;
  std::function<void()> on_rejected;
  std::vector<std::unique_ptr<AuthenticatingAcceptor>> listeners;
  std::unique_ptr<RootDialer> dialer;
};

// 1000 nodes are 16,000 candidates.
TEST(LongestPause, GrowsWithTheCandidates) {
  EXPECT_EQ(LongestPause(1), milliseconds(200));
  EXPECT_EQ(LongestPause(100), milliseconds(200));
  EXPECT_EQ(LongestPause(512), milliseconds(1024));
  EXPECT_EQ(LongestPause(16000), milliseconds(2000));
}

TEST_F(RootDialerTest, FindsTheRootAmongManyAddresses) {
  std::vector<uint16_t> ports;
  for (int i = 0; i < 8; ++i) ports.push_back(net::FreePort());
  OpenDoor({ports[5]});
  MakeDialer();
  EXPECT_EQ(dialer->Problem(), "");
  std::vector<net::SocketAddress> candidates;
  for (const uint16_t port : ports) candidates.push_back(At(port));
  dialer->AddCandidates(candidates);
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  loop.For(milliseconds(20));
  EXPECT_EQ(links.size(), 1u);
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(RootDialerTest, KeepsTryingUntilTheRootIsThere) {
  const uint16_t port = net::FreePort();
  MakeDialer();
  dialer->AddCandidates({At(port)});
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("refused"); }));
  EXPECT_EQ(dialer->Problem(), fmt::format("127.0.0.1:{}: Connection refused", port));
  OpenDoor({port});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

TEST_F(RootDialerTest, CandidatesMayComeLaterAndTwice) {
  const uint16_t port = net::FreePort();
  OpenDoor({port});
  MakeDialer();
  dialer->AddCandidates({});
  dialer->AddCandidates({At(net::FreePort())});
  dialer->AddCandidates({At(port), At(port)});
  dialer->AddCandidates({At(port)});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  loop.For(milliseconds(20));
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(RootDialerTest, ASilentStrangerOnTheFirstPortHoldsNobodyUp) {
  Stranger stranger;
  OpenStranger(stranger, "");
  MakeDialer();
  dialer->AddCandidates({At(PortOf(stranger)), At(OpenDoor({net::FreePort()}))});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

// Two addresses of the root, or two ports: a leader makes one key pair for all.
TEST_F(RootDialerTest, AllAttemptsHaveOneKeyPair) {
  std::vector<Bytes> hellos;
  std::vector<std::unique_ptr<net::FrameStream>> peers;
  const auto admit = [&](UniqueFd fd, const net::SocketAddress&) {
    peers.push_back(std::make_unique<net::FrameStream>(*loop, std::move(fd), auth::kMaxHandshakeMessage));
    peers.back()->Start([&](ByteView frame) { hellos.emplace_back(frame.begin(), frame.end()); },
                        [](const Error&) {});
  };
  std::vector<std::unique_ptr<net::Acceptor>> silent;
  MakeDialer();
  for (int i = 0; i < 2; ++i) {
    UniqueFd listener = *net::Listen(At(0));
    const uint16_t port = net::LocalAddress(listener.get()).port();
    silent.push_back(std::make_unique<net::Acceptor>(*loop, std::move(listener), admit));
    ASSERT_TRUE(silent.back()->Start());
    dialer->AddCandidates({At(port)});
  }
  ASSERT_TRUE(loop.Until([&] { return hellos.size() == 2; }));
  const auto first = auth::ParseHello(hellos[0]);
  const auto second = auth::ParseHello(hellos[1]);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->public_key, second->public_key);
  EXPECT_NE(first->nonce, second->nonce);
}

TEST_F(RootDialerTest, ASilentStrangerAloneIsReported) {
  Stranger stranger;
  OpenStranger(stranger, "");
  MakeDialer(milliseconds(30));
  dialer->AddCandidates({At(PortOf(stranger)), At(net::FreePort())});
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("it has not answered yet"); }));
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("did not prove"); }));
  // More telling than the refused connection.
  EXPECT_EQ(dialer->Problem(),
            fmt::format("127.0.0.1:{}: it did not prove its identity within 30ms", PortOf(stranger)));
}

TEST_F(RootDialerTest, ATalkingStrangerIsReported) {
  Stranger stranger;
  OpenStranger(stranger, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
  MakeDialer();
  dialer->AddCandidates({At(PortOf(stranger))});
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("longer than allowed"); }));
  EXPECT_TRUE(links.empty());
  EXPECT_FALSE(dialer->rejection());
}

// A root does so while another user of this node opens thousands of connections.
TEST_F(RootDialerTest, ARootThatClosesNearlyAllConnectionsIsReachedWithoutLongPauses) {
  constexpr int kClosed = 60;
  UniqueFd listener = *net::Listen(At(0));
  const uint16_t port = net::LocalAddress(listener.get()).port();
  int closed = 0;
  ASSERT_TRUE(loop->Watch(listener.get(), EPOLLIN, [&](uint32_t) {
    const auto fd = net::Accept(listener.get());
    if (!fd || !*fd || ++closed < kClosed) return;
    loop->Forget(listener.get());
    listener.Reset();
    OpenDoor({port});
  }));
  MakeDialer();
  dialer->AddCandidates({At(port)});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  EXPECT_EQ(closed, kClosed);
}

// Its queue is full: each connection waits, and then it is closed.
TEST_F(RootDialerTest, ARootThatClosesSlowlyGetsParallelAttempts) {
  UniqueFd listener = *net::Listen(At(0));
  const uint16_t port = net::LocalAddress(listener.get()).port();
  std::vector<UniqueFd> queue;
  size_t most = 0;
  int closed = 0;
  ASSERT_TRUE(loop->Watch(listener.get(), EPOLLIN, [&](uint32_t) {
    auto fd = net::Accept(listener.get());
    if (!fd || !*fd) return;
    queue.push_back(*std::move(fd));
    most = std::max(most, queue.size());
    loop->After(milliseconds(50), [&] {
      queue.erase(queue.begin());
      ++closed;
    });
  }));
  MakeDialer();
  dialer->AddCandidates({At(port)});
  ASSERT_TRUE(loop.Until([&] { return most >= 8; }));
  closed = 0;
  ASSERT_TRUE(loop.Until([&] { return closed >= 30; }));
  EXPECT_EQ(most, 8u);
}

TEST_F(RootDialerTest, AnotherGroupsRootIsPassedOver) {
  const uint16_t first = OpenDoor({net::FreePort()}, auth::MeetingIdOf("another launch"));
  MakeDialer();
  dialer->AddCandidates({At(first)});
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("another"); }));
  EXPECT_EQ(dialer->Problem(), fmt::format("127.0.0.1:{} belongs to another launch", first));
  dialer->AddCandidates({At(OpenDoor({net::FreePort()}))});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
}

TEST_F(RootDialerTest, WhereNobodyAnswersTheConnectTimesOut) {
  MakeDialer(seconds(10), milliseconds(30));
  // The queue of one is full: the kernel drops what comes after.
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const net::SocketAddress any = At(0);
  ASSERT_EQ(bind(listener.get(), any.get(), any.length()), 0);
  ASSERT_EQ(listen(listener.get(), 0), 0);
  const net::SocketAddress address = net::LocalAddress(listener.get());
  std::vector<UniqueFd> fill;
  for (int i = 0; i < 4; ++i) fill.push_back(*net::StartConnect(address));
  dialer->AddCandidates({address});
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("no answer so far"); }));
  ASSERT_TRUE(loop.Until([&] { return ProblemHas("no answer within"); }));
  EXPECT_EQ(dialer->Problem(), fmt::format("{}: no answer within 30ms", address.ToString()));
}

TEST_F(RootDialerTest, TheProvenRootsRefusalIsFinal) {
  prover = std::make_unique<RefusingProver>();
  const uint16_t port = OpenDoor({net::FreePort()});
  MakeDialer();
  on_rejected = [this] { dialer.reset(); };
  dialer->AddCandidates({At(port)});
  ASSERT_TRUE(loop.Until([&] { return !rejected.empty(); }));
  EXPECT_EQ(
      rejected.front(),
      (Error{Code::kAuthentication,
             fmt::format(
                 "127.0.0.1:{} refused this rank: by its munge credential it runs as uid 7, this rank as 8",
                 port),
             "one user"}));
  EXPECT_TRUE(links.empty());
  EXPECT_THAT(listeners[0]->last_refusal(),
              testing::EndsWith("by its munge credential it runs as uid 7, this rank as 8"));
}

TEST_F(RootDialerTest, TheLinkHandlerMayDestroyIt) {
  const uint16_t port = OpenDoor({net::FreePort()});
  MakeDialer();
  on_link = [this] { dialer.reset(); };
  dialer->AddCandidates({At(port), At(net::FreePort())});
  ASSERT_TRUE(loop.Until([&] { return Linked(); }));
  EXPECT_EQ(dialer, nullptr);
  EXPECT_TRUE(links.front()->open());
}

TEST_F(RootDialerTest, DestroyedAtAnyMomentItLeavesNothingBehind) {
  Stranger stranger;
  OpenStranger(stranger, "");
  const uint16_t port = OpenDoor({net::FreePort()});
  const auto before = net::OpenDescriptors();
  for (int rounds = 0; rounds < 8; ++rounds) {
    MakeDialer();
    dialer->AddCandidates({At(PortOf(stranger)), At(port), At(net::FreePort())});
    for (int i = 0; i < rounds; ++i) loop->RunOnce(Deadline::After(milliseconds(1)));
    dialer.reset();
    links.clear();
    loop.Settle();
    accepted.clear();
    stranger.clients.clear();
  }
  listeners.front()->Close();
  loop.Settle();
  EXPECT_TRUE(loop.Until([&] { return net::OpenDescriptors() <= before - 1; }));
}

}  // namespace
}  // namespace muster::rendezvous
