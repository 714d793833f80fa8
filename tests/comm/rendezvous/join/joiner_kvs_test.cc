// Groups whose root publishes its address on the launcher's key-value store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/joiner.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/shared_kvs.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using testing::SizeIs;

TEST(OpenLauncherKvs, IsForWhoMeetsOnOne) {
  Meeting meeting;
  meeting.pmi = PmiAccess{3, PmiVersion::kOne, 0, ""};
  EXPECT_EQ(OpenLauncherKvs(meeting), nullptr);
  meeting.find_root = FindRoot::kEndpointStore;
  EXPECT_EQ(OpenLauncherKvs(meeting)->Describe(), "the PMI server at PMI_FD=3");
  meeting.pmi = std::nullopt;
  meeting.directory = "/shared";
  EXPECT_EQ(OpenLauncherKvs(meeting), nullptr);
}

TEST(OpenEndpointStore, IsWhatTheMeetingNames) {
  JoinRequest request;
  request.meeting.torch_store = Endpoint{"n1", 29500};
  EXPECT_EQ(OpenEndpointStore(request)->Describe(), "the store at n1:29500");
  request.meeting.directory = "/shared";
  EXPECT_EQ(OpenEndpointStore(request)->Describe().substr(0, 24), "the file /shared/muster-");
  request.kvs = std::make_shared<SharedKvs>(nullptr);
  EXPECT_EQ(OpenEndpointStore(request)->Describe(), "the key-value store");
}

class JoinerKvsTest : public testing::Test {
 protected:
  const LogCapture log;
  net::TestLoop loop;
};

TEST_F(JoinerKvsTest, AGroupFormsAndLeavesTheBoardToPrograms) {
  auto requests = MakeRequests({"a", "b", "b", "c", "a"});
  const auto kvs_list = MeetOnBoards(requests);
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  EXPECT_EQ(group[4].plane().group(), group[0].plane().group());
  for (const auto& kvs : kvs_list) EXPECT_TRUE(kvs->resting);
  ASSERT_THAT(kvs_list[0]->shared->texts, SizeIs(1));
}

// A program may be using the root's connection when a process comes for the next group.
TEST_F(JoinerKvsTest, TheRootIsSilentUntilTheNextGroup) {
  auto requests = MakeRequests({"a", "b"});
  const auto kvs_list = MeetOnBoards(requests);
  TestGroup first(loop, requests);
  ASSERT_TRUE(first.AllFormed());
  std::vector<std::unique_ptr<TestRank>> second;
  for (const size_t rank : {1u, 0u}) {
    first[rank].plane().leaving().Leave();
    ASSERT_TRUE(loop.Until([&] { return first[rank].released == 1; }));
    first.Kill(rank);
    EXPECT_EQ(kvs_list[0]->shared->published, 1);
    second.push_back(std::make_unique<TestRank>(*loop, requests[rank]));
    second.back()->Start();
    loop.For(std::chrono::milliseconds(50));
    EXPECT_FALSE(kvs_list[rank]->resting && !second.back()->ended());
  }
  ASSERT_TRUE(loop.Until([&] { return second[0]->formed() && second[1]->formed(); }));
  EXPECT_EQ(second[0]->plane().group(), second[1]->plane().group());
  EXPECT_EQ(kvs_list[0]->shared->published, 2);
}

TEST_F(JoinerKvsTest, ABoardThatIsOfNoUseIsSaidByAll) {
  const Error hopeless{Code::kConfiguration, "the key-value store has closed the connection",
                       "set rendezvous.method: tcp to avoid it"};
  auto requests = MakeRequests({"a", "b"});
  for (const auto& kvs : MeetOnBoards(requests)) kvs->problem = hopeless;
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllRefusedWith(hopeless));
}

TEST_F(JoinerKvsTest, ABoardThatIsSilentIsSaidAtTheDeadline) {
  auto requests = MakeRequests({"a", "b"});
  for (const auto& kvs : MeetOnBoards(requests))
    kvs->problem = Error{Code::kDeadline, "the key-value store is silent", ""};
  for (JoinRequest& request : requests) request.timeouts.rendezvous = std::chrono::milliseconds(300);
  TestRank root(*loop, requests[0]);
  TestRank leader(*loop, requests[1]);
  root.Start();
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return root.ended() && leader.ended(); }));
  EXPECT_EQ(root.refused()->error.message,
            "the group did not form within 300ms: 1/2 ranks; missing 1; the key-value store is silent");
  EXPECT_EQ(leader.refused()->error.message,
            "the root, rank 0, did not answer within 300ms; the key-value store is silent");
}

}  // namespace
}  // namespace muster::rendezvous
