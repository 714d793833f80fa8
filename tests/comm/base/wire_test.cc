#include "comm/base/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

using testing::ElementsAre;

TEST(Wire, IntegersAreLittleEndian) {
  WireWriter writer;
  writer.U8(1);
  writer.U16(0x0203);
  writer.U32(0x04050607);
  EXPECT_THAT(writer.bytes(), ElementsAre(1, 3, 2, 7, 6, 5, 4));
}

TEST(Wire, EverythingReadsBack) {
  WireWriter writer;
  writer.U64(std::numeric_limits<uint64_t>::max());
  writer.I32(-2);
  writer.I64(std::numeric_limits<int64_t>::min());
  writer.String("gpu01");
  writer.Blob(Bytes{0, 255});
  writer.Raw(AsBytes("xy"));
  const Bytes bytes = writer.Take();
  WireReader reader(bytes);
  EXPECT_EQ(reader.U64(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(reader.I32(), -2);
  EXPECT_EQ(reader.I64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(reader.String(), "gpu01");
  EXPECT_THAT(reader.Blob(), ElementsAre(0, 255));
  EXPECT_EQ(reader.remaining(), 2u);
  EXPECT_EQ(AsText(reader.Raw(2)), "xy");
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.Finish("thing"));
}

TEST(Wire, AReadPastTheEndMakesEveryLaterReadZero) {
  const Bytes bytes = {1, 2, 3};
  WireReader reader(bytes);
  EXPECT_EQ(reader.U32(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.U8(), 0);
  EXPECT_EQ(reader.String(), "");
  const Status finished = reader.Finish("thing");
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error(), (Error{Code::kInternal, "malformed thing: it ends too early", ""}));
}

TEST(Wire, WhatIsLeftOverIsAnError) {
  const Bytes bytes = {1, 2, 3};
  WireReader reader(bytes);
  reader.U8();
  EXPECT_EQ(reader.Finish("thing").error().message, "malformed thing: 2 bytes too many");
}

TEST(Wire, ALengthThatLiesGivesNothing) {
  WireWriter writer;
  writer.U32(0xffffffff);
  writer.Raw(AsBytes("short"));
  WireReader reader(writer.bytes());
  EXPECT_TRUE(reader.Blob().empty());
  EXPECT_FALSE(reader.ok());
}

TEST(Wire, ACountIsCheckedAgainstWhatFollows) {
  WireWriter writer;
  writer.U32(3);
  writer.Raw(Bytes(12));
  WireReader fits(writer.bytes());
  EXPECT_EQ(fits.Count(4), 3u);
  WireReader lies(writer.bytes());
  EXPECT_EQ(lies.Count(5), 0u);
  EXPECT_FALSE(lies.ok());
  // 2^32-1 items of 2^32-1 bytes: the product must not wrap to something small.
  WireWriter huge;
  huge.U32(0xffffffff);
  WireReader wraps(huge.bytes());
  EXPECT_EQ(wraps.Count(0xffffffff), 0u);
  EXPECT_FALSE(wraps.ok());
}

TEST(Wire, MarkBadFails) {
  WireReader reader(Bytes{});
  reader.MarkBad();
  EXPECT_FALSE(reader.Finish("thing"));
}

}  // namespace
}  // namespace muster
