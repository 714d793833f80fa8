#include "bootstrap/map/map_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "bootstrap/config/load.h"
#include "bootstrap/map/map_run.h"
#include "tests/comm/base/folder.h"
#include "tests/comm/base/print_error.h"

namespace muster::map {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<MapPlan> Plan(const std::vector<std::string>& sets, const std::vector<std::string>& command = {}) {
  const auto effective = config::LoadConfig({}, {}, sets);
  if (!effective) return Fail(effective.error());
  return MakeMapPlan(*effective, command);
}

TEST(MapPlan, HasAbsolutePaths) {
  const std::string here = std::filesystem::current_path().string();
  const auto plan = Plan({"map.items=[a, b]"}, {"true"});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->attempt.output, here + "/muster-map");
  EXPECT_EQ(plan->options.journal, here + "/muster-map/journal");
  const auto other = Plan({"map.items=[a]", "map.output=/x/y/", "map.journal=j"}, {"true"});
  EXPECT_EQ(other->attempt.output, "/x/y");
  EXPECT_EQ(other->options.journal, here + "/j");
}

// An item of that name would take its place.
TEST(MapPlan, HasNoJournalAmongItsResults) {
  const auto error = [](const std::string& journal) {
    const auto plan = Plan({"map.items=[a]", "map.output=/o", "map.journal=" + journal}, {"true"});
    return plan ? "" : ToString(plan.error());
  };
  EXPECT_EQ(error("/o/j"),
            "the journal /o/j is in map.output, whose names are those of items (choose another directory for "
            "map.journal, or leave it out: the default is /o/journal)");
  for (const char* refused : {"/o", "/o/", "/o/a/journal", "/o/.attempts/j", "/o/x/../j"})
    EXPECT_NE(error(refused), "") << refused;
  for (const char* accepted : {"/o/journal", "/o/journal/", "/o/journal/2", "/oj", "/j", "/o/../j"})
    EXPECT_EQ(error(accepted), "") << accepted;
}

TEST(MapPlan, PrefersTheCommandOfTheFlags) {
  EXPECT_THAT(Plan({"map.items=[a]", "map.command=[x]"}, {"y"})->command, ElementsAre("y"));
  EXPECT_THAT(Plan({"map.items=[a]", "map.command=[x]"})->command, ElementsAre("x"));
  EXPECT_EQ(Plan({"map.items=[a]"}).error().code, Code::kUsage);
  EXPECT_EQ(Plan({}, {"true"}).error().message,
            "there are no items: no --items, and no map.items in the configuration");
}

TEST(MapPlan, ChecksEveryTextBeforeAnythingStarts) {
  EXPECT_THAT(Plan({"map.items=[a]"}, {"true", "{modle}"}).error().message, HasSubstr("the command"));
  EXPECT_THAT(Plan({"map.items=[a]", "map.expect=['{x}']"}, {"true"}).error().message,
              HasSubstr("map.expect"));
  EXPECT_THAT(Plan({"map.items=[a]", "run.env={A: '{x}'}"}, {"true"}).error().message,
              HasSubstr("run.env: A"));
  EXPECT_EQ(Plan({"map.items=[a]", "run.env={MUSTER_ITEM: b}"}, {"true"}).error().message,
            "run.env sets MUSTER_ITEM, which muster map sets itself");
}

TEST(MapPlan, IsTheSameWorkForTheSameItemsAndCommand) {
  const Identity one = Plan({"map.items=[a, b]"}, {"x", "{item}"})->identity;
  EXPECT_EQ(one, Plan({"map.items=[a, b]", "map.retries=9"}, {"x", "{item}"})->identity);
  EXPECT_FALSE(one == Plan({"map.items=[a, c]"}, {"x", "{item}"})->identity);
  EXPECT_FALSE(one == Plan({"map.items=[a, b]"}, {"x {item}"})->identity);
  EXPECT_EQ(one.subject, "x {item}");
}

TEST(MapPlan, GivesTheRootTheTimeThatAnAttemptAndItsDiskMayTake) {
  EXPECT_EQ(Plan({"map.items=[a]"}, {"x"})->options.timeout, Duration::zero());
  EXPECT_EQ(Plan({"map.items=[a]", "map.timeout=60", "run.grace=5"}, {"x"})->options.timeout,
            std::chrono::seconds(65 + 60));
}

TEST(MapPlan, WarnsOfAFileThatTheProgramWillNotFind) {
  const Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  folder.Write("eval.py", "");
  const auto plan = Plan({"map.items=[a]"}, {"python", "eval.py", "other.py", "{item}"});
  std::filesystem::current_path(before);
  ASSERT_TRUE(plan);
  EXPECT_THAT(
      plan->warnings,
      ElementsAre("the program of each item runs in a directory of its own, where eval.py is not found; "
                  "write {pwd}/eval.py"));
}

TEST(DescribePlan, ShowsTheFirstCommands) {
  const auto plan = Plan({"map.items={m: [a, 'b c'], n: [1, 2, 3, 4, 5, 6]}", "map.output=/o"},
                         {"eval", "--m={m}", "{dir}", "{rank}"});
  ASSERT_TRUE(plan) << plan.error().message;
  const std::string text = *DescribePlan(*plan, false);
  EXPECT_TRUE(
      text.starts_with("12 items; results in /o, journal /o/journal\n"
                       "m=a,n=1: eval --m=a /o/m=a,n=1 {rank}\n"))
      << text;
  EXPECT_TRUE(text.ends_with("m=b c,n=4: eval '--m=b c' /o/m=b%20c,n=4 {rank}\nand 2 more\n")) << text;
  const auto braces = Plan({"map.items=['{a,b}']"}, {"echo", "{item}"});
  ASSERT_TRUE(braces) << braces.error().message;
  EXPECT_THAT(*DescribePlan(*braces, false), HasSubstr("{a,b}: echo '{a,b}'\n"));
  const std::string json = *DescribePlan(*plan, true);
  EXPECT_THAT(
      json, HasSubstr(R"("items":12,"output":"/o","journal":"/o/journal","retries":2,"first":[{"index":0,)"));
  EXPECT_THAT(json, HasSubstr(R"("key":"m=a,n=1","command":["eval","--m=a","/o/m=a,n=1","{rank}"])"));
}

MapEnd End(uint64_t committed, uint64_t poisoned, uint64_t resumed = 0) {
  MapEnd end;
  end.outcome.items = 10;
  end.outcome.committed = committed;
  end.outcome.poisoned = poisoned;
  end.outcome.resumed = resumed;
  end.reports = true;
  return end;
}

TEST(MapEnd, DecidesTheExitStatus) {
  EXPECT_EQ(ExitStatusOf(End(10, 0)), 0);
  EXPECT_EQ(ExitStatusOf(End(8, 2)), 79);
  EXPECT_EQ(ExitStatusOf(End(7, 2)), 80);
  MapEnd of_another_rank = End(8, 2);
  of_another_rank.reports = false;
  EXPECT_EQ(ExitStatusOf(of_another_rank), 0);
  of_another_rank.outcome.committed = 7;
  EXPECT_EQ(ExitStatusOf(of_another_rank), 0);
  of_another_rank.signal = SIGTERM;
  EXPECT_EQ(ExitStatusOf(of_another_rank), 80);
  MapEnd interrupted = End(7, 2);
  interrupted.signal = SIGINT;
  EXPECT_EQ(ExitStatusOf(interrupted), 130);
  interrupted.signal = SIGTERM;
  EXPECT_EQ(ExitStatusOf(interrupted), 80);
}

TEST(MapEnd, SaysHowMuchIsLeft) {
  EXPECT_THAT(DescribeEnd(End(10, 0)), ElementsAre("10 of 10 items are done"));
  EXPECT_THAT(DescribeEnd(End(7, 0, 3)),
              ElementsAre("the time is up: 7 of 10 items are done (3 by earlier runs), 3 are left: the same "
                          "command continues with them"));
  EXPECT_THAT(DescribeEnd(End(0, 2, 2)).back(),
              testing::StartsWith(
                  "the time is up: 0 of 10 items are done, 2 failed (2 by earlier runs), 8 are left"));
}

TEST(MapEnd, NamesTheItemsThatFailed) {
  MapEnd end = End(8, 2);
  end.given_up = {{"a", "gpu01", 3, 3, "exit 1 (files: /o/.failed/a)\nTraceback\nKeyError: 'x'\n"},
                  {"b", "gpu02", 4, 3, "exit 2 (files: /o/.failed/b)"}};
  EXPECT_THAT(
      DescribeEnd(end),
      ElementsAre("item a failed (3 attempts; rank 3 on gpu01): exit 1 (files: /o/.failed/a): KeyError: 'x'",
                  "item b failed (3 attempts; rank 4 on gpu02): exit 2 (files: /o/.failed/b)",
                  "8 of 10 items are done, 2 failed; --retry-failed attempts them again"));
  end.outcome.poisoned = 5;
  EXPECT_EQ(DescribeEnd(end)[2], "and 3 more items failed");
}

}  // namespace
}  // namespace muster::map
