#include "comm/data_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

struct TypeCase {
  DataType type;
  const char* name;
  size_t size;
};
class DataTypeTest : public testing::TestWithParam<TypeCase> {};

TEST_P(DataTypeTest, HasItsNameAndSize) {
  EXPECT_EQ(Name(GetParam().type), GetParam().name);
  EXPECT_EQ(SizeOf(GetParam().type), GetParam().size);
}

INSTANTIATE_TEST_SUITE_P(
    All, DataTypeTest,
    testing::Values(TypeCase{DataType::kI8, "i8", 1}, TypeCase{DataType::kU8, "u8", 1},
                    TypeCase{DataType::kI32, "i32", 4}, TypeCase{DataType::kI64, "i64", 8},
                    TypeCase{DataType::kU64, "u64", 8}, TypeCase{DataType::kF16, "f16", 2},
                    TypeCase{DataType::kBF16, "bf16", 2}, TypeCase{DataType::kF32, "f32", 4},
                    TypeCase{DataType::kF64, "f64", 8}));

TEST(ReduceOp, HasItsName) {
  EXPECT_EQ(Name(ReduceOp::kSum), "sum");
  EXPECT_EQ(Name(ReduceOp::kProd), "prod");
  EXPECT_EQ(Name(ReduceOp::kMin), "min");
  EXPECT_EQ(Name(ReduceOp::kMax), "max");
  EXPECT_EQ(Name(ReduceOp::kAvg), "avg");
}

}  // namespace
}  // namespace muster
