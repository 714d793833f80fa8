#include "bootstrap/config/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::config {
namespace {

TEST(FirstInvalidUtf8, TakesEveryLength) {
  for (const std::string text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbf",
                                 "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    EXPECT_EQ(FirstInvalidUtf8(text), text.size()) << text;
  }
}

TEST(FirstInvalidUtf8, PointsAtTheFirstBadByte) {
  const struct {
    const char* text;
    size_t at;
  } cases[] = {
      {"ab\xff", 2},
      {"a\x80", 1},
      {"\xc0\x80", 0},
      {"\xc3", 0},
      {"\xe0\x80\x80", 0},
      {"\xed\xa0\x80", 0},
      {"\xf4\x90\x80\x80", 0},
      {"\xf5\x80\x80\x80", 0},
      {"x\xe2\x82", 1},
      {"\xe2\x82x", 0},
      {"\xf0\x8f\xbf\xbf", 0},
      {"\xf1\x80\x80x", 0},
      {"\xc3\xa9\xc3\xa9\xa9", 4},
  };
  for (const auto& c : cases) EXPECT_EQ(FirstInvalidUtf8(c.text), c.at) << c.text;
}

}  // namespace
}  // namespace muster::config
