#include "comm/nccl/devices/device_choice.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::nccl {
namespace {

struct Row {
  std::string name;
  DeviceQuestion question;
  int ordinal;
  bool hides;
};

class DeviceChoiceTable : public testing::TestWithParam<Row> {};

TEST_P(DeviceChoiceTable, Chooses) {
  const auto choice = ChooseDevice(GetParam().question);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->ordinal, GetParam().ordinal);
  EXPECT_EQ(choice->peers_hidden, GetParam().hides);
}

INSTANTIATE_TEST_SUITE_P(Rows, DeviceChoiceTable,
                         testing::Values(Row{"OneGpuOneRank", {1, 0, 1, ""}, 0, false},
                                         Row{"BoundByTheLauncher", {1, 3, 4, "3"}, 0, true},
                                         Row{"BoundToAMigPart", {1, 1, 2, "MIG-b6c1"}, 0, true},
                                         Row{"SharedOnPurpose", {1, 3, 4, "", true}, 0, false},
                                         // As many on each, wherever CUDA's list starts.
                                         Row{"SharedByHalf", {2, 2, 4, "0,1", true}, 0, false},
                                         Row{"SharedByTheOtherHalf", {2, 3, 4, "0,1", true}, 1, false},
                                         Row{"AllowedToShareWithoutNeed", {4, 2, 4, "", true}, 2, false},
                                         Row{"AllSeeAll", {4, 2, 4, "0,1,2,3"}, 2, false},
                                         Row{"MoreGpusThanRanks", {8, 1, 2, ""}, 1, false},
                                         Row{"MigPartsByUuid", {2, 1, 2, "MIG-b6c1,MIG-77aa"}, 1, false},
                                         // A list that starts elsewhere: CUDA counts what is left from 0.
                                         Row{"SomeOfTheNode", {2, 1, 2, "2,3"}, 1, false},
                                         Row{"OneRankSeesAll", {8, 0, 1, ""}, 0, false}),
                         [](const auto& row) { return row.param.name; });

TEST(ChooseDevice, TooFewForAllIsRefusedWithAdvice) {
  const auto choice = ChooseDevice({2, 0, 4, "0,1"});
  ASSERT_FALSE(choice);
  EXPECT_EQ(
      choice.error(),
      (Error{
          Code::kConfiguration,
          "4 ranks on this node see 2 GPUs (CUDA_VISIBLE_DEVICES=0,1): too few for one each, and more than "
          "the one that a launcher would bind each rank to",
          "start as many ranks on a node as it has GPUs, or bind one GPU to each: srun --gpus-per-task=1, "
          "srun --gpu-bind=single:1, or CUDA_VISIBLE_DEVICES of each rank; nccl.share_device: true lets "
          "ranks "
          "share them"}));
  EXPECT_EQ(ChooseDevice({2, 0, 4, ""}).error().message,
            "4 ranks on this node see 2 GPUs: too few for one each, and more than the one that a launcher "
            "would bind "
            "each rank to");
}

TEST(ChooseDevice, NoneIsNoQuestion) {
  EXPECT_EQ(ChooseDevice({0, 0, 1, ""}).error(),
            (Error{Code::kInternal, "a device cannot be chosen from 0 GPUs", ""}));
}

// Ranks 0 and 1 on gpu01, 2 and 3 on gpu02.
Roster TwoNodes() {
  return {"id", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 1, {}}, {1, 1, 2, {}}}};
}

TEST(CheckDistinctDevices, TheSameOnAnotherNodeIsAnother) {
  EXPECT_TRUE(CheckDistinctDevices(TwoNodes(), {"GPU-a", "GPU-b", "GPU-a", "GPU-b"}, false));
}

TEST(CheckDistinctDevices, TwoRanksOfANodeWithOneAreNamed) {
  const Status shared = CheckDistinctDevices(TwoNodes(), {"GPU-a", "GPU-b", "GPU-c", "GPU-c"}, false);
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error(),
            (Error{Code::kDisagreement, "rank 2 and rank 3 on gpu02 use the same GPU, GPU-c",
                   "give each rank its own (srun --gpus-per-task=1, CUDA_VISIBLE_DEVICES), or set "
                   "nccl.share_device: true to share it"}));
}

TEST(CheckDistinctDevices, SharingMayBeAskedFor) {
  EXPECT_TRUE(CheckDistinctDevices(TwoNodes(), {"GPU-a", "GPU-a", "GPU-c", "GPU-c"}, true));
}

TEST(CheckDistinctDevices, OneForEachRank) {
  EXPECT_EQ(CheckDistinctDevices(TwoNodes(), {"GPU-a"}, false).error(),
            (Error{Code::kInternal, "there are 1 GPU UUIDs for 4 ranks", ""}));
}

}  // namespace
}  // namespace muster::nccl
