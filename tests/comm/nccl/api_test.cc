#include <gtest/gtest.h>

#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {
namespace {

TEST(NcclVersionTest, IsReadInBothOfItsForms) {
  EXPECT_EQ(ParseNcclVersion(23203), (NcclVersion{2, 32, 3}));
  EXPECT_EQ(ParseNcclVersion(20900), (NcclVersion{2, 9, 0}));
  EXPECT_EQ(ParseNcclVersion(2708), (NcclVersion{2, 7, 8}));
  EXPECT_EQ(ToString(NcclVersion{2, 32, 3}), "2.32.3");
}

TEST(NcclVersionTest, AreOrdered) {
  const NcclVersion version = {2, 18, 1};
  for (const NcclVersion& least :
       {NcclVersion{2, 18, 1}, NcclVersion{2, 18, 0}, NcclVersion{2, 9, 9}, NcclVersion{1, 99, 9}}) {
    EXPECT_TRUE(version.AtLeast(least)) << ToString(least);
  }
  for (const NcclVersion& least : {NcclVersion{2, 18, 2}, NcclVersion{2, 19, 0}, NcclVersion{3, 0, 0}}) {
    EXPECT_FALSE(version.AtLeast(least)) << ToString(least);
  }
}

TEST(CudaFormat, LooksAsNvidiaSmiHasIt) {
  constexpr std::array<uint8_t, 16> kUuid = {0x3b, 0x8f, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0xff};
  EXPECT_EQ(FormatGpuUuid(kUuid, "NVIDIA H100 80GB HBM3"), "GPU-3b8f0001-0203-0405-0607-08090a0b0cff");
  EXPECT_EQ(FormatGpuUuid(kUuid, "NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
            "MIG-3b8f0001-0203-0405-0607-08090a0b0cff");
  EXPECT_EQ(FormatCudaVersion(13000), "13.0");
  EXPECT_EQ(FormatCudaVersion(12080), "12.8");
  EXPECT_EQ(FormatCudaVersion(11040), "11.4");
}

}  // namespace
}  // namespace muster::nccl
