// The functions of deploy/bazel/rounding.c, which stand in front of libm's here, beside libm's for long double.
#include <gtest/gtest.h>
#include <math.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

// The compiler must not compute them.
double (*volatile the_ceil)(double) = ceil;
float (*volatile the_ceilf)(float) = ceilf;
double (*volatile the_round)(double) = round;

bool Same(double found, double wanted) {
  if (isnan(wanted)) return isnan(found) != 0;
  return std::bit_cast<uint64_t>(found) == std::bit_cast<uint64_t>(wanted);
}

std::vector<double> Arguments() {
  using Limits = std::numeric_limits<double>;
  std::vector<double> all = {0.0,
                             0.3,
                             0.49999999999999994,
                             0.5,
                             1.0,
                             1.5,
                             2.5,
                             1e15 + 0.5,
                             0x1p51 + 0.5,
                             0x1p52,
                             0x1p53,
                             0x1p62,
                             0x1p63,
                             1e300,
                             Limits::denorm_min(),
                             Limits::min(),
                             Limits::max(),
                             Limits::infinity(),
                             Limits::quiet_NaN()};
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) all.push_back(std::bit_cast<double>(random()));
  for (int i = 0; i < 100'000; ++i) all.push_back(static_cast<double>(random() >> (random() % 60)) / 8);
  const size_t positive = all.size();
  for (size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  return all;
}

TEST(Rounding, IsThatOfLibm) {
  for (const double x : Arguments()) {
    EXPECT_TRUE(Same(the_ceil(x), static_cast<double>(ceill(x)))) << x;
    EXPECT_TRUE(Same(the_round(x), static_cast<double>(roundl(x)))) << x;
    const auto narrow = static_cast<float>(x);
    EXPECT_TRUE(Same(the_ceilf(narrow), static_cast<double>(ceill(narrow)))) << narrow;
  }
}

}  // namespace
