#include "bootstrap/config/text/read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace muster::config {
namespace {

std::string PathOf(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Written(const std::string& name, const std::string& text) {
  std::string path = PathOf(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(ReadSmallFile, ReadsTheWholeFile) {
  EXPECT_EQ(ReadSmallFile(Written("some", std::string("a\0b", 3)), 3), std::string("a\0b", 3));
  EXPECT_EQ(ReadSmallFile(Written("none", ""), 3), std::string());
}

TEST(ReadSmallFile, NamesAFileThatIsNotThere) {
  const std::string path = PathOf("absent.yaml");
  const auto text = ReadSmallFile(path, 3);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::kConfiguration);
  EXPECT_EQ(text.error().message, "cannot read " + path + ": No such file or directory");
  EXPECT_EQ(text.error().hint, "give a file that this user can read");
}

TEST(ReadSmallFile, GivesTheReasonOfANameThatCannotWork) {
  EXPECT_EQ(ToString(ReadSmallFile("-", 3).error()),
            "cannot read -: No such file or directory (give a file: standard input has its text for one rank "
            "only)");
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string removed = PathOf("removed");
  std::filesystem::create_directory(removed);
  std::filesystem::current_path(removed);
  std::filesystem::remove(removed);
  EXPECT_EQ(ToString(ReadSmallFile("a.yaml", 3).error()),
            "cannot read a.yaml: No such file or directory (the working directory was removed: change to one "
            "that exists)");
  std::filesystem::current_path(before);
}

TEST(ReadSmallFile, RefusesALongFile) {
  const std::string path = Written("long", "1234");
  const auto text = ReadSmallFile(path, 3);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, path + " is too large: 4 bytes; at most 3");
}

TEST(ReadSmallFile, RefusesWhatIsNoFileWithoutWaiting) {
  const std::string pipe = PathOf("pipe");
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, testing::TempDir()}) {
    const auto text = ReadSmallFile(path, 3);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message, path + " is not a regular file");
  }
}

}  // namespace
}  // namespace muster::config
