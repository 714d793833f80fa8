#include "comm/rendezvous/tcp_store/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "comm/rendezvous/tcp_store/fields.h"
#include "comm/rendezvous/tcp_store/server_thread.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

using testing::MatchesRegex;

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
Deadline AtOnce() { return Deadline::After(std::chrono::milliseconds(20)); }

// Of `bytes`, which must be all of the answer.
Answer Decoded(Operation operation, const Bytes& bytes) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(DecodeAnswer(ByteView(bytes).first(length), operation, Limits()),
              Result<std::optional<Answer>>(std::nullopt))
        << length;
  }
  const auto answer = DecodeAnswer(bytes, operation, Limits());
  EXPECT_TRUE(answer && *answer);
  return **answer;
}

TEST(DecodeAnswer, NumbersAndValues) {
  EXPECT_EQ(Decoded(Operation::kCancelWait, {1}), (Answer{1, {}, 1}));
  Bytes bytes;
  PutInteger<int64_t>(-7, bytes);
  EXPECT_EQ(Decoded(Operation::kNumKeys, bytes), (Answer{-7, {}, 8}));
  bytes.clear();
  PutText("one", bytes);
  EXPECT_EQ(Decoded(Operation::kGet, bytes), (Answer{0, "one", 11}));
}

TEST(DecodeAnswer, HostileLengthsAreRefused) {
  Bytes bytes;
  PutInteger<uint64_t>(uint64_t{1} << 40, bytes);
  const auto answer = DecodeAnswer(bytes, Operation::kGet, Limits());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(),
            (Error{Code::kDisagreement,
                   "a value of 1099511627776 bytes is longer than the 268435456 that are allowed", ""}));
}

struct ClientTest : testing::Test {
  ClientTest()
      : server(*ServerThread::Start(*net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0)), {})) {}
  std::unique_ptr<Client> Connect() {
    auto client = Client::Connect(server->address(), Soon());
    EXPECT_TRUE(client) << client.error().message;
    return *std::move(client);
  }

  const LogCapture log;
  std::unique_ptr<ServerThread> server;
};

TEST_F(ClientTest, EveryCall) {
  const auto client = Connect();
  EXPECT_EQ(client->Check("a", Soon()), Result<bool>(false));
  EXPECT_TRUE(client->Set("a", "0", Soon()));
  EXPECT_TRUE(client->Set("a", "", Soon()));
  EXPECT_EQ(client->Check("a", Soon()), Result<bool>(true));
  EXPECT_EQ(client->Get("a", Soon()), Result<std::string>(""));
}

TEST_F(ClientTest, GetWaitsForAnother) {
  const auto one = Connect();
  const auto other = Connect();
  std::thread setter([&] { EXPECT_TRUE(other->Set("a", "1", Soon())); });
  EXPECT_EQ(one->Get("a", Soon()), Result<std::string>("1"));
  setter.join();
}

TEST_F(ClientTest, AWaitThatTimesOutLeavesTheConnectionUsable) {
  const auto client = Connect();
  const std::string where = server->address().ToString();
  const auto got = client->Get("missing", AtOnce());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kDeadline);
  EXPECT_THAT(got.error().message,
              MatchesRegex(fmt::format(
                  "cannot get \"missing\": the store at {} gave no answer within [0-9]+.[0-9] s", where)));
  EXPECT_TRUE(client->Set("a", "1", Soon()));
  EXPECT_EQ(client->Get("a", Soon()), Result<std::string>("1"));
}

TEST_F(ClientTest, AKeyThatComesAsTheTimeRunsOutConfusesNothing) {
  auto client = Connect();
  const auto other = Connect();
  for (int i = 0; i < 200; ++i) {
    const std::string key = fmt::format("k{}", i);
    std::thread setter([&] { EXPECT_TRUE(other->Set(key, key, Soon())); });
    [[maybe_unused]] const auto got = client->Get(key, Deadline::After(std::chrono::microseconds(i)));
    setter.join();
    // The key was there, and the time ran out before its value came.
    if (!client->open()) client = Connect();
    EXPECT_EQ(client->Get(key, Soon()), Result<std::string>(key));
  }
}

TEST_F(ClientTest, AClosedConnectionIsNamed) {
  const auto client = Connect();
  server.reset();
  const auto there = client->Check("n", Soon());
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code, Code::kSystem);
  EXPECT_THAT(there.error().message,
              MatchesRegex("cannot check \"n\": the store at 127.0.0.1:[0-9]+: (it closed the connection|"
                           "Connection reset by peer|Broken pipe)"));
  EXPECT_FALSE(client->open());
  EXPECT_THAT(client->Set("n", "1", Soon()).error().message,
              MatchesRegex("cannot set \"n\": the connection to the store at 127.0.0.1:[0-9]+ was closed"));
}

TEST_F(ClientTest, NobodyThereIsNamed) {
  const net::SocketAddress address = server->address();
  server.reset();
  const auto client = Client::Connect(address, Soon());
  ASSERT_FALSE(client);
  EXPECT_EQ(
      client.error(),
      (Error{Code::kSystem,
             fmt::format("cannot connect to the store at {}: Connection refused", address.ToString()), ""}));
}

// It listens, and never sends anything.
TEST(ClientDeadline, HoldsWhereTheServerIsSilent) {
  const auto listener = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
  const auto client = Client::Connect(net::LocalAddress(listener->get()), AtOnce());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::kDisagreement);
  EXPECT_THAT(
      client.error().message,
      MatchesRegex("what listens at 127.0.0.1:[0-9]+ takes connections and does not answer as a store: it is "
                   "none, or that of PyTorch before 2.2, or it is stopped"));
}

TEST_F(ClientTest, ManyAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = 250;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const auto client = Connect();
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(client->Set(fmt::format("{}-{}", thread, i), std::to_string(i), Soon()));
        const std::string next = fmt::format("{}-{}", (thread + 1) % kThreads, i);
        EXPECT_EQ(client->Get(next, Soon()), Result<std::string>(std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::tcp_store
