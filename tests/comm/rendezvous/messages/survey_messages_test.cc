#include "comm/rendezvous/messages/survey_messages.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"
#include "tests/comm/map/map_at_work.h"

namespace muster::rendezvous {
namespace {

RankReport Busy() {
  RankReport report;
  report.rank = 1;
  report.state = RankState::kInGroup;
  report.process = {4711, 'S', 31000, 1500, "ep_poll"};
  report.operations = {{1, true, true, "AllReduce", 42, "f32[1024]", 31000, {5, 6}},
                       {7, false, true, "Recv", 3, "f32[1]", 20, {2}}};
  report.stack = "main\n";
  return report;
}

RankReport Ended() {
  RankReport report;
  report.state = RankState::kEnded;
  report.exit_status = 3;
  return report;
}

GroupStatus Status() {
  GroupStatus status{"slurm:4.0:0", "0123", "", "rank 0 failed", false, 1, 1, {"gpu01", "gpu02"}, {0, 1}, {}};
  status.reports = {Ended(), Busy()};
  return status;
}

TEST(SurveyMessages, AreReadBack) {
  const Survey survey{7, 2000, {1, 5}};
  EXPECT_EQ(Decode<Survey>(Encode(survey)), survey);
  const Surveyed surveyed{7, false, {Busy(), Ended()}};
  EXPECT_EQ(Decode<Surveyed>(Encode(surveyed)), surveyed);
  EXPECT_EQ(Decode<GroupStatus>(Encode(Status())), Status());
}

GroupStatus StatusWithMap() {
  GroupStatus status = Status();
  status.maps = {map::MapAtWork(), {}};
  return status;
}

TEST(SurveyMessages, MapsAreReadBack) {
  const Surveyed surveyed{7, true, {Busy()}, {map::MapAtWork()}};
  EXPECT_EQ(Decode<Surveyed>(Encode(surveyed)), surveyed);
  EXPECT_EQ(Decode<GroupStatus>(Encode(StatusWithMap())), StatusWithMap());
}

// As before there were maps.
TEST(SurveyMessages, NoMapsHaveNoBytes) {
  Bytes frame = Encode(Status());
  frame.insert(frame.end(), 4, 0);
  EXPECT_FALSE(Decode<GroupStatus>(frame));
}

TEST(SurveyMessages, LongNamesOfAMapAreCut) {
  Surveyed surveyed{7, true, {}, {map::MapAtWork()}};
  surveyed.maps[0].slowest[0].key.assign(1000, 'k');
  surveyed.maps[0].subject.assign(10000, 's');
  const auto decoded = Decode<Surveyed>(Encode(surveyed));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->maps[0].slowest[0].key, std::string(256, 'k'));
  EXPECT_EQ(decoded->maps[0].subject, std::string(4096, 's'));
}

TEST(SurveyMessages, AMapOfRanksThatAreNotThereIsMalformed) {
  GroupStatus status = StatusWithMap();
  status.maps[0].ranks[1].rank = 2;
  EXPECT_FALSE(Decode<GroupStatus>(Encode(status)));
  status = StatusWithMap();
  status.maps[0].longest[0].rank = -1;
  EXPECT_FALSE(Decode<GroupStatus>(Encode(status)));
  status = StatusWithMap();
  status.maps[0].progress.poisoned = 400;
  EXPECT_FALSE(Decode<GroupStatus>(Encode(status)));
  status = StatusWithMap();
  status.maps[0].ranks[1].slots = 0;
  EXPECT_FALSE(Decode<GroupStatus>(Encode(status)));
}

TEST(SurveyMessages, HaveTypes) {
  EXPECT_EQ(ControlTypeOf(Encode(Survey{})), ControlType::kSurvey);
  EXPECT_EQ(ControlTypeOf(Encode(Surveyed{})), ControlType::kSurveyed);
  EXPECT_EQ(ControlTypeOf(Encode(GroupStatus{})), ControlType::kGroupStatus);
}

TEST(SurveyMessages, CutShortAtAnyByteTheyAreMalformed) {
  const Bytes frame = Encode(Status());
  for (size_t length = 1; length < frame.size(); ++length) {
    const auto decoded = Decode<GroupStatus>(ByteView(frame).first(length));
    ASSERT_FALSE(decoded) << length;
    EXPECT_EQ(decoded.error().code, Code::kInternal);
    EXPECT_TRUE(decoded.error().message.starts_with("malformed status of a group"))
        << decoded.error().message;
  }
}

TEST(SurveyMessages, AStatusOfRanksOrNodesThatAreNotThereIsMalformed) {
  GroupStatus status = Status();
  status.reports[0].rank = 2;
  EXPECT_FALSE(Decode<GroupStatus>(Encode(status)));
  status = Status();
  status.node_of_rank[1] = 2;
  EXPECT_FALSE(Decode<GroupStatus>(Encode(status)));
}

TEST(SurveyMessages, AStateThatPeopleCannotReadIsMalformed) {
  Surveyed surveyed{1, true, {Busy()}};
  surveyed.reports[0].process.state = '\n';
  EXPECT_FALSE(Decode<Surveyed>(Encode(surveyed)));
}

}  // namespace
}  // namespace muster::rendezvous
