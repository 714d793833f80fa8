#include "comm/nccl/libraries/nvidia_presence.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster::nccl {
namespace {

namespace fs = std::filesystem;

TEST(HasNvidiaFiles, IsTrueWithAnyOfThem) {
  const fs::path root = fs::path(testing::TempDir()) / "root";
  EXPECT_FALSE(HasNvidiaFiles(root.string()));
  for (const char* file : {"proc/driver/nvidia/version", "dev/nvidiactl", "dev/dxg"}) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "x";
    EXPECT_TRUE(HasNvidiaFiles(root.string())) << file;
    fs::remove_all(root);
  }
  EXPECT_FALSE(HasNvidiaFiles(root.string()));
}

}  // namespace
}  // namespace muster::nccl
