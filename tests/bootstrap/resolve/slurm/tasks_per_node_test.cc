#include "bootstrap/resolve/slurm/tasks_per_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::resolve {
namespace {

using testing::ElementsAre;

TEST(ParseTasksPerNode, ReadsRuns) {
  EXPECT_THAT(*ParseTasksPerNode("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(*ParseTasksPerNode("6,1(x2)"), ElementsAre(6, 1, 1));
  EXPECT_THAT(*ParseTasksPerNode("1"), ElementsAre(1));
  EXPECT_THAT(*ParseTasksPerNode("3(x1)"), ElementsAre(3));
}

TEST(ParseTasksPerNode, SumsWithoutOverflow) {
  EXPECT_EQ(SumOf(*ParseTasksPerNode("2147483647(x2),1")), 4294967295);
  EXPECT_EQ(SumOf({}), 0);
}

TEST(ParseTasksPerNode, NamesWhatIsWrong) {
  const auto counts = ParseTasksPerNode("2(x3),x");
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, Code::kBadEnvironment);
  EXPECT_EQ(counts.error().message,
            "\"2(x3),x\" is not a list of tasks per node such as 2(x3),1: \"x\" is not a count");
}

TEST(ParseTasksPerNode, RefusesWhatIsNotOne) {
  for (const char* bad :
       {"", ",", "2,", "-1", "2(x0)", "2(x)", "2(3)", "2x3", "2(x3", "2 (x3)", "2(x-1)", "(x3)", "2(x3))"}) {
    EXPECT_FALSE(ParseTasksPerNode(bad)) << bad;
  }
}

TEST(ParseTasksPerNode, IsBounded) {
  const auto counts = ParseTasksPerNode("1(x99999999999)");
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().message, "\"1(x99999999999)\" lists more than 262144 nodes");
  EXPECT_FALSE(ParseTasksPerNode("1(x262144),1"));
  EXPECT_EQ(ParseTasksPerNode("1(x262144)")->size(), 262144u);
}

}  // namespace
}  // namespace muster::resolve
