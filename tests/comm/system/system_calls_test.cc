#include "comm/system/system_calls.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(RandomNumber, DiffersInEachPartOfIt) {
  std::set<uint32_t> high;
  std::set<uint32_t> low;
  for (int i = 0; i < 8; ++i) {
    const uint64_t number = RandomNumber();
    high.insert(static_cast<uint32_t>(number >> 32));
    low.insert(static_cast<uint32_t>(number));
  }
  EXPECT_GE(high.size(), 7U);
  EXPECT_GE(low.size(), 7U);
}

}  // namespace
}  // namespace muster
