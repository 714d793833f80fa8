#include "comm/system/directory_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace muster {
namespace {

// More than one call of the kernel gives.
TEST(DirectoryReader, ReadsEachEntryOnce) {
  std::string folder = testing::TempDir() + "entriesXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::vector<std::string> made;
  for (int number = 0; number < 1000; ++number) {
    const std::string name = std::string(static_cast<size_t>(number % 200), 'x') + std::to_string(number);
    std::ofstream(folder + "/" + name);
    made.push_back(name);
  }
  std::ranges::sort(made);
  EXPECT_EQ(NamesIn(folder), made);
  std::filesystem::remove_all(folder);
}

TEST(DirectoryReader, HasTheTypeAsTheKernelGivesIt) {
  DirectoryReader reader("/proc/self");
  ASSERT_GE(reader.fd(), 0);
  std::map<std::string, unsigned char> types;
  while (const auto entry = reader.Next()) {
    const std::string_view name(entry->name);
    if (name == "task" || name == "exe" || name == "stat") types.emplace(name, entry->type);
  }
  const std::map<std::string, unsigned char> expected = {{"exe", DT_LNK}, {"stat", DT_REG}, {"task", DT_DIR}};
  EXPECT_EQ(types, expected);
}

TEST(DirectoryReader, OfWhatIsNoDirectoryThereIsNone) {
  for (const char* path : {"/proc/self/status", "/proc/0", ""}) {
    EXPECT_LT(DirectoryReader(path).fd(), 0) << path;
    EXPECT_TRUE(NamesIn(path).empty()) << path;
  }
  EXPECT_EQ(DirectoryReader("").error(), ENOENT);
  DirectoryReader file(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(file.Next());
  EXPECT_EQ(file.error(), ENOTDIR);
}

}  // namespace
}  // namespace muster
