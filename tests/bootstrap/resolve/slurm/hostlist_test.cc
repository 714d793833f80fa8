#include "bootstrap/resolve/slurm/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/base/lists.h"

namespace muster::resolve {
namespace {

using testing::ElementsAre;

std::vector<std::string> Expand(std::string_view text) {
  const auto names = ExpandHostlist(text);
  EXPECT_TRUE(names) << names.error().message;
  return names.value_or(std::vector<std::string>{});
}

TEST(ExpandHostlist, PadsEachRangeAsWideAsItsLowEnd) {
  EXPECT_THAT(Expand("r[1-3,5,09-11]"), ElementsAre("r1", "r2", "r3", "r5", "r09", "r10", "r11"));
  EXPECT_THAT(Expand("n[1,01,001]"), ElementsAre("n1", "n01", "n001"));
  EXPECT_THAT(Expand("n[9-010]"), ElementsAre("n9", "n10"));
  EXPECT_THAT(Expand("n[09-10]"), ElementsAre("n09", "n10"));
  EXPECT_THAT(Expand("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
}

TEST(ExpandHostlist, KeepsSlurmsOrderOfSeveralBrackets) {
  EXPECT_THAT(Expand("rack[1-2]n[01-02]"), ElementsAre("rack1n01", "rack1n02", "rack2n01", "rack2n02"));
  EXPECT_THAT(Expand("x[0-1]y[0-1]z[0-1]"),
              ElementsAre("x0y0z0", "x0y0z1", "x1y0z0", "x1y0z1", "x0y1z0", "x0y1z1", "x1y1z0", "x1y1z1"));
  EXPECT_THAT(Expand("x1000c0s[0-1]b0n[0-3]"),
              ElementsAre("x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b0n2", "x1000c0s0b0n3", "x1000c0s1b0n0",
                          "x1000c0s1b0n1", "x1000c0s1b0n2", "x1000c0s1b0n3"));
}

TEST(ExpandHostlist, TakesSuffixes) {
  EXPECT_THAT(Expand("node[0001-0003]-int"), ElementsAre("node0001-int", "node0002-int", "node0003-int"));
  EXPECT_THAT(Expand("n[1-2,5].example.com"),
              ElementsAre("n1.example.com", "n2.example.com", "n5.example.com"));
  EXPECT_THAT(Expand("n[1-2]-ib"), ElementsAre("n1-ib", "n2-ib"));
}

TEST(ExpandHostlist, TakesListsWithAnySeparatorAndKeepsDuplicates) {
  EXPECT_THAT(Expand("a,b,a"), ElementsAre("a", "b", "a"));
  EXPECT_THAT(Expand("a[1-2] b3\tc4\nd"), ElementsAre("a1", "a2", "b3", "c4", "d"));
  EXPECT_THAT(Expand(",a,,b,"), ElementsAre("a", "b"));
  EXPECT_THAT(Expand("b[3-4],a[1-2]"), ElementsAre("b3", "b4", "a1", "a2"));
  EXPECT_THAT(Expand("n1-3"), ElementsAre("n1-3"));
  EXPECT_THAT(Expand("n[7],n[9]"), ElementsAre("n7", "n9"));
  EXPECT_THAT(Expand("r[3,1-2]"), ElementsAre("r3", "r1", "r2"));
  EXPECT_THAT(Expand("linux"), ElementsAre("linux"));
}

struct BadCase {
  const char* text;
  const char* message;
};

class BadHostlist : public testing::TestWithParam<BadCase> {};

TEST_P(BadHostlist, IsRefusedByName) {
  const auto names = ExpandHostlist(GetParam().text);
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, Code::kBadEnvironment);
  EXPECT_EQ(names.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadHostlist,
    testing::Values(
        BadCase{"", "\"\" is not a host list: it is empty"},  //
        BadCase{" , ", "\" , \" is not a host list: it is empty"},
        BadCase{"n[1-3", "\"n[1-3\" is not a host list: a \"[\" without its \"]\""},
        BadCase{"n1-3]", "\"n1-3]\" is not a host list: a \"]\" without its \"[\""},
        BadCase{"n[1[2]]", "\"n[1[2]]\" is not a host list: a \"[\" without its \"]\""},
        BadCase{"n[1-4:2]",
                "\"n[1-4:2]\" is not a host list: \"1-4:2\" is not a number or a range such as 1-4"},
        BadCase{"n[3-1]", "\"n[3-1]\" is not a host list: \"3-1\" runs backwards"},
        BadCase{"n[1--3]", "\"n[1--3]\" is not a host list: \"1--3\" is not a number or a range such as 1-4"},
        BadCase{"n[-3]", "\"n[-3]\" is not a host list: \"-3\" is not a number or a range such as 1-4"},
        BadCase{"n[]", "\"n[]\" is not a host list: \"\" is not a number or a range such as 1-4"},
        BadCase{"n[1-2,]", "\"n[1-2,]\" is not a host list: \"\" is not a number or a range such as 1-4"},
        BadCase{"n[ 1]", "\"n[ 1]\" is not a host list: \" 1\" is not a number or a range such as 1-4"},
        BadCase{"n[001x003]",
                "\"n[001x003]\" is not a host list: \"001x003\" is not a number or a range such as 1-4"},
        BadCase{"n[0-65536]", "\"n[0-65536]\" is not a host list: \"0-65536\" is longer than 65536 numbers"},
        BadCase{"n[1-99999999999999999999]",
                "\"n[1-99999999999999999999]\" is not a host list: \"1-99999999999999999999\" is not a "
                "number or a range such as 1-4"},
        BadCase{"a[0-65535]b[0-65535]",
                "\"a[0-65535]b[0-65535]\" is not a host list: it has more than 262144 names"},
        BadCase{"a[0-9]b[0-9999],c[0-65535],d[0-65535],e[0-65535]",
                "\"a[0-9]b[0-9999],c[0-65535],d[0-65535],e[0-65535]\" is not a host list: it has more than "
                "262144 names"}));

TEST(ExpandHostlist, IsNotTalkedIntoGigabytes) {
  std::string brackets;
  for (int i = 0; i < 14000; ++i) brackets += "[0-65535]";
  const auto many = ExpandHostlist(brackets);
  ASSERT_FALSE(many);
  EXPECT_TRUE(many.error().message.ends_with("it has more than 262144 names"));
  const auto names = ExpandHostlist(std::string(100'000, 'a') + "[0-65535]");
  ASSERT_FALSE(names);
  EXPECT_TRUE(names.error().message.ends_with("a name is longer than 255 characters"));
  EXPECT_EQ(Expand(std::string(250, 'a') + "[00001]").size(), 1u);
  EXPECT_FALSE(ExpandHostlist(std::string(250, 'a') + "[000001]"));
}

TEST(ExpandHostlist, TakesTheLongestRange) { EXPECT_EQ(Expand("n[0-65535]").size(), 65536u); }

TEST(FormatNodes, IsReadBack) {
  for (const char* text : {"gpu[01-04,07],login1,x[9-12]", "r[3,1-2]", "n[1,01,001]", "rack[1-2]n[01-02]",
                           "a,b,a", "n[0998-1002]", "999,0001", "n[1-2]-ib,n3"}) {
    const auto names = Expand(text);
    EXPECT_EQ(Expand(FormatNodes(names)), names) << text;
  }
}

}  // namespace
}  // namespace muster::resolve
