#include "comm/rendezvous/discovery/torch_endpoint_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "comm/rendezvous/tcp_store/fields.h"
#include "comm/rendezvous/tcp_store/request.h"
#include "comm/rendezvous/tcp_store/server_thread.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/base/print_error.h"
#include "tests/comm/rendezvous/older_store.h"

namespace muster::rendezvous {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }

struct TorchEndpointStoreTest : testing::Test {
  UniqueFd Listener() { return *net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0)); }
  void Serve() { server = *tcp_store::ServerThread::Start(Listener(), {}); }
  TorchEndpointStore Open(const std::string& key = "muster/test/root") {
    return {Endpoint{"127.0.0.1", server->address().port()}, key};
  }

  const LogCapture log;
  std::unique_ptr<tcp_store::ServerThread> server;
};

TEST_F(TorchEndpointStoreTest, WhatOnePublishesAnotherFinds) {
  Serve();
  TorchEndpointStore root = Open();
  TorchEndpointStore leader = Open();
  EXPECT_EQ(leader.LookUp(Soon()), Result<std::optional<std::string>>(std::nullopt));
  ASSERT_TRUE(root.Publish("here", Soon()));
  EXPECT_EQ(leader.LookUp(Soon()), Result<std::optional<std::string>>("here"));
  ASSERT_TRUE(root.Publish("there", Soon()));
  EXPECT_EQ(leader.LookUp(Soon()), Result<std::optional<std::string>>("there"));
  EXPECT_EQ(Open("muster/other/root").LookUp(Soon()), Result<std::optional<std::string>>(std::nullopt));
}

TEST_F(TorchEndpointStoreTest, UsesOneKeyAlone) {
  Serve();
  ASSERT_TRUE(Open().Publish("here", Soon()));
  const UniqueFd client = *net::StartConnect(server->address());
  ASSERT_EQ(fcntl(client.get(), F_SETFL, 0), 0);
  Bytes requests;
  tcp_store::Encode({tcp_store::Operation::kValidate, {}, tcp_store::kValidationNumber}, requests);
  tcp_store::Encode({tcp_store::Operation::kListKeys, {}}, requests);
  ASSERT_EQ(send(client.get(), requests.data(), requests.size(), 0), static_cast<ssize_t>(requests.size()));
  Bytes one_key;
  tcp_store::PutInteger<int64_t>(1, one_key);
  tcp_store::PutText("/muster/test/root", one_key);
  Bytes answer(one_key.size());
  ASSERT_EQ(recv(client.get(), answer.data(), answer.size(), MSG_WAITALL),
            static_cast<ssize_t>(answer.size()));
  EXPECT_EQ(answer, one_key);
}

TEST_F(TorchEndpointStoreTest, ComesBackToAStoreThatHungUp) {
  Serve();
  TorchEndpointStore leader = Open();
  ASSERT_TRUE(leader.LookUp(Soon()));
  const net::SocketAddress address = server->address();
  server.reset();
  server = *tcp_store::ServerThread::Start(*net::Listen(address), {});
  EXPECT_FALSE(leader.LookUp(Soon()));
  EXPECT_TRUE(leader.LookUp(Soon()));
}

TEST_F(TorchEndpointStoreTest, NobodyThereMayChange) {
  Serve();
  TorchEndpointStore leader = Open();
  const net::SocketAddress address = server->address();
  server.reset();
  const auto found = leader.LookUp(Soon());
  ASSERT_FALSE(found);
  EXPECT_EQ(
      found.error(),
      (Error{Code::kSystem,
             fmt::format("cannot connect to the store at {}: Connection refused", address.ToString()), ""}));
  EXPECT_EQ(leader.Describe(), "the store at " + address.ToString());
}

TEST_F(TorchEndpointStoreTest, AStoreThatNeverAnswersIsGivenUp) {
  const UniqueFd listener = Listener();
  const uint16_t port = net::LocalAddress(listener.get()).port();
  TorchEndpointStore leader(Endpoint{"127.0.0.1", port}, "key", Duration::zero());
  Error error;
  for (const Code code : {Code::kDisagreement, Code::kDisagreement, Code::kConfiguration}) {
    error = leader.LookUp(Deadline::After(std::chrono::milliseconds(20))).error();
    EXPECT_EQ(error.code, code);
  }
  EXPECT_EQ(
      error.message,
      fmt::format("what listens at 127.0.0.1:{} takes connections and does not answer as a store: it is "
                  "none, or that of PyTorch before 2.2, or it is stopped",
                  port));
  EXPECT_EQ(error.hint, "with PyTorch before 2.2, set rendezvous.method: tcp");
}

// One of PyTorch 1.13 to 2.1, which serves no other client while it waits for the rest of a request.
TEST_F(TorchEndpointStoreTest, AStoreOfAnOlderDialectIsRefusedAndGoesOnServing) {
  const OlderStore store;
  OlderClient before(store.address());
  before.Set("a", "1");
  TorchEndpointStore leader(Endpoint{"127.0.0.1", store.address().port()}, "key", Duration::zero());
  Error error;
  for (const Code code : {Code::kDisagreement, Code::kDisagreement, Code::kConfiguration}) {
    // Not by that: a client that waits for it keeps the store's thread.
    error = leader.LookUp(Deadline::After(std::chrono::minutes(10))).error();
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(before.Get("a"), "1");
  }
  EXPECT_EQ(store.turned_away(), 3);
  EXPECT_EQ(
      error.message,
      fmt::format(
          "what listens at 127.0.0.1:{} takes connections and closes them instead of answering as a store: "
          "it is none, or that of PyTorch before 2.2, or it rejects this process",
          store.address().port()));
  EXPECT_EQ(error.hint, "with PyTorch before 2.2, set rendezvous.method: tcp");
  OlderClient after(store.address());
  after.Set("b", "2");
  EXPECT_EQ(after.Get("b"), "2");
}

// A store that is about to be there may hang up a few times first, and is asked every few milliseconds.
TEST_F(TorchEndpointStoreTest, WhoHangsUpIsGivenAWhile) {
  const OlderStore store;
  TorchEndpointStore leader(Endpoint{"127.0.0.1", store.address().port()}, "key", std::chrono::hours(1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(leader.LookUp(Deadline::After(std::chrono::minutes(10))).error().code, Code::kDisagreement);
  }
}

}  // namespace
}  // namespace muster::rendezvous
