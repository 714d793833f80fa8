#include "comm/rendezvous/later_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster {
namespace {

using std::chrono::milliseconds;

// `muster run -- a && muster run -- b`: the same requests again, rank by rank.
class LaterDeskTest : public testing::Test {
 protected:
  explicit LaterDeskTest() : requests(MakeRequests({"a", "a", "b", "b"})), first(loop, requests) {
    EXPECT_TRUE(first.AllFormed());
  }
  // Ends its part in the first group and comes back for the second.
  void ComeBack(size_t rank) {
    first[rank].plane().Leave();
    ASSERT_TRUE(loop.Until([&] { return first[rank].released == 1; }));
    first.Kill(rank);
    second[rank] = std::make_unique<TestRank>(*loop, requests[rank]);
    second[rank]->Start();
  }

  TestLoop loop;
  const LogCapture log;
  std::vector<JoinRequest> requests;
  TestGroup first;
  std::map<size_t, std::unique_ptr<TestRank>> second;
};

TEST_F(LaterDeskTest, WhoComesBackEarlyWaitsForTheOthers) {
  ComeBack(3);
  ComeBack(1);
  ASSERT_TRUE(loop.Until(
      [&] { return log.Has("this launch's previous group is still at work; waiting for it to end"); }));
  loop.For(milliseconds(100));
  EXPECT_FALSE(second[3]->ended());
  EXPECT_FALSE(second[1]->ended());
  EXPECT_TRUE(first[0].failures.empty());
  ComeBack(2);
  ComeBack(0);
  ASSERT_TRUE(loop.Until(
      [&] { return std::ranges::all_of(second, [](const auto& entry) { return entry.second->ended(); }); }));
  for (const auto& [rank, again] : second) {
    ASSERT_TRUE(again->formed()) << rank << ": " << again->refused()->error.message;
    EXPECT_EQ(again->plane().group(), second[0]->plane().group());
  }
}

TEST_F(LaterDeskTest, ASecondProgramOfARankAtWorkIsRefused) {
  first[3].plane().Leave();
  ASSERT_TRUE(loop.Until([&] { return first[3].released == 1; }));
  TestRank twice(*loop, requests[1]);
  twice.Start();
  ASSERT_TRUE(loop.Until([&] { return twice.ended(); }));
  EXPECT_EQ(twice.refused()->error,
            (Error{Code::kDisagreement,
                   "rank 1 on a is already at work in this launch's present group, as pid 1001",
                   "two programs of one rank cannot run at once; use two steps"}));
  EXPECT_TRUE(first[0].failures.empty());
}

}  // namespace
}  // namespace muster
