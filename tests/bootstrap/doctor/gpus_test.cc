#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "bootstrap/doctor/findings.h"
#include "comm/nccl/libraries/library_files.h"

namespace muster::doctor {
namespace {

GpuFacts Four() {
  GpuFacts facts;
  facts.vendor = "NVIDIA";
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

TEST(JudgeGpus, NoDriverIsANoteWithWhatToDo) {
  GpuFacts facts = Four();
  facts.cuda = Fail(Code::kSystem, "CUDA finds no driver");
  EXPECT_EQ(JudgeGpus(facts).health, Health::kNote);
  EXPECT_EQ(JudgeGpus(facts).remedy, "run nvidia-smi: it must list the GPUs");
}

TEST(JudgeGpus, NoneIsFine) {
  EXPECT_EQ(JudgeGpus({}).health, Health::kOk);
  EXPECT_EQ(JudgeGpus({}).found, "none: collectives of muster go over sockets");
}

TEST(JudgeGpus, OtherVendorsAreNamedWithTheirLibrary) {
  GpuFacts facts;
  facts.vendor = "AMD";
  facts.devices = 8;
  EXPECT_EQ(JudgeGpus(facts).health, Health::kOk);
  EXPECT_EQ(JudgeGpus(facts).found,
            "8 of AMD: collectives of muster go over sockets; PyTorch's RCCL is the program's own");
  facts.vendor = "Intel";
  const Finding finding = JudgeGpus(facts);
  EXPECT_EQ(finding.found,
            "8 of Intel: collectives of muster go over sockets; PyTorch's oneCCL is the program's own");
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"vendor", "Intel"}, {"devices", "8"}, {"backend", "socket"}};
  EXPECT_EQ(finding.facts, wanted);
}

// Unless this machine has a driver of NVIDIA.
TEST(LookAtGpus, TakesOtherVendorsFromTheCount) {
  const bool driver = nccl::HasNvidiaFiles();
  const GpuFacts intel = LookAtGpus({}, 0, {2, "Intel", "", "ZE_AFFINITY_MASK"}, std::chrono::seconds(20));
  EXPECT_EQ(intel.vendor, driver ? "NVIDIA" : "Intel");
  EXPECT_EQ(intel.devices, driver ? 0u : 2u);
  // Its files are there, and its driver is not.
  EXPECT_EQ(LookAtGpus({}, 0, {2, "NVIDIA", "", "CUDA_VISIBLE_DEVICES"}, std::chrono::seconds(20)).vendor,
            driver ? "NVIDIA" : "");
}

}  // namespace
}  // namespace muster::doctor
