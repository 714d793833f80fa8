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

}  // namespace
}  // namespace muster::rendezvous
