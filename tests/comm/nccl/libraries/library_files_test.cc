#include "comm/nccl/libraries/library_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster::nccl {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// A tree of empty files. Libraries of the machine itself do not count.
class LibraryFilesTest : public testing::Test {
 protected:
  LibraryFilesTest() {
    places_.cuda_home = Path("cuda");
    places_.system_prefixes = {};
  }
  ~LibraryFilesTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& below) const { return (root_ / below).string(); }
  std::string Make(const std::string& below) const {
    fs::create_directories((root_ / below).parent_path());
    std::ofstream(root_ / below) << "";
    return Path(below);
  }

  const fs::path root_ = fs::path(testing::TempDir()) / ("library-files." + std::to_string(getpid()));
  LibraryPlaces places_;
};

TEST_F(LibraryFilesTest, NothingIsThere) {
  places_.nccl_home = Path("nccl");
  places_.virtual_env = Path("venv");
  EXPECT_THAT(FindNcclFiles(places_).preferred, IsEmpty());
  EXPECT_THAT(FindCudaFiles(places_).preferred, IsEmpty());
}

TEST_F(LibraryFilesTest, HomesComeBeforePythonsPackages) {
  const std::string of_home = Make("nccl/lib/libnccl.so.2");
  const std::string of_cuda = Make("cuda/lib64/libnccl.so.2");
  const std::string of_venv = Make("venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string of_conda = Make("conda/lib/libnccl.so.2");
  places_.nccl_home = Path("nccl");
  places_.virtual_env = Path("venv");
  places_.conda_prefix = Path("conda");
  EXPECT_THAT(FindNcclFiles(places_).preferred, ElementsAre(of_home, of_cuda, of_venv, of_conda));
}

TEST_F(LibraryFilesTest, EveryPythonOfAnEnvironmentIsLookedInto) {
  const std::string older = Make("venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string newer = Make("venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2");
  Make("venv/lib/other/site-packages/nvidia/nccl/lib/libnccl.so.2");
  places_.virtual_env = Path("venv");
  EXPECT_THAT(FindNcclFiles(places_).preferred, ElementsAre(older, newer));
}

// A stale package of the user must not come before what a module has put into the loader's path.
TEST_F(LibraryFilesTest, PackagesOfNoActiveEnvironmentAreLastResorts) {
  const std::string of_user = Make("home/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string of_image = Make("local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2");
  places_.user_base = Path("home");
  places_.system_prefixes = {Path("none"), Path("local")};
  EXPECT_THAT(FindNcclFiles(places_).preferred, IsEmpty());
  EXPECT_THAT(FindNcclFiles(places_).last_resorts, ElementsAre(of_user, of_image));
}

TEST_F(LibraryFilesTest, TheNewestRuntimeOfAFolderFirst) {
  const std::string older = Make("cuda/lib64/libcudart.so.12");
  const std::string newer = Make("cuda/lib64/libcudart.so.13");
  const std::string packaged = Make("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13");
  const std::string of_12 = Make("venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12");
  places_.virtual_env = Path("venv");
  EXPECT_THAT(FindCudaFiles(places_).preferred, ElementsAre(newer, older, packaged, of_12));
}

TEST_F(LibraryFilesTest, AnyOfThreeFilesShowsAGpu) {
  EXPECT_FALSE(HasNvidiaFiles(root_.string()));
  for (const char* file : {"proc/driver/nvidia/version", "dev/nvidiactl", "dev/dxg"}) {
    Make(file);
    EXPECT_TRUE(HasNvidiaFiles(root_.string())) << file;
    fs::remove_all(root_);
  }
  EXPECT_FALSE(HasNvidiaFiles(root_.string()));
}

}  // namespace
}  // namespace muster::nccl
