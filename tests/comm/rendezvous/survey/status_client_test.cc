#include "comm/rendezvous/survey/status_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "comm/rendezvous/survey/status_server.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

// A leader of one release, and a command of another.
class StatusClientTest : public testing::Test {
 protected:
  AskedGroups Ask(const Versions& leader, const Versions& command) {
    auto server = StatusServer::Open(*loop, getuid(), 0, {base.path}, leader);
    EXPECT_TRUE(server);
    (*server)->SetAnswer([](const Survey&, const StatusServer::Reply& reply) {
      GroupStatus status;
      status.job = "job 7";
      status.maps.emplace_back().subject = "a map";
      reply(status);
    });
    std::atomic<bool> over = false;
    Result<AskedGroups> asked = Fail(Code::kInternal, "not asked");
    std::thread asker([&] {
      asked =
          AskGroupsOnThisNode({0, 1000, {}}, getuid(), {base.path}, Deadline::After(seconds(60)), command);
      over = true;
      loop->Post([] {});
    });
    EXPECT_TRUE(loop.Until([&] { return over.load(); }));
    asker.join();
    EXPECT_TRUE(asked);
    return asked.value_or(AskedGroups{});
  }

  net::TestLoop loop;
  const net::TestBase base;
};

TEST_F(StatusClientTest, NeighbouringReleasesUnderstandEachOther) {
  const Versions older{6, 7, "0.6.0"};
  const Versions newer{7, 8, "0.7.0"};
  for (const auto& [leader, command] : {std::pair(older, newer), std::pair(newer, older)}) {
    const AskedGroups asked = Ask(leader, command);
    ASSERT_EQ(asked.groups.size(), 1U);
    EXPECT_EQ(asked.groups.front().job, "job 7");
    EXPECT_TRUE(asked.refused.empty());
  }
}

TEST_F(StatusClientTest, AReleaseBeforeMapsReceivesNone) {
  const Versions without{2, 2, "0.1.0"};
  const Versions with{2, 3, "0.2.0"};
  for (const auto& [leader, command] : {std::pair(without, with), std::pair(with, without)}) {
    const AskedGroups asked = Ask(leader, command);
    ASSERT_EQ(asked.groups.size(), 1U);
    EXPECT_TRUE(asked.groups.front().maps.empty());
  }
  const AskedGroups asked = Ask(with, with);
  ASSERT_EQ(asked.groups.size(), 1U);
  EXPECT_EQ(asked.groups.front().maps.front().subject, "a map");
}

TEST_F(StatusClientTest, OtherReleasesAreNamed) {
  const Versions older{5, 6, "0.5.0"};
  const Versions newer{7, 8, "0.7.0"};
  for (const auto& [leader, command] : {std::pair(older, newer), std::pair(newer, older)}) {
    const AskedGroups asked = Ask(leader, command);
    EXPECT_TRUE(asked.groups.empty());
    EXPECT_TRUE(asked.silent.empty());
    ASSERT_EQ(asked.refused.size(), 1U);
    EXPECT_EQ(asked.refused.front().code, Code::kDisagreement);
    EXPECT_EQ(
        asked.refused.front().message,
        fmt::format(
            "the group's leader, process {}, has muster {} (protocol {}-{}), this command has muster {} "
            "(protocol {}-{})",
            getpid(), leader.release, leader.oldest, leader.newest, command.release, command.oldest,
            command.newest));
  }
}

TEST_F(StatusClientTest, ALeaderWithAFullQueueIsSilent) {
  const auto server = StatusServer::Open(*loop, getuid(), 0, {base.path});
  ASSERT_TRUE(server);
  const net::PrivateDirectory directory = net::PrivateDirectory::FindIn(base.path).front();
  const auto waiting = net::FillQueue(directory.PathOf(directory.Sockets().front()));
  const auto asked =
      AskGroupsOnThisNode({0, 1000, {}}, getuid(), {base.path}, Deadline::After(seconds(60)), {});
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->silent, testing::ElementsAre(getpid()));
}

}  // namespace
}  // namespace muster::rendezvous
