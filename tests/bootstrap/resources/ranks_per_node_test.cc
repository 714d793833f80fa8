#include "bootstrap/resources/ranks_per_node.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const Processors kGpuNode{8, 64, ""};
const Processors kCpuNode{0, 12, "there is none"};

Result<int> Parse(std::string_view text, const Processors& processors) {
  return ParseRanksPerNode("-n", text, [&] { return processors; });
}

TEST(RanksPerNode, IsANumberOrWhatTheNodeHas) {
  EXPECT_EQ(Parse("3", kCpuNode), 3);
  EXPECT_EQ(Parse("gpu", kGpuNode), 8);
  EXPECT_EQ(Parse("cpu", kGpuNode), 64);
  EXPECT_EQ(Parse("auto", kGpuNode), 8);
  EXPECT_EQ(Parse("auto", kCpuNode), 12);
}

TEST(RanksPerNode, ThatAreANumberNeedNoLookAtTheNode) {
  bool looked = false;
  const auto look = [&] {
    looked = true;
    return kGpuNode;
  };
  EXPECT_EQ(ParseRanksPerNode("-n", "3", look), 3);
  EXPECT_FALSE(looked);
}

TEST(RanksPerNode, RefusesEverythingElse) {
  for (const char* text : {"", "0", "-1", "4097", "8x", "GPU", "1e3", "99999999999"}) {
    const auto ranks = Parse(text, kCpuNode);
    ASSERT_FALSE(ranks) << text;
    EXPECT_EQ(ranks.error().code, Code::kUsage);
    EXPECT_EQ(ranks.error().message, "-n \"" + std::string(text) + "\" is not a number of ranks (1 to 4096)");
    EXPECT_EQ(ranks.error().hint, "write a number, gpu, cpu or auto");
  }
  EXPECT_EQ(Parse("gpu", kCpuNode).error().message,
            "-n gpu: this node has no GPU that this process may use: there is none");
}

TEST(ProcessorsOfThisNode, AreThoseOfTheEnvironment) {
  const Processors processors = ProcessorsOfThisNode({{"CUDA_VISIBLE_DEVICES", "0,1,5"}});
  EXPECT_EQ(processors.gpus, 3);
  EXPECT_GE(processors.cpus, 1);
}

}  // namespace
}  // namespace muster
