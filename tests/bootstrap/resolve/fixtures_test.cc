// Every captured environment gives the numbers that MPI or torch.distributed reported in that very process.
#include "tests/bootstrap/resolve/fixtures.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bootstrap/join/meeting.h"
#include "bootstrap/resolve/detect.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

Environment Load(const ExpectedRank& expected) {
  return Fixture(expected.folder + "/" + expected.file.substr(0, expected.file.size() - 4));
}

// "3": exactly 3; "?3": 3 or unknown.
void ExpectNumber(std::string_view expected, std::optional<int> got, const std::string& where) {
  const bool may_be_unknown = expected.substr(0, 1) == "?";
  if (may_be_unknown && !got) return;
  EXPECT_EQ(got, ParseInteger<int>(expected.substr(may_be_unknown ? 1 : 0))) << where;
}

TEST(Fixtures, GiveTheTruth) {
  int cases = 0;
  for (const ExpectedRank& expected : AllExpected()) {
    const std::string where = expected.folder + "/" + expected.file;
    const auto got = Resolve(Load(expected));
    ++cases;
    if (expected.rank == "-") {
      ASSERT_FALSE(got) << where;
      EXPECT_EQ(got.error().error.code, Code::kNotLaunched) << where;
      EXPECT_TRUE(got.error().allocation) << where;
      continue;
    }
    if (expected.rank == "!") {
      ASSERT_FALSE(got) << where;
      EXPECT_EQ(got.error().error.code, Code::kBadEnvironment) << where;
      continue;
    }
    ASSERT_TRUE(got) << where << ": " << got.error().error.message;
    ExpectNumber(expected.rank, got->tuple.rank, where);
    ExpectNumber(expected.world_size, got->tuple.world_size, where);
    ExpectNumber(expected.local_rank, got->tuple.local_rank, where);
    ExpectNumber(expected.local_world_size, got->tuple.local_world_size, where);
    EXPECT_EQ(got->tuple.node.value_or(expected.host), expected.host) << where;
  }
  EXPECT_GE(cases, 162);
}

TEST(Fixtures, NameTheLauncher) {
  for (const ExpectedMeeting& expected : AllMeetings()) {
    const auto got = Resolve(Fixture(expected.folder + "/0"));
    ASSERT_TRUE(got) << expected.folder << ": " << got.error().error.message;
    EXPECT_EQ(got->tuple.launcher, expected.launcher) << expected.folder;
  }
}

TEST(Fixtures, NameTheNode) {
  for (const ExpectedRank& expected : AllExpected()) {
    const auto got = Resolve(Load(expected));
    if (!got) continue;
    // These two do not have it, and a captured environment has no host to query.
    const bool said = expected.folder != "torchrun-standalone" && expected.folder != "deepspeed";
    EXPECT_EQ(got->tuple.node.has_value(), said) << expected.folder << "/" << expected.file;
  }
}

std::string_view NameOf(FindRoot find_root) {
  switch (find_root) {
    case FindRoot::kSameNode:
      return "same-node";
    case FindRoot::kFirstNode:
      return "first-node";
    case FindRoot::kSearch:
      return "search";
    case FindRoot::kHost:
      return "host";
    case FindRoot::kEndpoint:
      return "endpoint";
    case FindRoot::kEndpointStore:
      return "endpoint store";
  }
  return "";
}

std::string RootOf(const Meeting& meeting) {
  if (meeting.torch_store) return ToString(*meeting.torch_store);
  return meeting.host.empty() && !meeting.placement.nodes.empty() ? meeting.placement.nodes[0].name
                                                                  : meeting.host;
}

Meeting MeetingOf(const ExpectedRank& expected) {
  const Environment environment = Load(expected);
  const auto resolution = Resolve(environment);
  if (!resolution) return {};
  const auto meeting = join::PlanMeeting(*resolution, environment, RendezvousOptions{});
  EXPECT_TRUE(meeting) << expected.folder << ": " << meeting.error().message;
  return meeting ? *meeting : Meeting{};
}

TEST(Fixtures, AllRanksPlanOneMeetingAndNoTwoLaunchesShareIt) {
  std::map<std::string, Meeting> meetings;
  for (const ExpectedRank& expected : AllExpected()) {
    if (expected.rank == "-" || expected.rank == "!") continue;
    const Meeting meeting = MeetingOf(expected);
    const auto [it, first] = meetings.emplace(expected.folder, meeting);
    EXPECT_TRUE(first || it->second == meeting)
        << expected.folder << "/" << expected.file << ": " << meeting.key;
  }
  std::set<std::string> keys;
  std::set<std::string> job_keys;
  for (const auto& [folder, meeting] : meetings) {
    EXPECT_TRUE(keys.insert(meeting.key).second) << folder << ": " << meeting.key;
    EXPECT_TRUE(job_keys.insert(meeting.job_key).second) << folder << ": " << meeting.job_key;
  }
  const std::vector<ExpectedMeeting> expected = AllMeetings();
  EXPECT_EQ(expected.size(), meetings.size()) << "each folder with a rank has a meeting.tsv";
  for (const ExpectedMeeting& one : expected) {
    const Meeting& meeting = meetings[one.folder];
    EXPECT_EQ(NameOf(meeting.find_root), one.root) << one.folder;
    EXPECT_EQ(std::to_string(meeting.placement.nodes.size()), one.nodes) << one.folder;
    const std::string where = RootOf(meeting);
    EXPECT_EQ(where.empty() ? "-" : where, one.where) << one.folder;
  }
}

// If the layout is derived, it is the real one.
TEST(Fixtures, PlaceEveryRankWhereItRan) {
  int derived = 0;
  for (const ExpectedRank& expected : AllExpected()) {
    const auto rank = ParseInteger<size_t>(expected.rank);
    if (!rank) continue;
    const Placement placement = MeetingOf(expected).placement;
    if (placement.node_of_rank.empty()) continue;
    ++derived;
    const auto node = static_cast<size_t>(placement.node_of_rank.at(*rank));
    EXPECT_EQ(placement.nodes.at(node).name, expected.host) << expected.folder << "/" << expected.file;
  }
  EXPECT_GE(derived, 3 + 6 + 6 + 8 + 4 + 7 + 1 + 5 + 5 + 1 + 5 * 5);
}

}  // namespace
}  // namespace muster::resolve
