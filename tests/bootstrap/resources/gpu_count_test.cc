#include "bootstrap/resources/gpu_count.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

// A /dev and a /sys of its own.
class GpuCountTest : public testing::Test {
 protected:
  GpuCountTest() {
    std::string pattern = testing::TempDir() + "/gpus-XXXXXX";
    root = mkdtemp(pattern.data());
    fs::create_directories(root + "/dev");
  }
  ~GpuCountTest() override { fs::remove_all(root); }

  void Write(const std::string& path, const std::string& text = "") const {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }

  void AddNvidia(int gpus) const {
    for (int gpu = 0; gpu < gpus; ++gpu) Write("/dev/nvidia" + std::to_string(gpu));
    for (const char* other : {"nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1"})
      Write(std::string("/dev/") + other);
  }

  // Node 0 is the CPU.
  void AddAmd(int gpus) const {
    const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
    Write("/dev/kfd");
    Write(nodes + "0/gpu_id", "0\n");
    Write(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0\n");
    for (int gpu = 1; gpu <= gpus; ++gpu) {
      const std::string minor = std::to_string(127 + gpu);
      Write(nodes + std::to_string(gpu) + "/gpu_id", "5105" + std::to_string(gpu) + "\n");
      Write(nodes + std::to_string(gpu) + "/properties", "simd_count 440\ndrm_render_minor " + minor + "\n");
      Write("/dev/dri/renderD" + minor);
    }
  }

  void AddDri(int minor, const std::string& vendor, const std::string& address) const {
    const std::string name = "renderD" + std::to_string(minor);
    Write("/dev/dri/" + name);
    Write("/sys/devices/" + address + "/vendor", vendor + "\n");
    fs::create_directories(root + "/sys/class/drm/" + name);
    fs::create_directory_symlink(root + "/sys/devices/" + address,
                                 root + "/sys/class/drm/" + name + "/device");
  }

  std::string Vendor() const { return CountGpus({}, root).vendor; }
  int Count(const std::map<std::string, std::string, std::less<>>& environment = {}) const {
    return CountGpus(environment, root).gpus;
  }

  std::string root;
};

TEST_F(GpuCountTest, OfNvidiaAreItsDevices) {
  AddNvidia(4);
  EXPECT_EQ(Count(), 4);
  EXPECT_EQ(Vendor(), "NVIDIA");
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "0,1,2"}}), 3);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2,MIG-3,MIG-4,MIG-5"}}), 5);
  EXPECT_EQ(Count({{"ROCR_VISIBLE_DEVICES", "0"}, {"ZE_AFFINITY_MASK", "0"}}), 4);
}

// A container may hide the files.
TEST_F(GpuCountTest, AreWhatTheVariablesNameWhereThereAreNoFiles) {
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "0,1,5"}}), 3);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "MIG-5c6ab1d0, GPU-8932f937"}}), 2);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", ""}}), 0);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "-1"}}), 0);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "0,-1,2"}}), 1);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}), 0);
  EXPECT_EQ(Count({{"ROCR_VISIBLE_DEVICES", "0,1"}}), 2);
  EXPECT_EQ(Count({{"ZE_AFFINITY_MASK", "0.0,0.1,1.0,1.1"}}), 4);
}

TEST_F(GpuCountTest, OfAmdAreTheNodesThatAreGpus) {
  AddAmd(8);
  EXPECT_EQ(Count(), 8);
  EXPECT_EQ(Vendor(), "AMD");
  EXPECT_EQ(Count({{"ROCR_VISIBLE_DEVICES", "4,5,6,7"}}), 4);
  EXPECT_EQ(Count({{"HIP_VISIBLE_DEVICES", "0,1"}}), 2);
  EXPECT_EQ(Count({{"CUDA_VISIBLE_DEVICES", "0"}}), 1);
  // HIP counts within what ROCR has left.
  EXPECT_EQ(Count({{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "0,1,2"}}), 2);
  EXPECT_EQ(Count({{"ROCR_VISIBLE_DEVICES", ""}}), 0);
}

TEST_F(GpuCountTest, OfAmdAreThoseThatTheContainerHas) {
  AddAmd(8);
  for (const char* minor : {"130", "131", "132"}) fs::remove(root + "/dev/dri/renderD" + minor);
  EXPECT_EQ(Count(), 5);
}

TEST_F(GpuCountTest, OfAmdAreThoseOfDriWithoutATopology) {
  AddDri(128, "0x1002", "0000:c1:00.0");
  EXPECT_EQ(Count(), 0);
  Write("/dev/kfd");
  EXPECT_EQ(Count(), 1);
}

TEST_F(GpuCountTest, OfIntelAreTheDiscreteOnes) {
  AddDri(128, "0x8086", "0000:00:02.0");
  EXPECT_EQ(Count(), 0);
  EXPECT_EQ(Vendor(), "");
  AddDri(129, "0x8086", "0000:18:00.0");
  AddDri(130, "0x8086", "0000:2a:00.0");
  AddDri(131, "0x1a03", "0000:03:00.0");
  EXPECT_EQ(Count(), 2);
  EXPECT_EQ(Vendor(), "Intel");
  EXPECT_EQ(Count({{"ZE_AFFINITY_MASK", "0.0,0.1"}}), 2);
  EXPECT_EQ(Count({{"ZE_AFFINITY_MASK", "1"}}), 1);
  const GpuCount of_slurm = CountGpus(
      {{"CUDA_VISIBLE_DEVICES", "0"}, {"ROCR_VISIBLE_DEVICES", "0"}, {"ZE_AFFINITY_MASK", "0"}}, root);
  EXPECT_EQ(of_slurm.vendor, "Intel");
  EXPECT_EQ(of_slurm.variable, "ZE_AFFINITY_MASK");
}

TEST_F(GpuCountTest, SaysWhatItLookedFor) {
  EXPECT_EQ(CountGpus({}, root).reason, "there is no " + root + "/dev/nvidia0 (NVIDIA), no GPU of " + root +
                                            "/dev/kfd (AMD), and no discrete GPU of Intel in " + root +
                                            "/dev/dri");
  EXPECT_EQ(CountGpus({{"CUDA_VISIBLE_DEVICES", "-1"}}, root).reason,
            "CUDA_VISIBLE_DEVICES=\"-1\" names none");
  AddAmd(1);
  EXPECT_EQ(CountGpus({{"ROCR_VISIBLE_DEVICES", ""}}, root).reason, "ROCR_VISIBLE_DEVICES=\"\" names none");
}

}  // namespace
}  // namespace muster
