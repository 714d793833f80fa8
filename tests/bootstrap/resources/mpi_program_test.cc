#include "bootstrap/resources/mpi_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bootstrap/resources/elf_needed.h"
#include "tests/bootstrap/run/elf_image.h"
#include "tests/comm/base/log_capture.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using run::testing_support::ElfImage;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> NeededIn(const std::string& image) {
  return NeededLibraries([&](uint64_t offset, std::span<std::byte> bytes) -> size_t {
    if (offset >= image.size()) return 0;
    const size_t length = std::min<size_t>(bytes.size(), image.size() - offset);
    std::memcpy(bytes.data(), image.data() + offset, length);
    return length;
  });
}

TEST(NeededLibraries, AreThoseThatTheFileNames) {
  EXPECT_THAT(NeededIn(ElfImage({"libm.so.6", "libmpi.so.40"})), ElementsAre("libm.so.6", "libmpi.so.40"));
  EXPECT_THAT(NeededLibrariesOf("/proc/self/exe"), testing::Contains("libc.so.6"));
}

TEST(NeededLibraries, AreNoneInADamagedFile) {
  const std::string image = ElfImage({"libmpi.so.40"});
  for (size_t length = 0; length < image.size() - 14; ++length) {
    EXPECT_THAT(NeededIn(image.substr(0, length)), testing::AnyOf(IsEmpty(), ElementsAre(""))) << length;
  }
  std::string other = image;
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(NeededIn(other), IsEmpty());
  EXPECT_THAT(NeededLibrariesOf("/nowhere"), IsEmpty());
  EXPECT_THAT(NeededLibrariesOf("/dev/null"), IsEmpty());
}

class MpiInTest : public testing::Test {
 protected:
  MpiInTest() {
    std::string pattern = testing::TempDir() + "/mpi-XXXXXX";
    folder = mkdtemp(pattern.data());
    environment["PATH"] = folder;
  }
  ~MpiInTest() override { fs::remove_all(folder); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    fs::permissions(folder + "/" + name, fs::perms(0700));
  }

  std::string folder;
  std::map<std::string, std::string, std::less<>> environment;
};

TEST_F(MpiInTest, IsTheLibraryThatTheProgramNames) {
  Write("open", ElfImage({"libc.so.6", "libmpi.so.40"}));
  Write("mpich", ElfImage({"libmpich.so.12"}));
  Write("cray", ElfImage({"libmpi_cray.so.12"}));
  Write("none", ElfImage({"libc.so.6", "libmpdec.so.3"}));
  EXPECT_EQ(MpiIn({"open"}, environment), "libmpi.so.40");
  EXPECT_EQ(MpiIn({folder + "/mpich", "x"}, {}), "libmpich.so.12");
  EXPECT_EQ(MpiIn({"cray"}, environment), "libmpi_cray.so.12");
  EXPECT_EQ(MpiIn({"none"}, environment), std::nullopt);
  EXPECT_EQ(MpiIn({"missing"}, environment), std::nullopt);
  EXPECT_EQ(MpiIn({}, environment), std::nullopt);
}

TEST_F(MpiInTest, IsTheModuleThatAPythonFileImports) {
  Write("sum.py", "import sys\n  from mpi4py import MPI\n");
  Write("other.py", "import torch  # not mpi4py\nimport mpi4pyx\n");
  Write("notes.txt", "mpi4py\n");
  EXPECT_EQ(MpiIn({"python", "-u", folder + "/sum.py"}, environment), "mpi4py in " + folder + "/sum.py");
  EXPECT_EQ(MpiIn({"python", folder + "/other.py", folder + "/notes.txt"}, environment), std::nullopt);
  EXPECT_EQ(MpiIn({"python", "-m", "mpi4py", "other.py"}, environment), "-m mpi4py");
}

TEST_F(MpiInTest, IsWarnedOfOnceWhereOneMusterStartsSeveral) {
  Write("open", ElfImage({"libmpi.so.40"}));
  const LogCapture log(LogLevel::kInfo);
  WarnOfMpi({"open"}, environment, 1);
  EXPECT_EQ(log.Text(), "");
  WarnOfMpi({"open"}, environment, 4);
  EXPECT_THAT(
      log.Text(),
      testing::StartsWith("muster: warning: open is an MPI program (libmpi.so.40): each of the 4 ranks "));
  EXPECT_EQ(std::ranges::count(log.Text(), '\n'), 1);
}

}  // namespace
}  // namespace muster
