#include "comm/rendezvous/tcp_store/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "comm/rendezvous/tcp_store/server_thread.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
Deadline AtOnce() { return Deadline::After(std::chrono::milliseconds(20)); }

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
  const std::vector<std::string> keys = {"a", "b"};
  const std::vector<std::string> values = {"1", "2"};
  EXPECT_TRUE(client->Set("a", "0", Soon()));
  EXPECT_TRUE(client->MultiSet(keys, values, Soon()));
  EXPECT_TRUE(client->Append("a", "1", Soon()));
  EXPECT_EQ(client->Get("a", Soon()), Result<std::string>("11"));
  EXPECT_THAT(*client->MultiGet(keys, Soon()), ElementsAre("11", "2"));
  EXPECT_EQ(client->Add("a", -1, Soon()), Result<int64_t>(10));
  EXPECT_EQ(client->CompareSet("b", "2", "3", Soon()), Result<std::string>("3"));
  EXPECT_EQ(client->Check(keys, Soon()), Result<bool>(true));
  EXPECT_TRUE(client->Wait(keys, Soon()));
  EXPECT_EQ(client->NumKeys(Soon()), Result<int64_t>(2));
  EXPECT_THAT(*client->ListKeys(Soon()), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(client->Delete("b", Soon()), Result<bool>(true));
  EXPECT_EQ(client->Check(keys, Soon()), Result<bool>(false));
  EXPECT_TRUE(client->Push("q", "1", Soon()));
  EXPECT_EQ(client->QueueLength("q", Soon()), Result<int64_t>(1));
  EXPECT_EQ(**client->Pop("q", true, Soon()), "1");
  EXPECT_EQ(*client->Pop("q", false, Soon()), std::nullopt);
  EXPECT_TRUE(client->Barrier("bar", 1, Soon()));
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
  const std::vector<std::string> keys = {"a", "b", "c", "d", "e"};
  EXPECT_THAT(
      client->Wait(keys, AtOnce()).error().message,
      MatchesRegex(fmt::format("cannot wait for \"a\", \"b\", \"c\" and 2 more: the store at {} gave no "
                               "answer within [0-9]+.[0-9] s",
                               where)));
  EXPECT_FALSE(client->Barrier("bar", 2, AtOnce()));
  EXPECT_FALSE(client->Pop("q", true, AtOnce()));
  EXPECT_TRUE(client->Set("a", "1", Soon()));
  EXPECT_EQ(client->Get("a", Soon()), Result<std::string>("1"));
}

TEST_F(ClientTest, AKeyThatComesAsTheTimeRunsOutConfusesNothing) {
  const auto client = Connect();
  const auto other = Connect();
  for (int i = 0; i < 200; ++i) {
    const std::string key = fmt::format("k{}", i);
    std::thread setter([&] { EXPECT_TRUE(other->Set(key, key, Soon())); });
    const std::vector<std::string> keys = {key};
    [[maybe_unused]] const Status waited = client->Wait(keys, Deadline::After(std::chrono::microseconds(i)));
    setter.join();
    EXPECT_EQ(client->Get(key, Soon()), Result<std::string>(key));
  }
}

TEST_F(ClientTest, AClosedConnectionIsNamed) {
  const auto client = Connect();
  ASSERT_TRUE(client->Set("n", "abc", Soon()));
  const auto sum = client->Add("n", 1, Soon());
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().code, Code::kSystem);
  EXPECT_THAT(
      sum.error().message,
      MatchesRegex("cannot add to \"n\": the store at 127.0.0.1:[0-9]+: (it closed the connection|Connection "
                   "reset by peer)"));
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

// It listens, and never says anything.
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
    threads.emplace_back([&] {
      const auto client = Connect();
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(client->Add("n", 1, Soon()));
      EXPECT_TRUE(client->Barrier("all", kThreads, Soon()));
      EXPECT_EQ(client->Get("n", Soon()), Result<std::string>(std::to_string(kThreads * kEach)));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::tcp_store
