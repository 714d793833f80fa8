#include "comm/rendezvous/tcp_store/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/tcp_store/request.h"
#include "tests/comm/rendezvous/tcp_store/server_peer.h"

namespace muster::tcp_store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(ServerTest, AnswersAPyTorchClient) {
  Start();
  Peer peer = Client();
  peer.Send({Operation::kPing, {}, 0x01020304});
  peer.Expect({4, 3, 2, 1});
  peer.Send({Operation::kAdd, {"init/"}, 1});
  peer.ExpectNumber(1);
  peer.Send({Operation::kSet, {"/k", "v"}});
  peer.Send({Operation::kGet, {"/k"}});
  peer.Expect({1, 0, 0, 0, 0, 0, 0, 0, 'v'});
  EXPECT_EQ(server->keys(), 2u);
}

TEST_F(ServerTest, TakesRequestsHoweverTheyAreCut) {
  Start();
  Peer peer = Connect();
  Bytes stream;
  Encode({Operation::kValidate, {}, kValidationNumber}, stream);
  Encode({Operation::kMultiSet, {"/a", "1", "/b", "2"}}, stream);
  Encode({Operation::kNumKeys, {}}, stream);
  Encode({Operation::kMultiGet, {"/b", "/a"}}, stream);
  for (const uint8_t byte : stream) {
    peer.Send(Bytes{byte});
    loop.Settle();
  }
  Bytes expected;
  PutInteger<int64_t>(2, expected);
  PutText("2", expected);
  PutText("1", expected);
  peer.Expect(expected);
}

TEST_F(ServerTest, WakesWhoWaits) {
  Start();
  Peer one = Client();
  Peer other = Client();
  one.Send({Operation::kWait, {"/a", "/b"}});
  loop.Settle();
  other.Send({Operation::kSet, {"/a", ""}});
  loop.Settle();
  one.Receive();
  EXPECT_THAT(one.received, IsEmpty());
  other.Send({Operation::kSet, {"/b", ""}});
  one.Expect({kStopWaiting});
}

TEST_F(ServerTest, OnesOwnWaitEndsInOrder) {
  Start();
  Peer peer = Client();
  Bytes stream;
  Encode({Operation::kWait, {"/a"}}, stream);
  Encode({Operation::kAdd, {"/a"}, 7}, stream);
  peer.Send(stream);
  Bytes expected;
  PutInteger<int64_t>(7, expected);
  expected.push_back(kStopWaiting);
  peer.Expect(expected);
}

TEST_F(ServerTest, ManyRequestsInOneSegmentAreAllServed) {
  Start();
  Peer peer = Client();
  Bytes stream;
  for (int i = 0; i < 5000; ++i) Encode({Operation::kAdd, {"/n"}, 1}, stream);
  peer.Send(stream);
  Bytes expected;
  for (int64_t i = 1; i <= 5000; ++i) PutInteger(i, expected);
  peer.Expect(expected);
}

TEST_F(ServerTest, LongValuesComeBackWhole) {
  Start();
  Peer peer = Client();
  const std::string value(8 * 1024 * 1024, 'v');
  peer.Send({Operation::kSet, {"/k", value}});
  Bytes expected;
  for (int i = 0; i < 3; ++i) {
    peer.Send({Operation::kGet, {"/k"}});
    PutText(value, expected);
  }
  peer.Expect(expected);
}

struct Stranger {
  Bytes says;
  std::string reason;
};

class StrangerTest : public ServerTest, public testing::WithParamInterface<Stranger> {};

TEST_P(StrangerTest, IsTurnedAwayAndTheOthersDoNotNotice) {
  Start();
  Peer client = Client();
  Peer stranger = Connect();
  stranger.Send(GetParam().says);
  stranger.ExpectClosed();
  EXPECT_THAT(log.Text(), HasSubstr("closed the connection from 127.0.0.1:"));
  EXPECT_THAT(log.Text(), HasSubstr(": " + GetParam().reason + "\n"));
  client.Send({Operation::kNumKeys, {}});
  client.ExpectNumber(0);
  EXPECT_EQ(server->clients(), 1u);
}

Bytes AfterValidate(const Bytes& bytes) {
  Bytes all;
  Encode({Operation::kValidate, {}, kValidationNumber}, all);
  all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

constexpr const char* kNoClient = "it does not begin as a client of PyTorch 2.2 or later does";

INSTANTIATE_TEST_SUITE_P(
    All, StrangerTest,
    testing::Values(
        Stranger{Text("GET / HTTP/1.1\r\n\r\n"), kNoClient}, Stranger{Bytes(5, 0), kNoClient},
        // PyTorch before 2.2: ADD init/ 1.
        Stranger{Text(std::string("\x03\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0", 22)), kNoClient},
        Stranger{AfterValidate({19}), "there is no operation 19"},
        Stranger{AfterValidate({0, 0xce, 0xf7, 0x85, 0x3c}), "a second VALIDATE"},
        Stranger{AfterValidate(Bytes(9, 3)),
                 "a key of 217020518514230019 bytes is longer than the 8192 that are allowed"},
        Stranger{AfterValidate({5, 255, 255, 255, 255, 255, 255, 255, 255}),
                 "a request with 18446744073709551615 keys has more than the 131072 that are allowed"}));

TEST_F(ServerTest, WhoSaysNothingIsClosed) {
  Start({.handshake = std::chrono::milliseconds(50)});
  Peer client = Client();
  Peer silent = Connect();
  Peer slow = Connect();
  slow.Send(Bytes{0, 0xce});
  silent.ExpectClosed();
  slow.ExpectClosed();
  EXPECT_TRUE(log.Has("it sent nothing for 0.1 s"));
  loop.For(std::chrono::milliseconds(60));
  client.Send({Operation::kNumKeys, {}});
  client.ExpectNumber(0);
}

// More of them than a round of the loop serves, which does not run for longer than the limit.
TEST_F(ServerTest, GreetingsThatCameWhileTheLoopDidNotRunAreRead) {
  constexpr Duration kLimit = std::chrono::milliseconds(200);
  Start({.handshake = kLimit});
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(*net::StartConnect(server->address()));
  for (int round = 0; round < 2; ++round) loop->RunOnce(Deadline::After(Duration::zero()));
  const size_t accepted = server->clients();
  ASSERT_GT(accepted, 64U);
  const Deadline limit = Deadline::After(kLimit);
  Bytes greeting;
  Encode({Operation::kValidate, {}, kValidationNumber}, greeting);
  for (const UniqueFd& client : clients) send(client.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
  while (!limit.Expired()) usleep(1000);
  loop->RunOnce(Deadline::After(Duration::zero()));
  EXPECT_EQ(server->clients(), accepted);
}

// The kernel's buffers and the store's are full: the store waits, and serves the others.
TEST_F(ServerTest, WhoDoesNotReadDelaysNobody) {
  Start();
  Peer reader = Client();
  Peer stalled = Client();
  const std::string value(1024 * 1024, 'v');
  stalled.Send({Operation::kSet, {"/k", value}});
  Bytes requests;
  for (int i = 0; i < 10000; ++i) Encode({Operation::kGet, {"/k"}}, requests);
  size_t sent = stalled.SendSome(requests, 0);
  for (int i = 0; i < 100; ++i) {
    loop.Settle();
    sent += stalled.SendSome(requests, sent);
    reader.Send({Operation::kAdd, {"/n"}, 1});
    reader.ExpectNumber(i + 1);
  }
  // Once it reads, it gets all that it asked for.
  const size_t whole = sent / (requests.size() / 10000);
  size_t got = 0;
  ASSERT_GE(whole, 3u);
  ASSERT_TRUE(Until(loop, [&] {
    stalled.Receive();
    got += stalled.received.size();
    stalled.received.clear();
    return got >= 3 * (8 + value.size());
  }));
}

TEST_F(ServerTest, WhoStopsInTheMiddleDelaysNobody) {
  Start();
  Peer reader = Client();
  Peer half = Client();
  half.Send(Bytes{1, 2, 0, 0, 0, 0, 0, 0, 0, '/'});
  reader.Send({Operation::kNumKeys, {}});
  reader.ExpectNumber(0);
  half.Hang();
  ASSERT_TRUE(Until(loop, [&] { return server->clients() == 1; }));
}

TEST_F(ServerTest, AnswersThatWaitHaveALimitForAllTogether) {
  Start({.buffers = 1024 * 1024});
  Peer peer = Client();
  const std::string value(3 * 1024 * 1024, 'v');
  peer.Send({Operation::kSet, {"/k", value}});
  ASSERT_TRUE(Until(loop, [&] {
    peer.Receive();
    return peer.closed;
  }));
  EXPECT_THAT(log.Text(), HasSubstr("the buffers of the store's clients hold "));
}

TEST_F(ServerTest, BeyondTheMostClientsTheyWait) {
  Start({.most_clients = 2});
  Peer one = Client();
  Peer two = Client();
  Peer three = Client();
  three.Send({Operation::kNumKeys, {}});
  loop.Settle();
  EXPECT_EQ(server->clients(), 2u);
  EXPECT_TRUE(log.Has("2 clients are connected, the limit; further ones wait until one leaves"));
  one.Hang();
  three.ExpectNumber(0);
}

TEST_F(ServerTest, ClearEndsAllAndForgetsAll) {
  Start();
  Peer one = Client();
  one.Send({Operation::kAdd, {"/n"}, 1});
  one.ExpectNumber(1);
  server->Clear();
  one.ExpectClosed();
  Peer next = Client();
  next.Send({Operation::kNumKeys, {}});
  next.ExpectNumber(0);
}

TEST_F(ServerTest, LeavesNoDescriptorBehind) {
  const auto before = net::OpenDescriptors();
  {
    Start();
    Peer one = Client();
    Peer two = Connect();
    one.Send({Operation::kWait, {"/a"}});
    loop.Settle();
    server.reset();
    one.ExpectClosed();
  }
  EXPECT_EQ(net::OpenDescriptors(), before);
}

}  // namespace
}  // namespace muster::tcp_store
