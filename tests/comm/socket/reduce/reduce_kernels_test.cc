#include "comm/socket/reduce/reduce_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace muster::socket {
namespace {

template <typename T>
std::vector<T> Apply(ReduceOp operation, std::vector<T> left, const std::vector<T>& right) {
  Combine(DataTypeOf<T>(), operation, left.data(), left.data(), right.data(), left.size());
  return left;
}

TEST(Combine, WrapsWholeNumbersAround) {
  EXPECT_EQ(Apply<int8_t>(ReduceOp::kSum, {127, -128}, {1, -1}), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(Apply<int8_t>(ReduceOp::kProd, {-128, 100}, {-1, 3}), (std::vector<int8_t>{-128, 44}));
  EXPECT_EQ(Apply<uint8_t>(ReduceOp::kSum, {255}, {2}), std::vector<uint8_t>{1});
  EXPECT_EQ(Apply<int32_t>(ReduceOp::kSum, {INT32_MAX}, {1}), std::vector<int32_t>{INT32_MIN});
  EXPECT_EQ(Apply<int32_t>(ReduceOp::kProd, {INT32_MIN}, {-1}), std::vector<int32_t>{INT32_MIN});
  EXPECT_EQ(Apply<int64_t>(ReduceOp::kSum, {INT64_MAX}, {1}), std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(Apply<int64_t>(ReduceOp::kProd, {INT64_MAX}, {2}), std::vector<int64_t>{-2});
  EXPECT_EQ(Apply<uint64_t>(ReduceOp::kSum, {UINT64_MAX}, {2}), std::vector<uint64_t>{1});
}

TEST(Combine, OrdersWithAndWithoutSign) {
  EXPECT_EQ(Apply<uint8_t>(ReduceOp::kMax, {200}, {100}), std::vector<uint8_t>{200});
  EXPECT_EQ(Apply<int8_t>(ReduceOp::kMax, {-56}, {100}), std::vector<int8_t>{100});
  EXPECT_EQ(Apply<uint64_t>(ReduceOp::kMin, {UINT64_MAX}, {1}), std::vector<uint64_t>{1});
  EXPECT_EQ(Apply<int64_t>(ReduceOp::kMin, {-1}, {1}), std::vector<int64_t>{-1});
}

TEST(Combine, KeepsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp operation : {ReduceOp::kMin, ReduceOp::kMax}) {
    for (const float value : Apply<float>(operation, {nan, 1, nan}, {1, nan, nan}))
      EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Combine, MayWriteToEitherOperandOrElsewhere) {
  // Long enough that the vectorised part and its rest both run.
  std::vector<double> left(1003, 3);
  std::vector<double> right(1003, 5);
  std::vector<double> out(1003, 0);
  Combine(DataType::kF64, ReduceOp::kProd, out.data(), left.data(), right.data(), out.size());
  EXPECT_EQ(out, std::vector<double>(1003, 15));
  Combine(DataType::kF64, ReduceOp::kSum, right.data(), left.data(), right.data(), out.size());
  EXPECT_EQ(right, std::vector<double>(1003, 8));
  Combine(DataType::kF64, ReduceOp::kAvg, left.data(), left.data(), right.data(), out.size());
  EXPECT_EQ(left, std::vector<double>(1003, 11));
}

TEST(Combine, KnowsOneNotANumber) {
  const float nan = std::bit_cast<float>(0xffc01234U);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : Apply<float>(ReduceOp::kSum, {nan, 1, nan, infinity}, {1, nan, nan, -infinity})) {
    EXPECT_EQ(std::bit_cast<uint32_t>(value), 0x7fc00000U);
  }
}

// More than one block of elements, and not a multiple of it.
template <typename T>
std::vector<std::vector<T>> Rows(size_t rows) {
  std::vector<std::vector<T>> all(rows);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < 2500; ++i) all[row].push_back(static_cast<T>((row + 1) * (i % 10)));
  }
  return all;
}

TEST(CombineAll, AddsUpAnyNumberOfSources) {
  for (const size_t sources : {1U, 2U, 3U, 7U}) {
    const auto rows = Rows<int32_t>(sources);
    std::vector<const void*> pointers;
    for (const auto& row : rows) pointers.push_back(row.data());
    std::vector<int32_t> out(2500, -1);
    CombineAll(DataType::kI32, ReduceOp::kSum, out.data(), pointers, out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<int32_t>(sources * (sources + 1) / 2 * (i % 10))) << sources << " " << i;
    }
  }
}

TEST(CombineAll, MayWriteToTheFirstAndDivides) {
  auto rows = Rows<double>(3);
  const std::vector<const void*> pointers = {rows[0].data(), rows[1].data(), rows[2].data()};
  CombineAll(DataType::kF64, ReduceOp::kAvg, rows[0].data(), pointers, rows[0].size(), 3);
  for (size_t i = 0; i < rows[0].size(); ++i) ASSERT_EQ(rows[0][i], static_cast<double>(2 * (i % 10)));
}

TEST(CombineAll, RoundsNarrowTypesOnce) {
  // 2048 + 1 + 1 in halves: 2048 if each sum were rounded, 2050 if only the last one is.
  std::vector<uint16_t> large(1500, 0x6800);
  std::vector<uint16_t> one(1500, 0x3c00);
  const std::vector<const void*> pointers = {large.data(), one.data(), one.data()};
  std::vector<uint16_t> out(1500);
  CombineAll(DataType::kF16, ReduceOp::kSum, out.data(), pointers, out.size());
  EXPECT_EQ(out, std::vector<uint16_t>(1500, 0x6801));
  // (2048 + 1 + 1) / 2 = 1025 in halves
  CombineAll(DataType::kF16, ReduceOp::kAvg, out.data(), pointers, out.size(), 2);
  EXPECT_EQ(out, std::vector<uint16_t>(1500, 0x6401));
}

TEST(DivideBy, CutsOffTowardsZero) {
  std::vector<int8_t> small = {7, -7, 127};
  DivideBy(DataType::kI8, small.data(), small.size(), 2);
  EXPECT_EQ(small, (std::vector<int8_t>{3, -3, 63}));
  // More ranks than the type can count.
  DivideBy(DataType::kI8, small.data(), small.size(), 300);
  EXPECT_EQ(small, (std::vector<int8_t>{0, 0, 0}));
  std::vector<uint64_t> large = {UINT64_MAX};
  DivideBy(DataType::kU64, large.data(), 1, 2);
  EXPECT_EQ(large[0], uint64_t{INT64_MAX});
  std::vector<float> real = {1};
  DivideBy(DataType::kF32, real.data(), 1, 4);
  EXPECT_EQ(real[0], 0.25F);
}

float Wide(DataType type, uint16_t bits) {
  float wide = 0;
  Widen(type, &bits, &wide, 1);
  return wide;
}

uint16_t Bits(DataType type, float wide) {
  uint16_t bits = 0;
  Narrow(type, &wide, &bits, 1);
  return bits;
}

TEST(Half, HoldsTheKnownValues) {
  const std::pair<uint16_t, float> known[] = {
      {0x0000, 0.0F},         {0x3c00, 1.0F},        {0xc000, -2.0F},
      {0x7bff, 65504.0F},     {0x0001, 0x1p-24F},    {0x0400, 0x1p-14F},
      {0x03ff, 0x1.ff8p-15F}, {0x3555, 0x1.554p-2F}, {0x7c00, INFINITY}};
  for (const auto& [bits, value] : known) {
    EXPECT_EQ(Wide(DataType::kF16, bits), value) << bits;
    EXPECT_EQ(Bits(DataType::kF16, value), bits) << value;
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(Bits(DataType::kF16, 2049), 0x6800);      // 2048, the even one
  EXPECT_EQ(Bits(DataType::kF16, 2051), 0x6802);      // 2052
  EXPECT_EQ(Bits(DataType::kF16, 65519), 0x7bff);     // still the largest
  EXPECT_EQ(Bits(DataType::kF16, 65520), 0x7c00);     // infinity
  EXPECT_EQ(Bits(DataType::kF16, 0x1p-25F), 0x0000);  // half of the smallest: to even
  EXPECT_EQ(Bits(DataType::kF16, 0x1.8p-24F), 0x0002);
  EXPECT_EQ(Bits(DataType::kBF16, 1.00390625F), 0x3f80);  // 1 + 2^-8: to even
  EXPECT_EQ(Bits(DataType::kBF16, 1.01171875F), 0x3f82);  // 1 + 3 * 2^-8
}

TEST(NarrowTypes, SurviveTheWayThereAndBack) {
  for (const DataType type : {DataType::kF16, DataType::kBF16}) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const float wide = Wide(type, static_cast<uint16_t>(bits));
      if (std::isnan(wide)) {
        EXPECT_TRUE(std::isnan(Wide(type, Bits(type, wide)))) << bits;
      } else {
        EXPECT_EQ(Bits(type, wide), bits);
      }
    }
  }
}

}  // namespace
}  // namespace muster::socket
