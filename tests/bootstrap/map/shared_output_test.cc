// An OUTPUT that other users may write.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "bootstrap/map/attempt_directory.h"
#include "comm/log/log.h"
#include "tests/bootstrap/map/commands.h"
#include "tests/comm/base/another_user.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

std::string Said(const Status& status) { return status ? "" : ToString(status.error()); }

// As the victim: "" or the error.
std::string Prepared(const std::string& output) {
  return As(kVictim, [&] { return Said(PrepareOutput(output)); });
}
std::string Created(const std::string& output) {
  return As(kVictim, [&]() -> std::string {
    NextDirectory next(output, "run", 5, 0);
    const auto made = AttemptDirectory::Create(output, "run", "a", 1, 5, next);
    return made ? "" : ToString(made.error());
  });
}

unsigned ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

class SharedOutput : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsRoot()) GTEST_SKIP() << "needs root";
    out = folder.Directory("out", 0, 01777);
  }
  std::string Foreign(const std::string& path) const {
    return "cannot use " + path +
           ": this directory belongs to user 54322, and every user may write the one that it is in" + kHint;
  }

  static constexpr const char* kHint = " (choose a map.output in a directory of your own or of your project)";
  static constexpr const char* kNoEffect = "; if that fails or has no effect, choose another map.output)";
  SharedFolder folder;
  std::string out;
};

// As that of a scratch directory that was purged.
TEST_F(SharedOutput, ALinkThatLeadsToNothingIsRefusedByName) {
  const std::string link = folder.Link("link", kVictim, folder / "purged");
  EXPECT_EQ(Prepared(link),
            "cannot use " + link +
                ": a symbolic link in this path leads to nothing (make the directory that it leads to, "
                "or remove the link)");
}

TEST_F(SharedOutput, HasAttemptsOfThisUserAlone) {
  EXPECT_EQ(Prepared(out), "");
  EXPECT_FALSE(fs::exists(out + "/.attempts"));
  EXPECT_EQ(Created(out), "");
  EXPECT_EQ(Created(out), "") << "again: of an attempt that was given back";
  EXPECT_TRUE(fs::is_directory(out + "/.attempts/run/a.1.5"));
  // The same user resumes.
  EXPECT_EQ(Prepared(out), "");
}

TEST_F(SharedOutput, DirectoriesOfAStrangerAreRefused) {
  for (const mode_t mode : {0777U, 01777U, 0755U}) {
    for (const char* name : {"/.attempts", "/.failed"}) {
      folder.Directory("out" + std::string(name), kStranger, mode);
      EXPECT_EQ(Prepared(out), Foreign(out + name)) << mode;
      EXPECT_EQ(Created(out), Foreign(out + name)) << mode;
      fs::remove(out + name);
    }
  }
}

TEST_F(SharedOutput, ThatAStrangerMadeIsRefused) {
  const std::string tmp = folder.Directory("tmp", 0, 01777);
  folder.Directory("tmp/out", kStranger, 01777);
  EXPECT_EQ(Prepared(tmp + "/out"), Foreign(tmp + "/out"));
}

TEST_F(SharedOutput, LinksOfAStrangerAreNotFollowed) {
  const std::string home = folder.Directory("home", kVictim, 0700);
  for (const char* name : {"/.attempts", "/.failed"}) {
    folder.Link("out" + std::string(name), kStranger, home);
    const std::string refused = "cannot use " + out + name + ": the symbolic link \"" + (name + 1) +
                                "\" belongs to user 54322" + kHint;
    EXPECT_EQ(Prepared(out), refused);
    EXPECT_EQ(Created(out), refused);
    fs::remove(out + name);
  }
  EXPECT_TRUE(fs::is_empty(home));
}

// At the start of a map, and at its end.
TEST_F(SharedOutput, WhatALinkLeadsToIsNotRemoved) {
  folder.Directory("home", kVictim, 0700);
  folder.File("home/file", kVictim, 0600);
  folder.Directory("home/run", kVictim, 0700);
  folder.Directory("home/run/next-of-mine", kVictim, 0700);
  folder.Link("out/.attempts", kStranger, folder / "home");
  As(kVictim, [&]() -> std::string {
    RemoveOldAttempts(out, "run");
    RemoveAttemptsOf(out, "run");
    return "";
  });
  EXPECT_TRUE(fs::exists(folder / "home/file"));
  EXPECT_TRUE(fs::exists(folder / "home/run/next-of-mine"));
}

// It came while the map worked.
TEST_F(SharedOutput, ALinkForFailuresIsNotFollowed) {
  folder.Directory("home", kVictim, 0700);
  const std::string file = folder.File("home/a", kVictim, 0600);
  NextDirectory next(out, "run", 5, 0);
  const auto good = AttemptDirectory::Create(out, "run", "a", 1, 5, next);
  const auto bad = AttemptDirectory::Create(out, "run", "b", 1, 5, next);
  ASSERT_TRUE(good && bad);
  folder.Link("out/.failed", kStranger, folder / "home");
  EXPECT_TRUE(good->MoveToResults());
  EXPECT_TRUE(fs::exists(file));
  testing::internal::CaptureStderr();
  EXPECT_EQ(bad->MoveToFailed(), out + "/.attempts/run/b.1.5");
  FlushLog(Deadline::Never());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::EndsWith("cannot use " + out +
                                "/.failed: the symbolic link \".failed\" belongs to user 54322" + kHint +
                                "; the next run removes the files in " + out + "/.attempts/run/b.1.5\n"));
  EXPECT_FALSE(fs::exists(folder / "home/b"));
}

TEST_F(SharedOutput, APipeIsRefused) {
  folder.Fifo("out/.attempts", kStranger);
  EXPECT_EQ(Prepared(out), "cannot use " + out + "/.attempts: Not a directory" + kHint);
}

TEST_F(SharedOutput, OwnDirectoriesThatEveryUserMayWriteAreRefused) {
  folder.Directory("out/.attempts", kVictim, 0755);
  const std::string run = folder.Directory("out/.attempts/run", kVictim, 0777);
  EXPECT_EQ(Prepared(out), "");
  const auto open_to_all = [](const std::string& path, const std::string& mode) {
    return "cannot use " + path + ": every user may write it (mode " + mode + ", of user 54321) (chmod o-w " +
           path + kNoEffect;
  };
  EXPECT_EQ(Created(out), open_to_all(run, "0777"));
  const std::string attempts = out + "/.attempts";
  ASSERT_EQ(chmod(attempts.c_str(), 01777), 0);
  EXPECT_EQ(Prepared(out), open_to_all(attempts, "1777"));
  EXPECT_EQ(Created(out), Prepared(out));
}

TEST_F(SharedOutput, MustHaveTheStickyBit) {
  ASSERT_EQ(chmod(out.c_str(), 0777), 0);
  EXPECT_EQ(Prepared(out), "cannot use " + out +
                               ": every user may replace what is in it (mode 0777, of user 0) (chmod o-w " +
                               out + kNoEffect);
  EXPECT_EQ(Created(out), Prepared(out));
}

// No umask makes a directory that the next rank refuses.
TEST_F(SharedOutput, DirectoriesAreForNoOtherUserUnderAnyUmask) {
  const mode_t before = umask(0);
  const std::string made = folder.Directory("project", kVictim, 0755) + "/a/out";
  EXPECT_EQ(Created(made), "");
  EXPECT_EQ(Created(made), "");
  umask(before);
  for (const char* name : {"", "/.attempts", "/.attempts/run", "/.attempts/run/a.1.5"})
    EXPECT_EQ(ModeOf(made + name), 0775U) << name;
}

// Its owner may replace what is in it, the sticky bit or not.
TEST_F(SharedOutput, ForAllMustBeOfThisUserOrRoot) {
  folder.Directory("ada", kStranger, 0755);
  const std::string theirs = folder.Directory("ada/out", kStranger, 01777);
  EXPECT_EQ(
      Prepared(theirs),
      "cannot use " + theirs + ": this directory belongs to user 54322, and every user may write it" + kHint);
  EXPECT_EQ(Created(theirs), Prepared(theirs));
  EXPECT_EQ(Prepared(folder.Directory("mine", kVictim, 01777)), "");
}

TEST_F(SharedOutput, IsNotInADirectoryForAllWithoutTheStickyBit) {
  folder.Directory("ada", kStranger, 0777);
  const std::string mine = folder.Directory("ada/out", kVictim, 0755);
  const std::string refused =
      ": every user may replace this directory: the one that it is in lacks the sticky bit";
  EXPECT_EQ(Prepared(mine), "cannot use " + mine + refused + kHint);
  folder.Directory("scratch", kVictim, 0755);
  const std::string link = folder.Link("ada/link", kVictim, folder / "scratch");
  EXPECT_EQ(Prepared(link), "cannot use " + link + refused + kHint);
}

// The path leads elsewhere since its check.
TEST_F(SharedOutput, AnAttemptStaysInTheDirectoryThatWasChecked) {
  const std::string scratch = folder.Directory("scratch", 0, 0755);
  NextDirectory next(scratch, "run", 5, 0);
  const auto attempt = AttemptDirectory::Create(scratch, "run", "a", 1, 5, next);
  ASSERT_TRUE(attempt);
  next.Prepare();
  fs::rename(scratch + "/.attempts", scratch + "/checked");
  for (const char* name : {"home", "home/run", "home/run/a.1.5", "home/run/next-5-0"})
    folder.Directory(name, 0, 0755);
  fs::create_symlink(folder / "home", scratch + "/.attempts");
  attempt->Remove();
  EXPECT_FALSE(fs::exists(scratch + "/checked/run/a.1.5"));
  EXPECT_TRUE(fs::exists(folder / "home/run/a.1.5"));
  EXPECT_EQ(attempt->MoveToFailed(), attempt->path()) << "it is absent";
  EXPECT_TRUE(fs::exists(folder / "home/run/a.1.5"));
  EXPECT_TRUE(fs::exists(folder / "home/run/next-5-0"));
}

// A map that a member of the group began, another one continues.
TEST_F(SharedOutput, OfAGroupIsShared) {
  const std::string project = folder.Directory("project", kStranger, 02775);
  ASSERT_EQ(chown(project.c_str(), kStranger, kVictim), 0);
  ASSERT_EQ(chmod(project.c_str(), 02775), 0);
  for (const char* name : {"/.attempts", "/.failed"}) {
    folder.Directory("project" + std::string(name), kStranger, 0775);
    ASSERT_EQ(chown((project + name).c_str(), kStranger, kVictim), 0);
  }
  EXPECT_EQ(Prepared(project), "");
  EXPECT_EQ(Created(project), "");
  EXPECT_TRUE(fs::is_directory(project + "/.attempts/run/a.1.5"));
}

TEST_F(SharedOutput, AnOwnLinkToScratchIsFollowed) {
  folder.Directory("scratch", kVictim, 0755);
  folder.Link("out/.attempts", kVictim, folder / "scratch");
  EXPECT_EQ(Prepared(out), "");
  EXPECT_EQ(Created(out), "");
  EXPECT_TRUE(fs::is_directory(folder / "scratch/run/a.1.5"));
}

// Another file has taken the place of a stream in the directory that was prepared.
class Streams : public testing::Test {
 protected:
  std::string With(const std::function<void(const std::string& path)>& plant) const {
    fs::create_directories(commands.folder.File("out/.attempts/run"));
    NextDirectory next(commands.plan.output, commands.plan.run, commands.plan.rank, commands.slot.number);
    next.Prepare();
    const std::string planted = commands.folder.File("out/.attempts/run/next-5-0") + stream;
    fs::remove(planted);
    plant(planted);
    const auto end = RunAttempt(commands.plan, commands.slot, *commands.source->Read(0), 1, StopFlag(), next);
    return end ? "no error" : ToString(end.error());
  }
  std::string Refused(const std::string& reason) const {
    return "cannot open " + commands.folder.File("out/.attempts/run/i0.1.5") + stream + ": " + reason;
  }

  const Commands commands{"echo out; echo err >&2; grep flags /proc/self/fdinfo/2 >flags"};
  std::string stream = kOutputFile;
};

TEST_F(Streams, AreNoPipesOrDevices) {
  for (const char* name : {kOutputFile, kErrorFile}) {
    stream = name;
    const auto fifo = [](const std::string& path) { EXPECT_EQ(mkfifo(path.c_str(), 0666), 0); };
    EXPECT_EQ(With(fifo), Refused("no process reads this named pipe"));
    UniqueFd reader;
    EXPECT_EQ(With([&](const std::string& path) {
                fifo(path);
                reader.Reset(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
              }),
              Refused("this is no file"));
  }
  if (!IsRoot()) GTEST_SKIP() << "needs root (to make a device)";
  EXPECT_EQ(
      With([](const std::string& path) { EXPECT_EQ(mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 3)), 0); }),
      Refused("this is no file"));
}

TEST_F(Streams, OfAStrangerAreRefused) {
  if (!IsRoot()) GTEST_SKIP() << "only root gives files away";
  const std::string mine = commands.folder.Write("mine", "mine");
  const auto give = [](const std::string& path) { EXPECT_EQ(lchown(path.c_str(), kStranger, kStranger), 0); };
  EXPECT_EQ(With([&](const std::string& path) {
              fs::create_symlink(mine, path);
              give(path);
            }),
            Refused("the symbolic link \"stdout\" belongs to user 54322"));
  EXPECT_EQ(commands.folder.Read("mine"), "mine");
  EXPECT_EQ(With([&](const std::string& path) {
              EXPECT_EQ(mkfifo(path.c_str(), 0666), 0);
              give(path);
            }),
            Refused("this named pipe belongs to user 54322"));
  EXPECT_EQ(With([&](const std::string& path) {
              std::ofstream(path) << "";
              EXPECT_EQ(chmod(path.c_str(), 0666), 0);
              give(path);
            }),
            Refused("this file belongs to user 54322, and every user may write it"));
}

TEST_F(Streams, AreBlockingAndAppendedTo) {
  EXPECT_EQ(With([](const std::string& path) { std::ofstream(path) << "before\n"; }), "no error");
  EXPECT_EQ(commands.folder.Read("out/i0/stdout"), "before\nout\n");
  const std::string flags = commands.folder.Read("out/i0/flags");  // octal
  const auto bits = std::strtoul(flags.substr(flags.find('\t')).c_str(), nullptr, 8);
  EXPECT_EQ(bits & (O_NONBLOCK | O_APPEND | O_ACCMODE), static_cast<unsigned long>(O_APPEND | O_WRONLY))
      << flags;
}

}  // namespace
}  // namespace muster::map
