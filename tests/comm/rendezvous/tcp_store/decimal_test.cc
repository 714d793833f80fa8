#include "comm/rendezvous/tcp_store/decimal.h"

#include <gtest/gtest.h>

namespace muster::tcp_store {
namespace {

TEST(LeadingInteger, ReadsAsStrtollDoes) {
  EXPECT_EQ(LeadingInteger("12"), 12);
  EXPECT_EQ(LeadingInteger(" \t\n\v\f\r-12"), -12);
  EXPECT_EQ(LeadingInteger("+5"), 5);
  EXPECT_EQ(LeadingInteger("12abc"), 12);
  EXPECT_EQ(LeadingInteger("1e3"), 1);
  EXPECT_EQ(LeadingInteger("0x10"), 0);
  EXPECT_EQ(LeadingInteger("-9223372036854775808"), INT64_MIN);
}

TEST(LeadingInteger, IsAbsentWhereThereIsNone) {
  for (const char* text : {"", " ", "abc", "+", "-", "+-1", "--1", "- 1", "9223372036854775808"}) {
    EXPECT_EQ(LeadingInteger(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace muster::tcp_store
