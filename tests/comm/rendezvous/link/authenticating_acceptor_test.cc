#include "comm/rendezvous/link/authenticating_acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/rendezvous/link/root_dialer.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;

const auth::MeetingId kMeeting = auth::MeetingIdOf("root_door_test");

std::unique_ptr<auth::Prover> SecretProver(char digit) {
  return auth::MakeSecretProver(*auth::JobSecret::Parse(std::string(64, digit), "MUSTER_SECRET"));
}

class AuthenticatingAcceptorTest : public testing::Test {
 protected:
  AuthenticatingAcceptorTest() : loopback(*net::SocketAddress::FromNumeric("127.0.0.1", 0)) {}

  void Open(Duration handshake_timeout = seconds(10), size_t most_half_open = 256) {
    listener = std::make_unique<AuthenticatingAcceptor>(
        *loop,
        AuthenticatingAcceptor::Params{kMeeting, handshake_timeout, most_half_open, "this rank", source},
        *prover, [this](std::unique_ptr<net::FrameStream> link, const net::SocketAddress& from) {
          EXPECT_EQ(from.Host(), "127.0.0.1");
          links.push_back(std::move(link));
          links.back()->Start([this](ByteView frame) { heard.emplace_back(AsText(frame)); },
                              [](const Error&) {});
        });
    const auto opened = listener->Open({loopback}, {net::FreePort(), net::FreePort(), net::FreePort()});
    ASSERT_TRUE(opened) << opened.error().message;
    port = *opened;
  }
  net::SocketAddress Address() const {
    net::SocketAddress address = loopback;
    address.set_port(port);
    return address;
  }
  RootDialer& Dial(auth::Prover& client_prover, auth::MeetingId meeting = kMeeting) {
    dialers.push_back(std::make_unique<RootDialer>(
        *loop, RootDialer::Params{meeting, seconds(10), seconds(10)}, client_prover,
        [this](std::unique_ptr<net::FrameStream> link) {
          dialed.push_back(std::move(link));
          dialed.back()->Start([this](ByteView frame) { heard.emplace_back(AsText(frame)); },
                               [](const Error&) {});
        },
        [](const Error& error) { ADD_FAILURE() << error.message; }));
    dialers.back()->AddCandidates({Address()});
    return *dialers.back();
  }
  UniqueFd ConnectAs(std::string_view text) {
    auto fd = net::StartConnect(Address());
    EXPECT_TRUE(fd);
    EXPECT_TRUE(loop.Until([&] { return send(fd->get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0; }));
    return *std::move(fd);
  }
  // From another address of loopback.
  UniqueFd ConnectFrom(const std::string& host) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto local = *net::SocketAddress::FromNumeric(host, 0);
    EXPECT_EQ(bind(fd.get(), local.get(), local.length()), 0);
    EXPECT_EQ(connect(fd.get(), Address().get(), Address().length()), 0);
    return fd;
  }
  // The hello that every process with the meeting's key can send.
  void SendHello(const UniqueFd& fd) {
    auth::HelloMessage hello{
        auth::kProtocolVersion, prover->method(), kMeeting, {}, auth::MakeKeyPair().public_key};
    const Bytes message = Encode(hello);
    Bytes frame = {static_cast<uint8_t>(message.size()), 0, 0, 0};
    frame.insert(frame.end(), message.begin(), message.end());
    EXPECT_EQ(send(fd.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  }
  // A connection that the other side has closed reads as its end, or as a reset.
  bool IsClosed(const UniqueFd& fd) {
    char byte = 0;
    const ssize_t count = recv(fd.get(), &byte, 1, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }

  net::TestLoop loop;
  net::SocketAddress loopback;
  std::unique_ptr<auth::Prover> prover = auth::MakeNoneProver();
  uint16_t port = 0;
  // Each address of loopback is a node.
  std::function<std::string(const net::SocketAddress&)> source = &net::SocketAddress::Host;
  std::vector<std::unique_ptr<net::FrameStream>> links;
  std::vector<std::unique_ptr<net::FrameStream>> dialed;
  std::vector<std::string> heard;
  std::unique_ptr<AuthenticatingAcceptor> listener;
  std::vector<std::unique_ptr<RootDialer>> dialers;
};

TEST_F(AuthenticatingAcceptorTest, LetsInWhoProvesItselfAndSealsTheLink) {
  Open();
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
  dialed[0]->Send(AsBytes("up"));
  links[0]->Send(AsBytes("down"));
  ASSERT_TRUE(loop.Until([&] { return heard.size() == 2; }));
  EXPECT_THAT(heard, testing::UnorderedElementsAre("up", "down"));
  // Past the handshake a message may be long.
  dialed[0]->Send(AsBytes(std::string(300000, 'x')));
  ASSERT_TRUE(loop.Until([&] { return heard.size() == 3; }));
}

TEST_F(AuthenticatingAcceptorTest, WithTheSecret) {
  prover = SecretProver('a');
  Open();
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
}

TEST_F(AuthenticatingAcceptorTest, AnotherSecretIsTurnedAwayAndSaid) {
  prover = SecretProver('a');
  Open();
  const auto other = SecretProver('b');
  RootDialer& dialer = Dial(*other);
  ASSERT_TRUE(loop.Until([&] { return dialer.rejection() && !listener->last_refusal().empty(); }));
  EXPECT_EQ(
      *dialer.rejection(),
      (Error{
          Code::kAuthentication,
          fmt::format("127.0.0.1:{} has another job secret than this rank, or the handshake was changed on "
                      "the way",
                      port),
          "export MUSTER_SECRET once in the batch script, before srun: it must be the same on every rank"}));
  EXPECT_EQ(dialer.Problem(), dialer.rejection()->message);
  EXPECT_THAT(
      listener->last_refusal(),
      testing::MatchesRegex("127.0.0.1:[0-9]+ has another job secret than this rank, or the handshake was "
                            "changed on the way"));
  EXPECT_TRUE(links.empty());
}

TEST_F(AuthenticatingAcceptorTest, AnotherMethodIsTurnedAwayAndSaid) {
  prover = SecretProver('a');
  Open();
  const auto none = auth::MakeNoneProver();
  RootDialer& dialer = Dial(*none);
  ASSERT_TRUE(loop.Until([&] { return dialer.rejection().has_value(); }));
  EXPECT_EQ(dialer.rejection()->message, fmt::format("127.0.0.1:{} uses auth secret, this rank none", port));
  EXPECT_THAT(listener->last_refusal(), HasSubstr("uses auth none, this rank secret"));
}

TEST_F(AuthenticatingAcceptorTest, AnotherLaunchIsAStranger) {
  const LogCapture log;
  Open();
  RootDialer& dialer = Dial(*prover, auth::MeetingIdOf("another launch"));
  ASSERT_TRUE(loop.Until([&] { return dialer.Problem().find("belongs") != std::string::npos; }));
  EXPECT_EQ(dialer.Problem(), fmt::format("127.0.0.1:{} belongs to another launch", port));
  EXPECT_FALSE(dialer.rejection());
  EXPECT_EQ(listener->last_refusal(), "");
  EXPECT_THAT(log.Text(),
              ContainsRegex("muster: rejected a connection: 127.0.0.1:[0-9]+ belongs to another launch\n"));
}

TEST_F(AuthenticatingAcceptorTest, ASilentStrangerIsTurnedAwayInTime) {
  const LogCapture log;
  Open(milliseconds(30));
  const UniqueFd stranger = ConnectAs("");
  ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
  EXPECT_THAT(log.Text(),
              ContainsRegex("rejected a connection: 127.0.0.1:[0-9]+: it did not prove its identity within "
                            "30ms\n"));
}

TEST_F(AuthenticatingAcceptorTest, ATalkingStrangerIsTurnedAwayAtOnce) {
  const LogCapture log;
  Open();
  const UniqueFd stranger = ConnectAs("GET / HTTP/1.1\r\nHost: gpu01\r\n\r\n");
  ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
  EXPECT_THAT(log.Text(), HasSubstr("a message of 542393671 bytes is longer than allowed here"));
}

TEST_F(AuthenticatingAcceptorTest, AStrangerInTheFormOfAFrameIsTurnedAwayAtOnce) {
  const LogCapture log;
  Open();
  const UniqueFd stranger = ConnectAs(std::string_view("\3\0\0\0abc", 7));
  ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
  EXPECT_THAT(log.Text(), HasSubstr("is not a muster peer"));
}

TEST_F(AuthenticatingAcceptorTest, AStrangerThatHangsUpIsForgotten) {
  const LogCapture log;
  Open();
  ConnectAs("");
  ASSERT_TRUE(loop.Until([&] { return log.Has("it closed the connection"); }));
}

TEST_F(AuthenticatingAcceptorTest, ManyStrangersDoNotFillTheLog) {
  const LogCapture log;
  Open();
  for (int i = 0; i < 30; ++i) {
    const UniqueFd stranger = ConnectAs(std::string_view("\3\0\0\0abc", 7));
    ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
  }
  EXPECT_EQ(std::ranges::count(log.Text(), '\n'), RejectionLog::kLoggedPerMinute);
  listener.reset();
  EXPECT_THAT(log.Text(),
              testing::EndsWith("muster: warning: rejected 25 more connections at the root's port "
                                "(not logged one by one)\n"));
}

TEST_F(AuthenticatingAcceptorTest, SilentStrangersOfOneAddressGiveWayAtOnce) {
  const LogCapture log;
  Open(seconds(60), 6);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(ConnectAs(""));
    loop.Settle();
  }
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
  EXPECT_TRUE(IsClosed(strangers.front()));
  EXPECT_FALSE(IsClosed(strangers.back()));
  EXPECT_THAT(log.Text(), HasSubstr(": its place was needed, and it had not proven its identity\n"));
}

TEST_F(AuthenticatingAcceptorTest, SilentStrangersOfManyAddressesGiveWayAfterAMoment) {
  Open(seconds(60), 6);
  std::vector<UniqueFd> strangers;
  for (int i = 2; i < 30; ++i) strangers.push_back(ConnectFrom("127.0.0." + std::to_string(i)));
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
}

// They send a valid hello, are answered, and stay.
TEST_F(AuthenticatingAcceptorTest, AHelloAloneKeepsNobodyOut) {
  Open(seconds(60), 6);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(ConnectAs(""));
    SendHello(strangers.back());
  }
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
}

TEST_F(AuthenticatingAcceptorTest, MoreHonestLeadersThanPlacesAllGetInBesideStrangers) {
  prover = SecretProver('a');
  Open(seconds(60), 16);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(ConnectAs(""));
  constexpr size_t kLeaders = 200;
  for (size_t i = 0; i < kLeaders; ++i) Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return links.size() == kLeaders && dialed.size() == kLeaders; }));
}

TEST_F(AuthenticatingAcceptorTest, ManyFromOneAddressStayWhereThereIsRoom) {
  const LogCapture log;
  Open(seconds(60), 9);
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 8; ++i) slow.push_back(ConnectAs(""));
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
  EXPECT_EQ(log.Text(), "");
  EXPECT_FALSE(IsClosed(slow.front()));
}

// Answers on command, as a munge worker that has much to do.
class QueueProver final : public auth::Prover {
 public:
  struct Question {
    std::string source;
    std::weak_ptr<void> wanted;
    std::function<void()> answer;
  };
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  void Make(auth::Role, ByteView, std::function<void(Result<Bytes>)>) override { FAIL(); }
  void Check(auth::Role, ByteView, ByteView, std::function<void(Status)>) override { FAIL(); }
  Pending MakeFor(const std::string& source, auth::Role, ByteView,
                  std::function<void(Result<Bytes>)> done) override {
    return Ask(source, [done = std::move(done)] { done(Bytes()); });
  }
  Pending CheckFor(const std::string& source, auth::Role, ByteView, ByteView,
                   std::function<void(Status)> done) override {
    return Ask(source, [done = std::move(done)] { done({}); });
  }
  std::vector<Question> questions;

 private:
  Pending Ask(const std::string& source, std::function<void()> answer) {
    Pending pending = std::make_shared<int>(0);
    questions.push_back({source, pending, std::move(answer)});
    return pending;
  }
};

class BusyProverTest : public AuthenticatingAcceptorTest {
 protected:
  BusyProverTest() { prover = std::make_unique<QueueProver>(); }
  std::vector<QueueProver::Question>& questions() { return dynamic_cast<QueueProver&>(*prover).questions; }
};

TEST_F(BusyProverTest, AQuestionIsWithdrawnWithItsConnection) {
  Open();
  UniqueFd stranger = ConnectFrom("127.0.0.7");
  SendHello(stranger);
  ASSERT_TRUE(loop.Until([&] { return questions().size() == 1; }));
  EXPECT_EQ(questions()[0].source, "127.0.0.7");
  EXPECT_FALSE(questions()[0].wanted.expired());
  stranger.Reset();
  ASSERT_TRUE(loop.Until([&] { return questions()[0].wanted.expired(); }));
  questions()[0].answer();
}

// An answer costs curve operations: a flood of first messages from one address must not delay another's.
TEST_F(BusyProverTest, FirstMessagesAreAnsweredInTurnOfTheirAddresses) {
  Open();
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(ConnectFrom("127.0.0.7"));
    SendHello(strangers.back());
  }
  const UniqueFd leader = ConnectFrom("127.0.0.8");
  SendHello(leader);
  const auto of_leader = [this] {
    return std::ranges::find(questions(), "127.0.0.8", &QueueProver::Question::source);
  };
  ASSERT_TRUE(loop.Until([&] { return of_leader() != questions().end(); }));
  EXPECT_LE(of_leader() - questions().begin(), 4);
  // Peers that have closed their connections get no answer.
  strangers.clear();
  loop.Settle();
  EXPECT_LE(questions().size(), 8U);
  EXPECT_FALSE(IsClosed(leader));
}

// They hold all places while this side owes them the answer.
TEST_F(BusyProverTest, FirstMessagesOfOneAddressKeepNoOtherOut) {
  Open(seconds(60), 12);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(ConnectFrom("127.0.0.7"));
    SendHello(strangers.back());
  }
  ASSERT_TRUE(loop.Until([&] { return questions().size() >= 12; }));
  const UniqueFd leader = ConnectFrom("127.0.0.8");
  SendHello(leader);
  ASSERT_TRUE(loop.Until([&] { return questions().back().source == "127.0.0.8"; }));
  EXPECT_FALSE(IsClosed(leader));
  EXPECT_FALSE(questions().back().wanted.expired());
}

// Another user of the root's node can take each address of loopback.
TEST_F(BusyProverTest, LoopbackHasOneTurn) {
  source = net::SourceOf;
  Open();
  std::vector<UniqueFd> strangers;
  for (int i = 2; i < 6; ++i) {
    strangers.push_back(ConnectFrom("127.0.0." + std::to_string(i)));
    SendHello(strangers.back());
  }
  ASSERT_TRUE(loop.Until([&] { return questions().size() == 4; }));
  for (const auto& question : questions()) EXPECT_EQ(question.source, "loopback");
}

TEST_F(BusyProverTest, ASecondMessageBeforeTheAnswerEndsTheConnection) {
  const LogCapture log;
  Open();
  const UniqueFd stranger = ConnectFrom("127.0.0.7");
  SendHello(stranger);
  SendHello(stranger);
  ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
  EXPECT_THAT(log.Text(), HasSubstr("it sent a second message before it had an answer"));
  EXPECT_TRUE(questions().empty());
}

// The deadline is the peer's: while the prover answers others, a process that waits for it loses nothing.
TEST_F(BusyProverTest, WaitingForTheOwnProverIsNotThePeersTime) {
  Open(milliseconds(300));
  const UniqueFd leader = ConnectAs("");
  SendHello(leader);
  ASSERT_TRUE(loop.Until([&] { return questions().size() == 1; }));
  for (size_t i = 1; i <= 8; ++i) {
    const UniqueFd other = ConnectAs("");
    SendHello(other);
    ASSERT_TRUE(loop.Until([&] { return questions().size() == i + 1; }));
    loop.For(milliseconds(100));
    questions().back().answer();
  }
  EXPECT_FALSE(IsClosed(leader));
  EXPECT_EQ(listener->last_refusal(), "");
  EXPECT_FALSE(questions().front().wanted.expired());
}

TEST_F(AuthenticatingAcceptorTest, ASlowStrangerDelaysNobody) {
  Open(seconds(60));
  // A byte of a frame, and then nothing.
  const UniqueFd slow = ConnectAs("\7");
  for (size_t i = 1; i <= 5; ++i) {
    Dial(*prover);
    ASSERT_TRUE(loop.Until([&] { return links.size() == i && dialed.size() == i; }));
  }
  EXPECT_FALSE(IsClosed(slow));
}

// Never answers, like a munged that hangs.
class HangingProver final : public auth::Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  void Make(auth::Role, ByteView, std::function<void(Result<Bytes>)>) override {}
  void Check(auth::Role, ByteView, ByteView, std::function<void(Status)>) override {}
};

// Makes a proof, and hangs over the peer's.
class HalfHangingProver final : public auth::Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  void Make(auth::Role, ByteView, std::function<void(Result<Bytes>)> done) override { done(Bytes()); }
  void Check(auth::Role, ByteView, ByteView, std::function<void(Status)>) override {}
};

TEST_F(AuthenticatingAcceptorTest, AMungedThatHangsIsNamedByTheNodeWhereItHangs) {
  prover = std::make_unique<HangingProver>();
  Open(milliseconds(50));
  HangingProver other;
  RootDialer& dialer = Dial(other);
  ASSERT_TRUE(loop.Until([&] { return !listener->last_refusal().empty(); }));
  EXPECT_THAT(
      listener->last_refusal(),
      testing::MatchesRegex("127.0.0.1:[0-9]+: auth munge of this rank itself did not answer within 50ms"));
  EXPECT_THAT(dialer.Problem(), testing::Not(HasSubstr("munged")));
}

TEST_F(AuthenticatingAcceptorTest, AMungedThatHangsIsNamedByWhoDials) {
  prover = std::make_unique<HalfHangingProver>();
  Open(seconds(60));
  HalfHangingProver other;
  dialers.push_back(std::make_unique<RootDialer>(
      *loop, RootDialer::Params{kMeeting, milliseconds(50), seconds(10)}, other, nullptr, nullptr));
  dialers.back()->AddCandidates({Address()});
  ASSERT_TRUE(loop.Until([&] { return dialers.back()->Problem().find("munged") != std::string::npos; }));
  EXPECT_EQ(dialers.back()->Problem(),
            fmt::format("127.0.0.1:{}: munged on this node did not answer within 50ms", port));
}

TEST_F(AuthenticatingAcceptorTest, AMungedThatHangsIsNamedByWhoDialsAlsoWhereTheRootHangsUpFirst) {
  prover = std::make_unique<HalfHangingProver>();
  Open(milliseconds(50));
  HalfHangingProver other;
  RootDialer& dialer = Dial(other);
  ASSERT_TRUE(loop.Until([&] { return dialer.Problem().find("munged") != std::string::npos; }));
  EXPECT_EQ(
      dialer.Problem(),
      fmt::format("127.0.0.1:{}: munged on this node did not answer, and it closed the connection", port));
}

TEST_F(AuthenticatingAcceptorTest, TheFirstFreePortIsTaken) {
  const auto taken = net::Listen(loopback);
  const uint16_t first = net::LocalAddress(taken->get()).port();
  const uint16_t second = net::FreePort();
  AuthenticatingAcceptor other(*loop, {kMeeting, seconds(1)}, *prover, nullptr);
  EXPECT_EQ(other.Open({loopback}, {first, second}), second);
  EXPECT_TRUE(other.open());
}

TEST_F(AuthenticatingAcceptorTest, APortMustBeFreeOnEveryAddress) {
  // A port of no other test: tests beside this one take ports of 127.0.0.1.
  const std::string own = fmt::format("127.{}.{}", 1 + (getpid() / 256) % 255, getpid() % 256);
  const auto first_loopback = *net::SocketAddress::FromNumeric(own + ".1", 0);
  const auto second_loopback = *net::SocketAddress::FromNumeric(own + ".2", 0);
  const auto taken = net::Listen(second_loopback);
  const uint16_t first = net::LocalAddress(taken->get()).port();
  const uint16_t second = net::FreePort();
  AuthenticatingAcceptor other(*loop, {kMeeting, seconds(1)}, *prover, nullptr);
  EXPECT_EQ(other.Open({first_loopback, second_loopback}, {first, second}), second);
  // And nothing of the first try is held.
  net::SocketAddress address = first_loopback;
  address.set_port(first);
  EXPECT_TRUE(net::Listen(address));
}

TEST_F(AuthenticatingAcceptorTest, WithoutAFreePortItSaysWhy) {
  const auto taken = net::Listen(loopback);
  const uint16_t first = net::LocalAddress(taken->get()).port();
  AuthenticatingAcceptor other(*loop, {kMeeting, seconds(1)}, *prover, nullptr);
  const auto opened = other.Open({loopback}, {first});
  ASSERT_FALSE(opened);
  EXPECT_EQ(
      opened.error(),
      (Error{Code::kSystem,
             fmt::format("no port to listen on among {0}: cannot bind 127.0.0.1:{0}: Address already in use",
                         first),
             ""}));
  EXPECT_FALSE(other.open());
}

TEST_F(AuthenticatingAcceptorTest, ClosedItRefusesAndDropsTheHalfOpen) {
  const auto before = net::OpenDescriptors();
  {
    Open();
    const UniqueFd stranger = ConnectAs("");
    loop.Settle();
    listener->Close();
    EXPECT_FALSE(listener->open());
    ASSERT_TRUE(loop.Until([&] { return IsClosed(stranger); }));
    EXPECT_TRUE(net::Listen(Address())) << "the port is free again";
  }
  listener.reset();
  EXPECT_TRUE(loop.Until([&] { return net::OpenDescriptors() <= before; }));
}

}  // namespace
}  // namespace muster::rendezvous
