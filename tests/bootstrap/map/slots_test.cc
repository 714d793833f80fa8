#include "bootstrap/map/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace muster::map {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RankResources Has(std::vector<std::string> gpus, std::vector<int> cores) {
  return {"CUDA_VISIBLE_DEVICES", std::move(gpus), std::move(cores), "there is no /dev/nvidia0"};
}

TEST(ShareOut, GivesEachSlotItsOwn) {
  const auto shares = ShareOut({2, 1, 2}, Has({"GPU-a", "GPU-b"}, {0, 1, 4, 5}), 0, 1);
  ASSERT_TRUE(shares) << shares.error().message;
  ASSERT_EQ(shares->size(), 2u);
  EXPECT_THAT((*shares)[0].gpus, ElementsAre("GPU-a"));
  EXPECT_THAT((*shares)[0].cores, ElementsAre(0, 1));
  EXPECT_THAT((*shares)[1].gpus, ElementsAre("GPU-b"));
  EXPECT_THAT((*shares)[1].cores, ElementsAre(4, 5));
}

TEST(ShareOut, LeavesAllToEachWhereNothingIsAskedFor) {
  const auto shares = ShareOut({3, 0, 0}, Has({"0"}, {0}), 0, 1);
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->size(), 3u);
  EXPECT_THAT((*shares)[2].gpus, IsEmpty());
  EXPECT_THAT((*shares)[2].cores, IsEmpty());
}

TEST(ShareOut, TakesTurnsByLocalRankWhereThereIsEnoughForAll) {
  const RankResources all = Has({"0", "1", "2", "3"}, {});
  EXPECT_THAT(ShareOut({1, 2, 0}, all, 1, 2)->front().gpus, ElementsAre("2", "3"));
  EXPECT_THAT(ShareOut({2, 1, 0}, all, 1, 2)->back().gpus, ElementsAre("3"));
  // Its launcher has given it these alone.
  EXPECT_THAT(ShareOut({1, 1, 0}, Has({"3"}, {}), 3, 4)->front().gpus, ElementsAre("3"));
}

TEST(ShareOut, RefusesMoreThanThereIs) {
  const auto few = ShareOut({2, 1, 0}, Has({"0"}, {}), 0, 1);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message, "2 slots with 1 GPUs each need 2; this rank has 1");
  EXPECT_EQ(ShareOut({1, 1, 0}, Has({}, {}), 0, 1).error().hint, "there is no /dev/nvidia0");
  EXPECT_EQ(ShareOut({2, 0, 8}, Has({}, {0, 1}), 0, 1).error().message,
            "2 slots with 8 cores each need 16; this rank has 2");
}

TEST(Resources, NamesTheGpusOfTheVariable) {
  const RankResources resources = ResourcesOfThisProcess({{"CUDA_VISIBLE_DEVICES", "GPU-a, 3,-1,5"}});
  EXPECT_EQ(resources.gpu_variable, "CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(resources.gpus, ElementsAre("GPU-a", "3"));
  EXPECT_THAT(resources.cores, testing::Not(IsEmpty()));
}

TEST(BindToCores, BindsTheThread) {
  const int core = ResourcesOfThisProcess({}).cores.back();
  std::thread([&] {
    EXPECT_TRUE(BindToCores({}));
    EXPECT_TRUE(BindToCores(std::vector<int>{core}));
    EXPECT_THAT(ResourcesOfThisProcess({}).cores, ElementsAre(core));
    EXPECT_FALSE(BindToCores(std::vector<int>{8000}));
  }).join();
}

}  // namespace
}  // namespace muster::map
