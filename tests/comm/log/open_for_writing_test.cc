#include "comm/log/open_for_writing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "tests/comm/base/print_error.h"
#include "tests/comm/log/open_for_writing_fixture.h"

namespace muster {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST_F(OpenForWritingTest, MakesAFileAndAppends) {
  const mode_t before = umask(027);
  EXPECT_EQ(Append(folder / "a"), "");
  umask(before);
  EXPECT_EQ(Append(folder / "a"), "");
  EXPECT_EQ(TextOf(folder / "a"), "newnew");
  struct stat status {};
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(OpenForWritingTest, TakesAPathFromTheWorkingDirectoryOn) {
  const std::string before = std::filesystem::current_path();
  ASSERT_EQ(chdir((folder / ".").c_str()), 0);
  folder.Directory("d", own, 0755);
  const std::vector<std::string> paths = {"a", "./a", "d/../a", "d//b", "d/b"};
  for (const std::string& path : paths) EXPECT_EQ(Append(path), "") << path;
  ASSERT_EQ(chdir(before.c_str()), 0);
  EXPECT_EQ(TextOf(folder / "a"), "newnewnew");
  EXPECT_EQ(TextOf(folder / "d/b"), "newnew");
}

TEST_F(OpenForWritingTest, FollowsOwnLinks) {
  folder.Directory("scratch", own, 0755);
  folder.Link("logs", own, "scratch/");
  folder.Link("all", own, folder / "logs");
  folder.Link("scratch/first", own, "second");
  folder.Link("scratch/second", own, "../scratch/file");  // which is not there
  EXPECT_EQ(Append(folder / "all/first"), "");
  EXPECT_EQ(TextOf(folder / "scratch/file"), "new");
}

TEST_F(OpenForWritingTest, ALoopOfLinksIsAnError) {
  folder.Link("a", own, "b");
  folder.Link("b", own, "a");
  EXPECT_THAT(Append(folder / "a"), EndsWith("/a: there are too many symbolic links"));
  EXPECT_THAT(Append(folder / "a/file"), EndsWith("/a/file: there are too many symbolic links"));
}

TEST_F(OpenForWritingTest, NamesWhatIsNoFile) {
  folder.Directory("d", own, 0755);
  folder.File("f", own, 0644);
  EXPECT_THAT(Append(folder / "d"), EndsWith("/d: Is a directory"));
  EXPECT_THAT(Append(folder / "d/"), EndsWith("/d/: Is a directory"));
  EXPECT_THAT(Append(folder / "d/.."), EndsWith(": Is a directory"));
  EXPECT_THAT(Append(folder / "none/x"), EndsWith("/none/x: No such file or directory"));
  EXPECT_THAT(Append(folder / "f/x"), EndsWith("/f/x: Not a directory"));
  EXPECT_EQ(Append(""), ": Is a directory");
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder / "socket";
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(Append(path), EndsWith("/socket: this is no file"));
}

TEST_F(OpenForWritingTest, AnOwnNamedPipeMustHaveAReader) {
  const std::string path = folder.Fifo("pipe", own);
  EXPECT_THAT(Append(path), EndsWith("/pipe: no process reads this named pipe"));
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(Append(path), "");
  char text[8] = {};
  EXPECT_EQ(read(reader.get(), text, sizeof text), 3);
}

TEST_F(OpenForWritingTest, AFullPipeIsNotWaitedFor) {
  const std::string path = folder.Fifo("pipe", own);
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto file = OpenForWriting(path);
  ASSERT_TRUE(file);
  const std::string much(1 << 16, 'x');
  while (write(file->get(), much.data(), much.size()) > 0) continue;
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(OpenForWritingTest, DevicesOfTheSystemAreTaken) {
  EXPECT_EQ(Append("/dev/null"), "");
  EXPECT_EQ(Append("/dev/full"), std::strerror(ENOSPC));
}

// A shell's >(command), 2>file, and what the standard streams are.
TEST_F(OpenForWritingTest, DescriptorsThatWereGivenAreTaken) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const std::string number = std::to_string(writer.get());
  for (const char* where : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
    EXPECT_EQ(Append(where + number), "") << where;
    char text[8] = {};
    EXPECT_EQ(read(reader.get(), text, sizeof text), 3) << where;
  }
  folder.Link("to-pipe", own, "/dev/fd/" + number);
  EXPECT_EQ(Append(folder / "to-pipe"), "");
  const int before = dup(STDERR_FILENO);
  ASSERT_EQ(dup2(writer.get(), STDERR_FILENO), STDERR_FILENO);
  const std::string said = Append("/dev/stderr");
  dup2(before, STDERR_FILENO);
  close(before);
  EXPECT_EQ(said, "");
}

TEST_F(OpenForWritingTest, ADirectoryForAllNeedsTheStickyBit) {
  folder.Directory("open", own, 0777);
  folder.Directory("sticky", own, 01777);
  folder.Directory("group", own, 0775);
  EXPECT_THAT(Append(folder / "open/x"), HasSubstr("/open/x: every user may replace files in its directory"));
  EXPECT_EQ(Append(folder / "sticky/x"), "");
  EXPECT_EQ(Append(folder / "sticky/x"), "");
  EXPECT_EQ(Append(folder / "group/x"), "");
  folder.Link("link", own, "open/x");
  EXPECT_THAT(Append(folder / "link"), HasSubstr("/link: every user may replace files"));
}

TEST_F(OpenForWritingTest, SaysWhereAFileStandsInTheEnd) {
  folder.Directory("scratch", own, 0755);
  folder.File("scratch/file", own, 0644);
  folder.Link("link", own, "scratch/file");
  const auto place = FindForWriting(folder / "link");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->name, "file");
  EXPECT_TRUE(place->replaceable);
  struct stat status {};
  EXPECT_EQ(fstatat(place->directory.get(), "file", &status, 0), 0);
  EXPECT_TRUE(FindForWriting(folder / "absent")->replaceable);
  EXPECT_FALSE(FindForWriting("/dev/null")->replaceable);
  EXPECT_FALSE(FindForWriting("/dev/stderr")->replaceable);
  EXPECT_FALSE(FindForWriting(folder / "none/x"));
}

TEST_F(OpenForWritingTest, FindsADirectory) {
  folder.Directory("d", own, 0755);
  folder.Link("to-d", own, "d/");
  folder.Link("dangling", own, "none");
  folder.File("file", own, 0644);
  folder.Fifo("pipe", own);
  folder.Link("loop", own, "loop");
  for (const char* name : {"d", "d/", "to-d", "to-d/", "."})
    EXPECT_EQ(FoundDirectory(folder / name), "there");
  for (const char* name : {"none", "none/x", "dangling"}) EXPECT_EQ(FoundDirectory(folder / name), "absent");
  EXPECT_EQ(FoundDirectory(folder / "file"), (folder / "file") + ": Not a directory");
  EXPECT_EQ(FoundDirectory(folder / "file/x"), (folder / "file/x") + ": Not a directory");
  EXPECT_EQ(FoundDirectory(folder / "pipe"), (folder / "pipe") + ": Not a directory");
  EXPECT_EQ(FoundDirectory(folder / "loop"), (folder / "loop") + ": there are too many symbolic links");
}

TEST_F(OpenForWritingTest, MakesDirectoriesWithTheirParents) {
  const std::string before = std::filesystem::current_path();
  ASSERT_EQ(chdir((folder / ".").c_str()), 0);
  const mode_t mask = umask(0);
  const std::vector<std::string> paths = {"a/b/c",        "a/b/c", "a//b/./d/", "a/b/../e",
                                          folder / "f/g", ".",     "/",         "/tmp"};
  for (const std::string& path : paths) EXPECT_EQ(Made(path), "") << path;
  umask(mask);
  ASSERT_EQ(chdir(before.c_str()), 0);
  struct stat status {};
  for (const char* name : {"a", "a/b/c", "a/b/d", "a/e", "f/g"}) {
    ASSERT_EQ(stat((folder / name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 07777U, 0775U) << name;
  }
  folder.Link("link", own, "a/b");
  EXPECT_EQ(Made(folder / "link/h"), "");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/h"));
  folder.Link("dangling", own, "none/x");
  EXPECT_EQ(Made(folder / "dangling"), "");
  EXPECT_EQ(Made(folder / "dangling/y"), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "none")) << "nothing is made where a link leads";
  folder.File("file", own, 0644);
  EXPECT_EQ(Made(folder / "file/x"), (folder / "file/x") + ": Not a directory");
  int error_number = 0;
  EXPECT_FALSE(MakeDirectories("/proc/none", &error_number));
  EXPECT_EQ(error_number, ENOENT) << "not made by the kernel";
}

TEST(OwnershipOf, KnowsRootItselfAndTheUnmapped) {
  const WritingOwner plain{1000, 65534, true};
  EXPECT_EQ(OwnershipOf(1000, plain), Ownership::kOwn);
  EXPECT_EQ(OwnershipOf(0, plain), Ownership::kOwn);
  EXPECT_EQ(OwnershipOf(1001, plain), Ownership::kOther);
  EXPECT_EQ(OwnershipOf(65534, plain), Ownership::kOther) << "the user nobody";
  const WritingOwner inside{0, 65534, false};
  EXPECT_EQ(OwnershipOf(0, inside), Ownership::kOwn);
  EXPECT_EQ(OwnershipOf(65534, inside), Ownership::kUnknown);
  EXPECT_EQ(OwnershipOf(1, inside), Ownership::kOther);
  const WritingOwner unmapped{65534, 65534, false};
  EXPECT_EQ(OwnershipOf(65534, unmapped), Ownership::kUnknown) << "not known to be this process's user";
}

}  // namespace
}  // namespace muster
