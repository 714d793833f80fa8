#include "bootstrap/config/text/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::config {
namespace {

TEST(EditDistance, CountsEachKindOfSlipOnce) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("same", "same"), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("colective", "collective"), 1u);
  EXPECT_EQ(EditDistance("colllective", "collective"), 1u);
  EXPECT_EQ(EditDistance("cellective", "collective"), 1u);
  EXPECT_EQ(EditDistance("oclletcive", "collective"), 2u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(Nearest, TakesTheFirstOfTheNearest) {
  const std::vector<std::string_view> candidates = {"grace", "trace", "env"};
  EXPECT_EQ(Nearest("brace", candidates), "grace");
  EXPECT_EQ(Nearest("trace", candidates), "trace");
  EXPECT_EQ(Nearest("evn", candidates), "env");
}

TEST(Nearest, GivesNothingWhereNothingIsNear) {
  const std::vector<std::string_view> candidates = {"grace", "trace"};
  EXPECT_EQ(Nearest("unrelated", candidates), "");
  EXPECT_EQ(Nearest("", candidates), "");
  EXPECT_EQ(Nearest("foo", std::vector<std::string_view>{std::string_view("log")}), "");
  EXPECT_EQ(Nearest("grace", {}), "");
  EXPECT_EQ(Nearest(std::string(65, 'a'), std::vector<std::string_view>{std::string_view("a")}), "");
}

}  // namespace
}  // namespace muster::config
