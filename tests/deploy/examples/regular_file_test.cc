#include "deploy/examples/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace muster::examples {
namespace {

std::string Path(const std::string& name) { return testing::TempDir() + "/regular_file_" + name; }

void Write(const std::string& path, std::string_view content) {
  Result<OutputFile> file = OutputFile::Open(path);
  ASSERT_TRUE(file) << file.error().message;
  const Status written = file->WriteAndClose(content);
  ASSERT_TRUE(written) << written.error().message;
}

TEST(RegularFile, ComesBackAsItWasWritten) {
  const std::string content("a\0b\nc", 5);
  Write(Path("both"), content);
  EXPECT_EQ(ReadRegularFile(Path("both"), 5), content);
}

TEST(RegularFile, OpeningForOutputRemovesAnEarlierRunsContent) {
  Write(Path("old"), "old");
  ASSERT_TRUE(OutputFile::Open(Path("old")));
  EXPECT_EQ(ReadRegularFile(Path("old"), 5), std::string());
}

TEST(RegularFile, RefusesWhatIsTooLong) {
  Write(Path("long"), "123456");
  const auto content = ReadRegularFile(Path("long"), 5);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error(),
            (Error{Code::kConfiguration, Path("long") + " has 6 bytes; at most 5 are read", ""}));
}

TEST(RegularFile, RefusesWhatCouldBlockOrNeverEnd) {
  const std::string pipe = Path("pipe");
  ASSERT_TRUE(mkfifo(pipe.c_str(), 0600) == 0 || errno == EEXIST);
  for (const std::string& path : {pipe, std::string("/dev/zero"), testing::TempDir()}) {
    const auto content = ReadRegularFile(path, 5);
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error(), (Error{Code::kConfiguration, path + " is not a regular file", ""}));
  }
}

TEST(RegularFile, NamesThePathThatCannotBeWritten) {
  const Result<OutputFile> file = OutputFile::Open("no/such/folder");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(),
            (Error{Code::kSystem, "cannot open no/such/folder for writing: No such file or directory", ""}));
}

TEST(RegularFile, SaysThatTheDiskIsFull) {
  Result<OutputFile> file = OutputFile::Open("/dev/full");
  ASSERT_TRUE(file) << file.error().message;
  const Status written = file->WriteAndClose("x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), (Error{Code::kSystem, "cannot write /dev/full: No space left on device", ""}));
}

}  // namespace
}  // namespace muster::examples
