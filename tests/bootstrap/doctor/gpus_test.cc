#include "bootstrap/doctor/gpus.h"

#include <gtest/gtest.h>

namespace muster::doctor {
namespace {

GpuFacts Four() {
  GpuFacts facts;
  facts.nvidia = true;
  facts.devices = 4;
  facts.cuda = "driver for CUDA 13.0, 4 visible";
  facts.nccl = "2.27.5";
  return facts;
}

TEST(JudgeGpus, WithDriverAndLibraryItIsNccl) {
  const Finding finding = JudgeGpus(Four());
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_EQ(finding.found, "4 of NVIDIA; driver for CUDA 13.0, 4 visible; NCCL 2.27.5");
}

TEST(JudgeGpus, NoNcclIsANoteWithWhatToDo) {
  GpuFacts facts = Four();
  facts.nccl = Fail(Error{Code::kConfiguration, "NCCL was not found", "set NCCL_HOME"});
  const Finding finding = JudgeGpus(facts);
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_EQ(finding.found, "4 of NVIDIA; driver for CUDA 13.0, 4 visible; NCCL was not found");
  EXPECT_EQ(finding.remedy, "set NCCL_HOME");
}

TEST(JudgeGpus, NoneIsFine) {
  EXPECT_EQ(JudgeGpus({}).health, Health::kOk);
  EXPECT_EQ(JudgeGpus({}).found, "none of NVIDIA: collectives of muster go over sockets");
}

}  // namespace
}  // namespace muster::doctor
