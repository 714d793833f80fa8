#include "comm/rendezvous/tcp_store/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/tcp_store/request.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::tcp_store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Also for what the loop does not know of: the other end's sockets.
[[nodiscard]] bool Until(TestLoop& loop, const std::function<bool()>& done) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (!done() && !deadline.Expired()) loop->RunOnce(Deadline::After(std::chrono::milliseconds(1)));
  EXPECT_FALSE(deadline.Expired()) << "nothing happened for ten seconds";
  return !deadline.Expired();
}

// A client that sends what it is told, and keeps what it gets.
class Peer {
 public:
  Peer(TestLoop& loop, const SocketAddress& address) : loop_(loop), fd_(*StartConnect(address)) {
    EXPECT_TRUE(Until(loop, [&] { return PeerAddress(fd_.get()).family() != AF_UNSPEC; }));
  }
  void Send(const Bytes& bytes) {
    size_t sent = 0;
    ASSERT_TRUE(Until(loop_, [&] {
      sent += SendSome(bytes, sent);
      return sent == bytes.size();
    }));
  }
  // How much the kernel takes now.
  size_t SendSome(const Bytes& bytes, size_t from) {
    const ssize_t count =
        send(fd_.get(), bytes.data() + from, bytes.size() - from, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  void Send(const Request& request) {
    Bytes bytes;
    Encode(request, bytes);
    Send(bytes);
  }
  void Validate() { Send({Operation::kValidate, {}, kValidationNumber}); }

  // Exactly these bytes come, and no more of what is there.
  void Expect(const Bytes& bytes) {
    ASSERT_TRUE(Until(loop_, [&] {
      Receive();
      return received.size() >= bytes.size() || closed;
    }));
    EXPECT_EQ(received, bytes);
    received.clear();
  }
  void ExpectNumber(int64_t number) {
    Bytes bytes;
    PutInteger(number, bytes);
    Expect(bytes);
  }
  void ExpectClosed() {
    ASSERT_TRUE(Until(loop_, [&] {
      Receive();
      return closed;
    }));
    EXPECT_THAT(received, IsEmpty());
  }
  void Receive() {
    std::array<uint8_t, 65536> chunk;
    const ssize_t count = recv(fd_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) received.insert(received.end(), chunk.begin(), chunk.begin() + count);
    closed |= count == 0 || (count < 0 && errno != EAGAIN);
  }
  void Hang() { fd_.Reset(); }

  Bytes received;
  bool closed = false;

 private:
  TestLoop& loop_;
  UniqueFd fd_;
};

struct ServerTest : testing::Test {
  void Start(ServerOptions options = {}) {
    auto listener = Listen(*SocketAddress::FromNumeric("127.0.0.1", 0));
    ASSERT_TRUE(listener);
    server = std::make_unique<Server>(*loop, *std::move(listener), std::move(options));
    ASSERT_TRUE(server->Start());
  }
  Peer Connect() { return {loop, server->address()}; }
  Peer Client() {
    Peer peer = Connect();
    peer.Validate();
    return peer;
  }

  const LogCapture log;
  TestLoop loop;
  std::unique_ptr<Server> server;
};

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

Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

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
  EXPECT_TRUE(log.Has("it said nothing for 0.1 s"));
  loop.For(std::chrono::milliseconds(60));
  client.Send({Operation::kNumKeys, {}});
  client.ExpectNumber(0);
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
  EXPECT_TRUE(log.Has("2 clients are connected, which is the most; others wait until one leaves"));
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

TEST_F(ServerTest, TheGateTurnsStrangersAway) {
  std::vector<std::pair<SocketAddress, ServerOptions::Verdict>> asked;
  Start({.gate = [&](const SocketAddress& peer, ServerOptions::Verdict verdict) {
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

struct SpacesTest : ServerTest {
  void StartSpaces() {
    Start({.gate = [this](const SocketAddress&, const ServerOptions::Verdict& verdict) {
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
  Start({.gate = [&](const SocketAddress&, ServerOptions::Verdict verdict) { late = std::move(verdict); }});
  Peer peer = Client();
  ASSERT_TRUE(Until(loop, [&] { return static_cast<bool>(late); }));
  server.reset();
  late(Member{});
  peer.ExpectClosed();
}

TEST_F(ServerTest, LeavesNoDescriptorBehind) {
  const auto before = OpenDescriptors();
  {
    Start();
    Peer one = Client();
    Peer two = Connect();
    one.Send({Operation::kWait, {"/a"}});
    loop.Settle();
    server.reset();
    one.ExpectClosed();
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace muster::tcp_store
