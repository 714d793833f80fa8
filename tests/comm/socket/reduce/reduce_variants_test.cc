// Every variant of the loops gives, bit by bit, what plain code for one element at a time gives: with NaNs,
// zeros of both signs, denormals and overflows.
#include "comm/socket/reduce/reduce_variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/comm/socket/reference.h"

namespace muster::socket {
namespace {

// The right result, computed without regard to speed.
template <typename T>
T Expected(ReduceOp operation, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T result = operation == ReduceOp::kProd ? a * b : a + b;
    switch (operation) {
      case ReduceOp::kMin:
        return std::isnan(a) || a < b ? a : b;
      case ReduceOp::kMax:
        return std::isnan(a) || a > b ? a : b;
      default:
        return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
    }
  } else {
    __extension__ using Wide = unsigned __int128;
    switch (operation) {
      case ReduceOp::kMin:
        return std::min(a, b);
      case ReduceOp::kMax:
        return std::max(a, b);
      case ReduceOp::kProd:
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      default:
        return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    }
  }
}

template <typename T>
std::vector<T> Specials() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::min(), Limits::max(),      Limits::lowest(),  T{0}, T{1}, T{2}, T{3},
                           T{100},        static_cast<T>(-1), static_cast<T>(-3)};
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const Bits quiet = std::bit_cast<Bits>(Limits::quiet_NaN());
    const Bits signaling = std::bit_cast<Bits>(Limits::signaling_NaN());
    const Bits sign = Bits{1} << (sizeof(T) * 8 - 1);
    for (const Bits bits : {quiet, quiet | sign, quiet | 5, quiet | sign | 9, signaling, signaling | sign,
                            signaling | 3, sign, Bits{1}, Bits{77}, sign | 1, sign | 1234}) {
      values.push_back(std::bit_cast<T>(bits));
    }
    for (const T value : {Limits::infinity(), -Limits::infinity(), T(0.1), T(-1.5), Limits::epsilon(),
                          -Limits::min(), Limits::min() * 3}) {
      values.push_back(value);
    }
  }
  return values;
}

// Each special value with each, then any bits at all.
template <typename T>
void FillOperands(std::vector<T>& left, std::vector<T>& right) {
  for (const T a : Specials<T>()) {
    for (const T b : Specials<T>()) {
      left.push_back(a);
      right.push_back(b);
    }
  }
  std::mt19937_64 random(sizeof(T));
  for (int i = 0; i < 3001; ++i) {
    for (std::vector<T>* side : {&left, &right}) {
      const uint64_t bits = random();
      T value{};
      std::memcpy(&value, &bits, sizeof value);
      side->push_back(value);
    }
  }
}

template <typename T>
bool SameBits(const T* a, const T* b, size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(T)) == 0;
}

template <typename T>
size_t FirstDifference(const std::vector<T>& a, const std::vector<T>& b) {
  size_t i = 0;
  while (i < a.size() && SameBits(&a[i], &b[i], 1)) ++i;
  return i;
}

template <typename T>
class Combining : public testing::Test {};
using WorkTypes = testing::Types<int8_t, uint8_t, int32_t, int64_t, uint64_t, float, double>;
TYPED_TEST_SUITE(Combining, WorkTypes);

TYPED_TEST(Combining, IsTheSameToTheBitInEveryVariant) {
  using T = TypeParam;
  std::vector<T> left;
  std::vector<T> right;
  FillOperands(left, right);
  for (const ReduceOp operation : kAllOps) {
    std::vector<T> expected;
    for (size_t i = 0; i < left.size(); ++i) expected.push_back(Expected(operation, left[i], right[i]));
    for (const ReduceVariant* variant : UsableReduceVariants()) {
      SCOPED_TRACE(testing::Message() << variant->name << " " << Name(operation));
      std::vector<T> out(left.size());
      variant->combine(DataTypeOf<T>(), operation, out.data(), left.data(), right.data(), left.size());
      EXPECT_EQ(FirstDifference(out, expected), expected.size());
      out = left;
      variant->combine(DataTypeOf<T>(), operation, out.data(), out.data(), right.data(), out.size());
      EXPECT_EQ(FirstDifference(out, expected), expected.size()) << "into the left operand";
      out = right;
      variant->combine(DataTypeOf<T>(), operation, out.data(), left.data(), out.data(), out.size());
      EXPECT_EQ(FirstDifference(out, expected), expected.size()) << "into the right operand";
    }
  }
}

// The vectorised part, its rest, and wherever the operands begin; nothing behind them is touched.
TYPED_TEST(Combining, WorksForEveryLengthAndAlignment) {
  using T = TypeParam;
  std::vector<T> left;
  std::vector<T> right;
  FillOperands(left, right);
  const T guard = static_cast<T>(42);
  for (const ReduceVariant* variant : UsableReduceVariants()) {
    for (size_t count = 0; count <= 140; ++count) {
      const size_t shift = count % 5;
      std::vector<T> out(count + shift + 1, guard);
      variant->combine(DataTypeOf<T>(), ReduceOp::kMax, out.data() + shift, left.data() + shift + 1,
                       right.data() + 2 * shift, count);
      for (size_t i = 0; i < count; ++i) {
        const T expected = Expected(ReduceOp::kMax, left[i + shift + 1], right[i + 2 * shift]);
        ASSERT_TRUE(SameBits(&out[i + shift], &expected, 1)) << variant->name << " " << count << " " << i;
      }
      ASSERT_EQ(out[count + shift], guard);
    }
  }
}

TYPED_TEST(Combining, DividesLikeOneElementAtATime) {
  using T = TypeParam;
  std::vector<T> values;
  std::vector<T> unused;
  FillOperands(values, unused);
  for (const int ranks : {1, 2, 3, 5, 7, 8, 64, 127, 1000, 2048, 99'999}) {
    std::vector<T> expected = values;
    for (T& value : expected) {
      if constexpr (std::is_floating_point_v<T>) {
        value /= static_cast<T>(ranks);
        if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
      } else {
        __extension__ using Wide = __int128;
        value = static_cast<T>(static_cast<Wide>(value) / ranks);
      }
    }
    for (const ReduceVariant* variant : UsableReduceVariants()) {
      std::vector<T> out = values;
      variant->divide(DataTypeOf<T>(), out.data(), out.size(), ranks);
      EXPECT_EQ(FirstDifference(out, expected), expected.size()) << variant->name << " " << ranks;
    }
  }
}

// A format of 16 bits by its definition: the value of each pattern, and rounding by looking for the nearest.
class Format {
 public:
  Format(int exponent_bits, int mantissa_bits) : mantissa_bits_(mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    infinity_ = ((1U << exponent_bits) - 1) << mantissa_bits;
    // Infinity stands for the next power of two while rounding.
    for (uint32_t bits = 0; bits <= infinity_; ++bits) {
      const int exponent = static_cast<int>(bits >> mantissa_bits);
      const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
      const double fraction = exponent == 0 ? mantissa : mantissa + (1U << mantissa_bits);
      values_.push_back(std::ldexp(fraction, std::max(exponent, 1) - bias - mantissa_bits));
    }
  }

  uint32_t WideBits(uint16_t bits) const {
    const uint32_t sign = bits & 0x8000U;
    const uint32_t rest = bits & 0x7fffU;
    if (rest > infinity_) {
      const uint32_t quiet = mantissa_bits_ == 10 ? 0x00400000U : 0;  // bf16 is f32 cut off
      return sign << 16 | 0x7f800000U | (rest & (infinity_ ^ 0x7fffU)) << (23 - mantissa_bits_) | quiet;
    }
    const float value =
        rest == infinity_ ? std::numeric_limits<float>::infinity() : static_cast<float>(values_[rest]);
    return sign << 16 | std::bit_cast<uint32_t>(value);
  }

  uint16_t Rounded(float value) const {
    const uint32_t sign = std::bit_cast<uint32_t>(value) >> 31 << 15;
    if (std::isnan(value)) {
      const uint32_t mantissa = std::bit_cast<uint32_t>(value) & 0x007fffffU;
      const uint32_t quiet = 1U << (mantissa_bits_ - 1);
      return static_cast<uint16_t>(sign | infinity_ | quiet | mantissa >> (23 - mantissa_bits_));
    }
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto above = std::lower_bound(values_.begin(), values_.end(), magnitude);
    if (above == values_.end()) return static_cast<uint16_t>(sign | infinity_);
    uint32_t bits = static_cast<uint32_t>(above - values_.begin());
    if (bits > 0 && *above != magnitude) {
      const double up = *above - magnitude;
      const double down = magnitude - values_[bits - 1];
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
    return static_cast<uint16_t>(sign | bits);
  }

 private:
  int mantissa_bits_;
  uint32_t infinity_;
  std::vector<double> values_;
};

const std::map<DataType, Format>& Formats() {
  static const std::map<DataType, Format> formats = {{DataType::kF16, Format(5, 10)},
                                                     {DataType::kBF16, Format(8, 7)}};
  return formats;
}

TEST(Widening, IsExactForEveryPattern) {
  for (const auto& [type, format] : Formats()) {
    std::vector<uint16_t> narrow;
    std::vector<uint32_t> expected;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      narrow.push_back(static_cast<uint16_t>(bits));
      expected.push_back(format.WideBits(static_cast<uint16_t>(bits)));
    }
    for (const ReduceVariant* variant : UsableReduceVariants()) {
      // Odd lengths, so that the rest behind the vectors is taken as well.
      for (const size_t length : {size_t{65536}, size_t{1}, size_t{13}}) {
        std::vector<float> wide(narrow.size());
        for (size_t i = 0; i < narrow.size(); i += length) {
          variant->widen(type, narrow.data() + i, wide.data() + i, std::min(length, narrow.size() - i));
        }
        EXPECT_EQ(std::memcmp(wide.data(), expected.data(), expected.size() * 4), 0)
            << variant->name << " " << Name(type) << " " << length;
      }
    }
  }
}

// Each pattern, what lies half way to the next, and both neighbours of that; and anything else.
std::vector<float> ValuesToRound(const Format& format) {
  std::vector<float> values = {0x1p-26F, 0x1.000002p-25F, 0x1p-25F, 0x1p-140F, 3.4e38F};
  for (uint32_t bits = 0; bits < 0xffff; ++bits) {
    const uint32_t here = format.WideBits(static_cast<uint16_t>(bits));
    const uint32_t next = format.WideBits(static_cast<uint16_t>(bits + 1));
    const uint32_t half = here / 2 + next / 2;
    for (const uint32_t some : {here, half - 1, half, half + 1}) values.push_back(std::bit_cast<float>(some));
  }
  std::mt19937 random(7);
  for (int i = 0; i < 100'003; ++i) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return values;
}

TEST(Narrowing, RoundsToNearestEven) {
  for (const auto& [type, format] : Formats()) {
    const std::vector<float> values = ValuesToRound(format);
    std::vector<uint16_t> expected;
    for (const float value : values) expected.push_back(format.Rounded(value));
    for (const ReduceVariant* variant : UsableReduceVariants()) {
      std::vector<uint16_t> narrow(values.size());
      variant->narrow(type, values.data(), narrow.data(), values.size());
      const size_t at = FirstDifference(narrow, expected);
      EXPECT_EQ(at, expected.size()) << variant->name << " " << Name(type) << " "
                                     << std::bit_cast<uint32_t>(values[std::min(at, values.size() - 1)]);
    }
  }
}

TEST(ReduceVariants, BeginWithThePortableOneAndEndWithTheOneInUse) {
  EXPECT_STREQ(UsableReduceVariants().front()->name, "portable");
  EXPECT_EQ(&BestReduceVariant(), UsableReduceVariants().back());
}

}  // namespace
}  // namespace muster::socket
