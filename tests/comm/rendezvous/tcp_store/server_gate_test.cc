#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/log/rejection_log.h"
#include "comm/rendezvous/tcp_store/request.h"
#include "comm/rendezvous/tcp_store/server.h"
#include "tests/comm/rendezvous/tcp_store/server_peer.h"

namespace muster::tcp_store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(ServerTest, TheGateTurnsStrangersAway) {
  std::vector<std::pair<net::SocketAddress, ServerOptions::Verdict>> asked;
  Start({.gate = [&](const net::SocketAddress& peer, ServerOptions::Verdict verdict) {
    asked.emplace_back(peer, std::move(verdict));
  }});
  Peer friendly = Client();
  Peer stranger = Client();
  friendly.Send({Operation::kNumKeys, {}});
  stranger.Send({Operation::kNumKeys, {}});
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 2; }));
  loop.Settle();
  friendly.Receive();
  EXPECT_THAT(friendly.received, IsEmpty()) << "nobody is served before the verdict";
  asked[0].second(Member{});
  asked[1].second(Fail(Code::kAuthentication, "it belongs to uid 1234"));
  friendly.ExpectNumber(0);
  stranger.ExpectClosed();
  EXPECT_THAT(log.Text(), HasSubstr(asked[1].first.ToString() + ": it belongs to uid 1234\n"));
}

// The questions to the gate, to be answered by hand.
struct GateTest : ServerTest {
  void StartGated(ServerOptions options = {}) {
    options.gate = [this](const net::SocketAddress& peer, ServerOptions::Verdict verdict) {
      asked.emplace_back(peer, std::move(verdict));
    };
    Start(std::move(options));
  }
  std::vector<std::pair<net::SocketAddress, ServerOptions::Verdict>> asked;
};

TEST_F(GateTest, NobodyIsAskedBeforeTheGreeting) {
  StartGated();
  Peer silent = Connect();
  Peer half = Connect();
  half.Send(Bytes{0, 0xce, 0xf7});
  loop.Settle();
  EXPECT_EQ(asked.size(), 0u);
  half.Send(Bytes{0x85, 0x3c, 7});
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 1; }));
  asked[0].second(Member{});
  half.ExpectNumber(0);
}

TEST_F(GateTest, WhoHangsUpWhileTheQuestionIsOpenIsGoneAtOnce) {
  StartGated();
  Peer peer = Client();
  peer.Send({Operation::kNumKeys, {}});
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 1; }));
  EXPECT_EQ(server->clients(), 1u);
  peer.Hang();
  ASSERT_TRUE(Until(loop, [&] { return server->clients() == 0; }));
  asked[0].second(Member{});
  EXPECT_EQ(log.Text(), "");
}

// The supervisor of a program is stopped for longer than the time for a greeting.
TEST_F(GateTest, WhoseOwnerIsUnknownIsAskedForAgain) {
  StartGated({.handshake = std::chrono::milliseconds(20)});
  Peer program = Client();
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 1; }));
  Peer silent = Connect();
  silent.ExpectClosed();
  asked[0].second(std::nullopt);
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 2; }));
  EXPECT_EQ(asked[0].first, asked[1].first);
  asked[1].second(Member{});
  program.Send({Operation::kNumKeys, {}});
  program.ExpectNumber(0);
}

TEST_F(GateTest, QuestionsTakeTurns) {
  StartGated({.entrance = {.questions_of_host = 2}});
  std::vector<Peer> peers;
  for (int i = 0; i < 5; ++i) peers.push_back(Client());
  ASSERT_TRUE(Until(loop, [&] { return server->clients() == 5 && asked.size() == 2; }));
  loop.Settle();
  EXPECT_EQ(asked.size(), 2u);
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(Until(loop, [&] { return asked.size() > i; }));
    asked[i].second(Member{});
  }
  for (Peer& peer : peers) {
    peer.Send({Operation::kNumKeys, {}});
    peer.ExpectNumber(0);
  }
}

TEST_F(GateTest, TheSilentGiveWayAndTheAdmittedDoNot) {
  StartGated({.entrance = {.clients = 4}});
  Peer member = Client();
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 1; }));
  asked[0].second(Member{});
  std::vector<Peer> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(Connect());
  ASSERT_TRUE(Until(loop, [&] { return server->clients() == 5; }));
  Peer program = Client();
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 2; }))
      << "it came last, and is asked for all the same";
  asked[1].second(Member{});
  program.Send({Operation::kNumKeys, {}});
  program.ExpectNumber(0);
  member.Send({Operation::kNumKeys, {}});
  member.ExpectNumber(0);
  EXPECT_LE(server->clients(), 6u);
}

// All who wait have greeted: who comes later waits in the kernel, and comes in.
TEST_F(GateTest, NobodyIsRefusedForLackOfRoom) {
  StartGated({.entrance = {.clients = 2}});
  std::vector<Peer> peers;
  for (int i = 0; i < 6; ++i) peers.push_back(Client());
  loop.Settle();
  EXPECT_EQ(server->clients(), 2u);
  for (size_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(Until(loop, [&] { return asked.size() > i; }));
    asked[i].second(Member{});
  }
  for (Peer& peer : peers) {
    peer.Send({Operation::kNumKeys, {}});
    peer.ExpectNumber(0);
  }
}

TEST_F(GateTest, TheScreenTurnsAwayWhoHasJustConnected) {
  bool strange = true;
  StartGated({.screen = [&](const net::SocketAddress&, const net::SocketAddress&) -> Status {
    if (strange) return Fail(Code::kAuthentication, "no node of the group has this address");
    return {};
  }});
  Peer stranger = Client();
  stranger.ExpectClosed();
  EXPECT_EQ(asked.size(), 0u);
  EXPECT_THAT(log.Text(), HasSubstr(": no node of the group has this address\n"));
  strange = false;
  Peer program = Client();
  ASSERT_TRUE(Until(loop, [&] { return asked.size() == 1; }));
}

TEST_F(GateTest, TheLogIsBounded) {
  Start();
  for (int i = 0; i < 50; ++i) {
    Peer stranger = Connect();
    stranger.Send(Text("GET / HTTP/1.1\r\n\r\n"));
    stranger.ExpectClosed();
  }
  const std::string text = log.Text();
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<long>(RejectionLog::kLoggedPerMinute));
  server.reset();
  EXPECT_TRUE(log.Has("rejected 45 more connections to the store"));
}

TEST_F(GateTest, TheLogOfClientsThatThenSendGarbageIsBounded) {
  Start();
  for (int i = 0; i < 50; ++i) {
    Peer stranger = Client();
    stranger.Send(Text("GET / HTTP/1.1\r\n\r\n"));
    stranger.ExpectClosed();
  }
  const std::string text = log.Text();
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<long>(RejectionLog::kLoggedPerMinute));
}

TEST_F(GateTest, EachMemberThatSendsGarbageIsLogged) {
  constexpr auto kMembers = static_cast<long>(RejectionLog::kLoggedPerMinute) + 3;
  Start(
      {.gate = [](const net::SocketAddress&, const ServerOptions::Verdict& verdict) { verdict(Member{}); }});
  for (int i = 0; i < kMembers; ++i) {
    Peer member = Client();
    member.Send(Text("GET / HTTP/1.1\r\n\r\n"));
    member.ExpectClosed();
  }
  const std::string text = log.Text();
  EXPECT_EQ(std::ranges::count(text, '\n'), kMembers);
}

// PyTorch before 2.2.
TEST_F(GateTest, AnOlderClientsUserIsToldWhatToDo) {
  Start({.advice = "set run.store=program"});
  Peer old = Connect();
  old.Send(Text(std::string("\x03\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0", 22)));
  old.ExpectClosed();
  EXPECT_THAT(
      log.Text(),
      HasSubstr(": it does not begin as a client of PyTorch 2.2 or later does; set run.store=program\n"));
}

// Two jobs of a user have ports in common. The advice for older clients means nothing to it.
TEST_F(GateTest, AProcessOfMusterThatSearchesItsRootIsRecognised) {
  Start({.advice = "set run.store=program"});
  Bytes frame = auth::Encode(auth::HelloMessage{});
  frame.insert(frame.begin(), {static_cast<uint8_t>(frame.size()), 0, 0, 0});
  Peer leader = Connect();
  leader.Send(frame);
  leader.ExpectClosed();
  EXPECT_THAT(log.Text(), HasSubstr(": it is a process of muster that searches the root of its launch\n"));
}

// init_process_group, destroy_process_group, init_process_group: the second one finds nothing of the first.
TEST_F(ServerTest, AConnectionAfterAllHaveClosedIsANewRound) {
  int rank = 0;
  Start({.gate =
             [&](const net::SocketAddress&, const ServerOptions::Verdict& verdict) {
               verdict(Member{0, rank});
             },
         .ranks = 2});
  for (int64_t round = 1; round <= 3; ++round) {
    rank = 0;
    Peer zero = Client();
    zero.Send({Operation::kAdd, {"/default_pg/n"}, 1});
    zero.ExpectNumber(1);
    zero.Send({Operation::kAdd, {"/mine"}, 1});
    zero.ExpectNumber(round);
    rank = 1;
    Peer one = Client();
    one.Send({Operation::kAdd, {"/default_pg/n"}, 1});
    one.ExpectNumber(2);
    zero.Hang();
    one.Hang();
    ASSERT_TRUE(Until(loop, [&] { return server->clients() == 0; }));
  }
}

struct SpacesTest : ServerTest {
  void StartSpaces() {
    Start({.gate = [this](const net::SocketAddress&, const ServerOptions::Verdict& verdict) {
      verdict(Member{next});
    }});
  }
  Peer ClientOf(Space space) {
    next = space;
    const size_t before = server->clients();
    Peer peer = Client();
    EXPECT_TRUE(Until(loop, [&] { return server->clients() == before + 1; }));
    return peer;
  }
  Space next = 0;
};

TEST_F(SpacesTest, EachHasItsOwnKeysAndWaits) {
  StartSpaces();
  Peer first = ClientOf(1);
  Peer second = ClientOf(2);
  first.Send({Operation::kAdd, {"/n"}, 5});
  first.ExpectNumber(5);
  second.Send({Operation::kWait, {"/n"}});
  second.Send({Operation::kNumKeys, {}});
  second.ExpectNumber(0);
  Peer also = ClientOf(2);
  also.Send({Operation::kAdd, {"/n"}, 7});
  also.ExpectNumber(7);
  second.Expect({kStopWaiting});
  EXPECT_EQ(server->keys(), 2u);
}

TEST_F(SpacesTest, OneThatIsDroppedGoesWithItsLastClient) {
  StartSpaces();
  Peer first = ClientOf(1);
  Peer second = ClientOf(2);
  for (Peer* peer : {&first, &second}) {
    peer->Send({Operation::kAdd, {"/n"}, 1});
    peer->ExpectNumber(1);
  }
  server->DropBelow(2);
  EXPECT_EQ(server->keys(), 2u) << "it is in use";
  first.Hang();
  ASSERT_TRUE(Until(loop, [&] { return server->clients() == 1; }));
  EXPECT_EQ(server->keys(), 1u);
  second.Hang();
  ASSERT_TRUE(Until(loop, [&] { return server->clients() == 0; }));
  EXPECT_EQ(server->keys(), 1u) << "somebody may still come to it";
  server->DropBelow(3);
  EXPECT_EQ(server->keys(), 0u);
}

TEST_F(ServerTest, AVerdictMayComeAfterTheServersEnd) {
  ServerOptions::Verdict late;
  Start({.gate = [&](const net::SocketAddress&, ServerOptions::Verdict verdict) {
    late = std::move(verdict);
  }});
  Peer peer = Client();
  ASSERT_TRUE(Until(loop, [&] { return static_cast<bool>(late); }));
  server.reset();
  late(Member{});
  peer.ExpectClosed();
}

}  // namespace
}  // namespace muster::tcp_store
