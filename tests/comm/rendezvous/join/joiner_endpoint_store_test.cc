// Groups whose root publishes its address on an endpoint store: a real store, and a secret that only the
// root's address has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "comm/rendezvous/discovery/file_endpoint_store.h"
#include "comm/rendezvous/discovery/torch_endpoint_store.h"
#include "comm/rendezvous/join/joiner.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/tcp_store/server_thread.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

class JoinerEndpointStoreTest : public testing::Test {
 protected:
  JoinerEndpointStoreTest()
      : server(*tcp_store::ServerThread::Start(*net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0)),
                                               {})) {}
  std::vector<JoinRequest> Requests(const std::vector<std::string>& node_of_rank) {
    auto requests = MakeRequests(node_of_rank);
    for (JoinRequest& request : requests) {
      request.meeting.find_root = FindRoot::kEndpointStore;
      request.meeting.torch_store = Endpoint{"127.0.0.1", server->address().port()};
      request.meeting.endpoint = std::nullopt;
      request.meeting.placement = {};
      request.options.auth = AuthMethod::kSecret;
    }
    return requests;
  }
  TorchEndpointStore LauncherKvs(const JoinRequest& request) const {
    return {*request.meeting.torch_store, EndpointTopic(request.meeting.key)};
  }
  RootAddress Seen(const JoinRequest& request) const {
    auto text = LauncherKvs(request).LookUp(Deadline::After(std::chrono::seconds(10)));
    return *DecodeRootAddress(text->value_or(""));
  }

  void OutlivesAStaleNotice(const std::vector<JoinRequest>& requests, EndpointStore& kvs) {
    const RootAddress stale{{*net::SocketAddress::FromNumeric("127.0.0.1", net::FreePort())},
                            *auth::JobSecret::Generate()};
    ASSERT_TRUE(kvs.Publish(Encode(stale), Deadline::After(std::chrono::seconds(10))));
    TestRank leader(*loop, requests[1]);
    leader.Start();
    loop.For(milliseconds(50));
    EXPECT_FALSE(leader.ended());
    TestRank root(*loop, requests[0]);
    root.Start();
    ASSERT_TRUE(loop.Until([&] { return root.formed() && leader.formed(); }));
  }

  const LogCapture log;
  std::unique_ptr<tcp_store::ServerThread> server;
  net::TestLoop loop;
};

TEST_F(JoinerEndpointStoreTest, AGroupFormsWithASecretOfItsOwn) {
  const auto requests = Requests({"a", "b", "b", "c", "a"});
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  EXPECT_EQ(group[4].plane().group(), group[0].plane().group());
  EXPECT_EQ(group[0].plane().group().root_rank, 0);
  const RootAddress first = Seen(requests[0]);
  EXPECT_TRUE(first.secret);
  const auto others = Requests({"a", "b"});
  TestGroup other(loop, others);
  ASSERT_TRUE(other.AllFormed());
  EXPECT_NE(Seen(others[0]).secret, first.secret);
}

TEST_F(JoinerEndpointStoreTest, ASecretThatIsKnownIsNotWrittenDown) {
  auto requests = Requests({"a", "b"});
  for (JoinRequest& request : requests)
    request.secret = *auth::JobSecret::Parse(std::string(64, '7'), "test");
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  EXPECT_FALSE(Seen(requests[0]).secret);
}

TEST_F(JoinerEndpointStoreTest, WhatAnEarlierRootLeftIsOutlived) {
  const auto requests = Requests({"a", "b"});
  auto kvs = LauncherKvs(requests[0]);
  OutlivesAStaleNotice(requests, kvs);
}

TEST_F(JoinerEndpointStoreTest, ARootThatNeverComesIsSaid) {
  auto requests = Requests({"a", "b"});
  requests[1].timeouts.rendezvous = std::chrono::seconds(2);
  TestRank leader(*loop, requests[1]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.ended(); }));
  EXPECT_EQ(leader.refused()->error.code, Code::kDeadline);
  EXPECT_EQ(leader.refused()->error.message,
            fmt::format("the root, rank 0, did not answer within 2s; the store at 127.0.0.1:{} has not "
                        "published its address yet",
                        server->address().port()));
}

TEST_F(JoinerEndpointStoreTest, WhatIsNoStoreIsSaidByAll) {
  auto requests = Requests({"a", "b"});
  const auto silent = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
  for (JoinRequest& request : requests) {
    request.meeting.torch_store->port = net::LocalAddress(silent->get()).port();
    request.timeouts.handshake = milliseconds(50);
  }
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllRefusedWith(
      {Code::kConfiguration,
       fmt::format(
           "what listens at 127.0.0.1:{} takes connections and does not answer as a store: it is none, or "
           "that of PyTorch before 2.2, or it is stopped",
           requests[0].meeting.torch_store->port),
       "with PyTorch before 2.2, set rendezvous.method: tcp"}));
}

class JoinerFileTest : public JoinerEndpointStoreTest {
 protected:
  JoinerFileTest() {
    std::string name = testing::TempDir() + "muster-joiner-XXXXXX";
    shared = mkdtemp(name.data());
  }
  ~JoinerFileTest() override { std::filesystem::remove_all(shared); }
  std::vector<JoinRequest> Requests(const std::vector<std::string>& node_of_rank) {
    auto requests = JoinerEndpointStoreTest::Requests(node_of_rank);
    for (JoinRequest& request : requests) {
      request.meeting.torch_store = std::nullopt;
      request.meeting.directory = shared;
    }
    return requests;
  }
  FileEndpointStore LauncherKvs(const JoinRequest& request) const {
    return {shared, EndpointStoreFile(request.meeting.key)};
  }
  bool IsUp(const JoinRequest& request) const {
    return LauncherKvs(request).LookUp(Deadline::After(std::chrono::seconds(10)))->has_value();
  }
  std::string shared;
};

TEST_F(JoinerFileTest, AGroupFormsAndTheFileGoes) {
  const auto requests = Requests({"a", "b", "b", "c", "a"});
  {
    TestGroup group(loop, requests);
    ASSERT_TRUE(group.AllFormed());
    EXPECT_EQ(group[4].plane().group(), group[0].plane().group());
  }
  EXPECT_FALSE(IsUp(requests[0]));
}

TEST_F(JoinerFileTest, WhatAnEarlierRootLeftIsOutlived) {
  const auto requests = Requests({"a", "b"});
  auto kvs = LauncherKvs(requests[0]);
  OutlivesAStaleNotice(requests, kvs);
}

TEST_F(JoinerFileTest, AFileOfAGroupThatFailedGoesToo) {
  auto requests = Requests({"a", "b"});
  requests[0].timeouts.rendezvous = milliseconds(200);
  {
    TestRank root(*loop, requests[0]);
    root.Start();
    ASSERT_TRUE(loop.Until([&] { return IsUp(requests[0]); }));
    ASSERT_TRUE(loop.Until([&] { return root.ended(); }));
    EXPECT_EQ(root.refused()->error.code, Code::kDeadline);
  }
  loop.For(milliseconds(1));
  EXPECT_FALSE(IsUp(requests[0]));
}

TEST_F(JoinerFileTest, ADirectoryThatIsNotThereIsSaidByAll) {
  auto requests = Requests({"a", "b"});
  for (JoinRequest& request : requests) request.meeting.directory = shared + "/no";
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllRefusedWith(
      {Code::kConfiguration, fmt::format("rendezvous.directory cannot be used: {}/no is not there", shared),
       "choose a directory that all nodes share and only this user can write to"}));
}

// `muster run -- a && muster run -- b` under torchrun: the secret of the second group is another one.
TEST_F(JoinerEndpointStoreTest, WhoComesBackEarlyIsToldToWait) {
  const auto requests = Requests({"a", "b"});
  TestGroup first(loop, requests);
  ASSERT_TRUE(first.AllFormed());
  std::vector<std::unique_ptr<TestRank>> second;
  for (const size_t rank : {1u, 0u}) {
    first[rank].plane().leaving().Leave();
    ASSERT_TRUE(loop.Until([&] { return first[rank].released == 1; }));
    first.Kill(rank);
    second.push_back(std::make_unique<TestRank>(*loop, requests[rank]));
    second.back()->Start();
    if (rank == 0) break;
    ASSERT_TRUE(loop.Until(
        [&] { return log.Has("this launch's previous group is still at work; waiting for it to end"); }));
  }
  ASSERT_TRUE(loop.Until([&] { return second[0]->formed() && second[1]->formed(); }));
  EXPECT_EQ(second[0]->plane().group(), second[1]->plane().group());
}

}  // namespace
}  // namespace muster::rendezvous
