#include "comm/nccl/devices/gpu_hello.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/comm/base/print_error.h"

namespace muster::nccl {
namespace {

GpuHello Hello() {
  return {{"", 3, "GPU-3b8f", "NVIDIA H100 80GB HBM3", true}, "", "", "13.0", "12.8", "2.27.5"};
}

Result<GpuHello> Decode(ByteView bytes) { return DecodeFields<GpuHello>(bytes, "GPU hello"); }

TEST(GpuHello, TravelsUnchanged) {
  GpuHello without;
  without.verdict.problem = "no GPU";
  GpuHello refused;
  refused.refusal = "4 ranks on this node see 2 GPUs";
  refused.hint = "start fewer";
  for (const GpuHello& hello : {Hello(), without, refused, GpuHello{}}) {
    EXPECT_EQ(Decode(EncodeFields(hello)), hello);
  }
}

TEST(GpuHello, IsTheseBytes) {
  const GpuHello hello{{"", 3, "GPU-3b8f", "H100", true}, "", "", "13.0", "12.8", "2.27.5"};
  EXPECT_EQ(EncodeFields(hello),
            (Bytes{0, 0,   0,   0,   8,   0,   0,   0,   'G', 'P', 'U', '-', '3', 'b', '8', 'f',
                   4, 0,   0,   0,   'H', '1', '0', '0', 3,   0,   0,   0,   1,   0,   0,   0,
                   0, 0,   0,   0,   0,   4,   0,   0,   0,   '1', '3', '.', '0', 4,   0,   0,
                   0, '1', '2', '.', '8', 6,   0,   0,   0,   '2', '.', '2', '7', '.', '5'}));
}

TEST(GpuHello, IsCutWhereItIsLong) {
  GpuHello hello;
  hello.verdict.problem = std::string(10'000, 'x');
  EXPECT_EQ(Decode(EncodeFields(hello))->verdict.problem, std::string(2048, 'x'));
}

// The flag is the first byte in which these two differ.
size_t FlagAt() {
  GpuHello other = Hello();
  other.verdict.peers_hidden = false;
  const Bytes with = EncodeFields(Hello());
  const Bytes without = EncodeFields(other);
  return static_cast<size_t>(std::ranges::mismatch(with, without).in1 - with.begin());
}

TEST(GpuHello, IsReadStrictly) {
  const Bytes good = EncodeFields(Hello());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(Decode(ByteView(good).first(length)).error().message, "malformed GPU hello: it ends too early");
  }
  Bytes neither = good;
  neither[FlagAt()] = 2;
  EXPECT_FALSE(Decode(neither));
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(Decode(longer).error().message, "malformed GPU hello: 1 bytes too many");
}

}  // namespace
}  // namespace muster::nccl
