#include "comm/auth/bytes_mac.h"

#include <gtest/gtest.h>

namespace muster::auth {
namespace {

TEST(BytesMac, DependsOnEverything) {
  const Bytes key(32, 1);
  const Bytes other_key(32, 2);
  const BytesMac mac(key, "0011");
  const BytesOrigin origin{BytesOrigin::Phase::kGather, 11, 1, 42, 3};
  const Digest digest = mac.Of(origin, AsBytes("bytes"));
  EXPECT_EQ(mac.Of(origin, AsBytes("bytes")), digest);
  EXPECT_NE(mac.Of(origin, AsBytes("byteS")), digest);
  EXPECT_NE(BytesMac(other_key, "0011").Of(origin, AsBytes("bytes")), digest);
  EXPECT_NE(BytesMac(key, "0012").Of(origin, AsBytes("bytes")), digest);
  const BytesOrigin others[] = {{BytesOrigin::Phase::kBroadcast, 11, 1, 42, 3},
                                {BytesOrigin::Phase::kGather, 12, 1, 42, 3},
                                {BytesOrigin::Phase::kGather, 11, 2, 42, 3},
                                {BytesOrigin::Phase::kGather, 11, 1, 43, 3},
                                {BytesOrigin::Phase::kGather, 11, 1, 42, 4}};
  for (const BytesOrigin& other : others) EXPECT_NE(mac.Of(other, AsBytes("bytes")), digest);
}

}  // namespace
}  // namespace muster::auth
