#include "comm/rendezvous/link/authenticating_acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/descriptor_limit.h"
#include "tests/comm/net/other_user.h"
#include "tests/comm/rendezvous/link/acceptor_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;

std::unique_ptr<auth::Prover> SecretProver(char digit) {
  return auth::MakeSecretProver(*auth::JobSecret::Parse(std::string(64, digit), "MUSTER_SECRET"));
}

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

TEST_F(AuthenticatingAcceptorTest, OneKeyPairServesAllPeersUntilItCloses) {
  Open();
  const auto first = AnswerOfTheListener();
  const auto second = AnswerOfTheListener();
  listener->Close();
  const auto opened = listener->Open(loopback, {port});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto later = AnswerOfTheListener();
  ASSERT_TRUE(first && second && later);
  EXPECT_EQ(first->public_key, second->public_key);
  EXPECT_NE(first->nonce, second->nonce);
  EXPECT_NE(first->public_key, later->public_key);
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

// A leader tries several addresses of the root, and keeps one connection.
TEST_F(AuthenticatingAcceptorTest, AnAttemptThatALeaderGivesUpIsNoStranger) {
  const LogCapture log(LogLevel::kDebug);
  Open();
  ConnectAs(std::string_view("\7\0\0\0MUSTER\1", 11));
  ASSERT_TRUE(loop.Until([&] { return log.Has("127.0.0.1"); }));
  EXPECT_THAT(log.Text(), HasSubstr("gave up an attempt to connect"));
  EXPECT_THAT(log.Text(), testing::Not(HasSubstr("rejected")));
}

TEST_F(AuthenticatingAcceptorTest, ManyAttemptsThatAreGivenUpDoNotFillTheLog) {
  for (const auto& [level, lines] : {std::pair(LogLevel::kDebug, RejectionLog::kLoggedPerMinute + 1),
                                     std::pair(LogLevel::kInfo, uint64_t{0})}) {
    const LogCapture log(level);
    Open();
    for (int i = 0; i < 30; ++i) {
      ConnectAs(std::string_view("\7\0\0\0MUSTER\1", 11));
      loop.Settle();
    }
    listener.reset();
    EXPECT_EQ(std::ranges::count(log.Text(), '\n'), lines) << log.Text();
  }
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

// A hello that has come keeps its connection, but no more connections are accepted meanwhile.
TEST_F(AuthenticatingAcceptorTest, ManyHellosAtOnceTakeFewDescriptors) {
  Open(seconds(60), 12);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 60; ++i) {
    strangers.push_back(ConnectFrom("127.0.0.1"));
    SendHello(strangers.back());
  }
  const auto before = net::OpenDescriptors();
  std::ptrdiff_t most = 0;
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] {
    most = std::max(most, net::OpenDescriptors() - before);
    return !links.empty() && !dialed.empty();
  }));
  // The dialer has some of its own.
  EXPECT_LE(most, 12 + 2 + 4);
}

// The loop served only its timer: one of these connections might have given way long ago.
TEST_F(AuthenticatingAcceptorTest, HellosOfConnectionsThatWereSilentAreAnswered) {
  Open(seconds(60), 5);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 5; ++i) strangers.push_back(ConnectAs(""));
  loop.For(net::HalfOpenTable::kPatience);
  for (const UniqueFd& stranger : strangers) SendHello(stranger);
  loop.Settle();
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
  // On a busy machine the root refuses many of them, and each comes again.
  for (size_t in = 10; in <= kLeaders; in += 10)
    ASSERT_TRUE(loop.Until([&] { return links.size() >= in && dialed.size() >= in; })) << in;
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

// More of them than a round of the loop serves. It accepts all, at two ports, and then does not run for longer than the limit.
TEST_F(AuthenticatingAcceptorTest, HellosThatCameWhileTheLoopDidNotRunAreAnswered) {
  const LogCapture log;
  Open(milliseconds(1));
  const auto second = listener->Open(loopback, {net::FreePort(), net::FreePort()});
  ASSERT_TRUE(second);
  std::vector<UniqueFd> members;
  for (const uint16_t to : {port, *second}) {
    port = to;
    for (int i = 0; i < 50; ++i) {
      members.push_back(ConnectFrom("127.0.0.1"));
      SendHello(members.back());
    }
  }
  loop->RunOnce(Deadline::After(Duration::zero()));
  const Deadline limit = Deadline::After(milliseconds(1));
  while (!limit.Expired()) usleep(1000);
  loop->RunOnce(Deadline::After(Duration::zero()));
  EXPECT_EQ(std::ranges::count_if(members, [this](const UniqueFd& fd) { return IsClosed(fd); }), 0);
  const auto is_answered = [](const UniqueFd& fd) {
    char byte = 0;
    return recv(fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  };
  EXPECT_TRUE(loop.Until([&] { return std::ranges::all_of(members, is_answered); })) << log.Text();
}

// Never answers, like a munged that hangs.
class HangingProver final : public auth::Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  Pending Make(const std::string&, auth::Role, ByteView, std::function<void(Result<Bytes>)>) override {
    return nullptr;
  }
  Pending Check(const std::string&, auth::Role, ByteView, ByteView, std::function<void(Status)>) override {
    return nullptr;
  }
};

// Makes a proof, and hangs over the peer's.
class HalfHangingProver final : public auth::Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  Pending Make(const std::string&, auth::Role, ByteView, std::function<void(Result<Bytes>)> done) override {
    done(Bytes());
    return nullptr;
  }
  Pending Check(const std::string&, auth::Role, ByteView, ByteView, std::function<void(Status)>) override {
    return nullptr;
  }
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

TEST_F(AuthenticatingAcceptorTest, StrangersDoNotTakeTheLastDescriptors) {
  Open();
  const net::OtherProcess stranger([this] { return ConnectAndStay(100); });
  ASSERT_TRUE(stranger.acted());
  const net::DescriptorLimit limit(48);
  // The listener's queue is worked off, and both ends of a member's connection still find a descriptor.
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
  const std::vector<UniqueFd> own = net::TakeAllDescriptors();
  EXPECT_GE(own.size(), 5u) << "some are left for this process itself";
}

TEST_F(AuthenticatingAcceptorTest, WithoutAnyDescriptorItRestsAndGoesOn) {
  const LogCapture log;
  Open();
  const net::OtherProcess stranger([this] { return ConnectAndStay(1); });
  ASSERT_TRUE(stranger.acted());
  {
    const net::DescriptorLimit limit(8);
    std::vector<UniqueFd> all = net::TakeAllDescriptors();
    int rounds = 0;
    const Deadline limit_of_test = Deadline::After(milliseconds(350));
    for (; !limit_of_test.Expired() || rounds < 5; ++rounds) loop->RunOnce(limit_of_test);
    EXPECT_LT(rounds, 40) << "it spins";
    all.clear();
    EXPECT_EQ(log.Text(), "muster: warning: cannot accept a connection: Too many open files; trying again\n");
  }
  Dial(*prover);
  ASSERT_TRUE(loop.Until([&] { return !links.empty() && !dialed.empty(); }));
}

TEST_F(AuthenticatingAcceptorTest, TheFirstFreePortIsTaken) {
  const auto taken = net::Listen(loopback);
  const uint16_t first = net::LocalAddress(taken->get()).port();
  const uint16_t second = net::FreePort();
  AuthenticatingAcceptor other(*loop, {kMeeting, seconds(1)}, *prover, nullptr);
  EXPECT_EQ(other.Open(loopback, {first, second}), second);
  EXPECT_TRUE(other.open());
}

TEST_F(AuthenticatingAcceptorTest, WithoutAFreePortItSaysWhy) {
  const auto taken = net::Listen(loopback);
  const uint16_t first = net::LocalAddress(taken->get()).port();
  AuthenticatingAcceptor other(*loop, {kMeeting, seconds(1)}, *prover, nullptr);
  const auto opened = other.Open(loopback, {first});
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
