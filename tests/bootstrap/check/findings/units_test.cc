#include "bootstrap/check/findings/units.h"

#include <gtest/gtest.h>

namespace muster::check {
namespace {

TEST(Units, AreReadable) {
  EXPECT_EQ(ShowNanoseconds(45'000), "45 us");
  EXPECT_EQ(ShowNanoseconds(1'240'000), "1.2 ms");
  EXPECT_EQ(ShowNanoseconds(-3'500'000'000), "-3.5 s");
  EXPECT_EQ(ShowNanoseconds(999'900), "1.0 ms");
  EXPECT_EQ(ShowRate(0), "0 B/s");
  EXPECT_EQ(ShowRate(1'200'000'000), "1.2 GB/s");
  EXPECT_EQ(ShowBytes(8 << 20), "8.0 MiB");
  EXPECT_EQ(ShowBytes(UINT64_MAX), "unlimited");
  EXPECT_EQ(ShowCount(1024), "1024");
  EXPECT_EQ(ShowCount(UINT64_MAX), "unlimited");
}

}  // namespace
}  // namespace muster::check
