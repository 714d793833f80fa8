#include "comm/base/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace muster {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ParseInteger, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseInteger<int>("42"), 42);
  EXPECT_EQ(ParseInteger<int>("-1"), -1);
  for (const char* bad : {"", " 1", "1 ", "+1", "1x", "0x1", "2147483648", "1.0", "\"1\""}) {
    EXPECT_EQ(ParseInteger<int>(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(ParseInteger<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseInteger<uint16_t>("-1"), std::nullopt);
}

struct DurationCase {
  const char* text;
  Duration value;
  const char* formatted;
};

class DurationTest : public testing::TestWithParam<DurationCase> {};

TEST_P(DurationTest, ReadsAndWritesBack) {
  const DurationCase& c = GetParam();
  const Result<Duration> parsed = ParseDuration(c.text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, c.value);
  EXPECT_EQ(FormatDuration(*parsed), c.formatted);
  EXPECT_EQ(ParseDuration(FormatDuration(*parsed)), c.value);
}

INSTANTIATE_TEST_SUITE_P(
    All, DurationTest,
    testing::Values(
        DurationCase{"500ms", milliseconds(500), "500ms"}, DurationCase{"30s", seconds(30), "30s"},
        DurationCase{"10m", minutes(10), "10m"}, DurationCase{"16h40m", seconds(60000), "16h40m"},
        DurationCase{"60000s", seconds(60000), "16h40m"}, DurationCase{"60000", seconds(60000), "16h40m"},
        DurationCase{"0.25", milliseconds(250), "250ms"}, DurationCase{" 1.5h ", minutes(90), "1h30m"},
        DurationCase{"52d", hours(24 * 52), "52d"},
        DurationCase{"1403d15m10s100ms66us",
                     hours(24 * 1403) + minutes(15) + seconds(10) + std::chrono::microseconds(100066),
                     "1403d15m10s100ms66us"},
        DurationCase{"0", Duration::zero(), "0s"}));

TEST(ParseDuration, SaysWhatIsWrong) {
  const Result<Duration> parsed = ParseDuration("ten minutes");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kConfiguration);
  EXPECT_EQ(parsed.error().message, "\"ten minutes\" is not a duration: a number is expected");
  EXPECT_EQ(parsed.error().hint, "write for example 500ms, 30s, 10m or 16h40m; a bare number is seconds");
}

TEST(ParseDuration, RefusesWhatIsNotOne) {
  for (const char* bad :
       {"", "  ", "-1s", "1x", "1s1h", "1h1h", "1h5", "1..5s", ".", "1e3", "9999999d", "s", "1 s"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b", ','), testing::ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", ','), testing::ElementsAre(""));
}

TEST(Words, AreWithoutBlanks) {
  EXPECT_THAT(Words(" a \tb\n"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(Words("a\tb c", " "), testing::ElementsAre("a\tb", "c"));
  EXPECT_THAT(Words(" "), testing::IsEmpty());
}

TEST(DevicesIn, EndsAtTheFirstThatIsNone) {
  EXPECT_THAT(DevicesIn("0, MIG-5c6"), testing::ElementsAre("0", "MIG-5c6"));
  EXPECT_THAT(DevicesIn("0,-1,1"), testing::ElementsAre("0"));
  for (const char* none : {"", "-1", "NoDevFiles"}) EXPECT_THAT(DevicesIn(none), testing::IsEmpty()) << none;
}

}  // namespace
}  // namespace muster
