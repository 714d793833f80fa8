#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <thread>

#include "comm/log/open_for_writing.h"
#include "tests/comm/base/print_error.h"
#include "tests/comm/log/open_for_writing_fixture.h"

namespace muster {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Two users; the victim is not root.
class OpenForWritingOfOthers : public OpenForWritingTest {
 protected:
  void SetUp() override {
    if (!IsRoot()) GTEST_SKIP() << "needs root";
    secret = folder.File("secret", kVictim, 0600, "secret");
    project = folder.Directory("project", kVictim, 0775);
  }
  std::string project;
  std::string secret;
};

TEST_F(OpenForWritingOfOthers, AStrangersLinkIsRefusedByName) {
  folder.Link("project/log", kStranger, secret);
  EXPECT_EQ(AppendAsVictim(folder / "project/log"),
            (folder / "project/log") + ": the symbolic link \"log\" belongs to user 54322");
  EXPECT_EQ(TextOf(secret), "secret");
  // One that leads to a third, and a dangling one.
  folder.Link("project/way", kVictim, "log");
  EXPECT_THAT(AppendAsVictim(folder / "project/way"),
              EndsWith("/way: the symbolic link \"log\" belongs to user 54322"));
  folder.Directory("home", kVictim, 0755);
  folder.Link("project/dangling", kStranger, folder / "home/.rhosts");
  EXPECT_THAT(AppendAsVictim(folder / "project/dangling"), HasSubstr("belongs to user 54322"));
  EXPECT_FALSE(std::filesystem::exists(folder / "home/.rhosts"));
  // Root is no exception.
  EXPECT_THAT(Append(folder / "project/log"), HasSubstr("belongs to user 54322"));
}

TEST_F(OpenForWritingOfOthers, AStrangersLinkAsTheDirectoryIsRefused) {
  folder.Directory("home", kVictim, 0755);
  folder.Link("project/logs", kStranger, folder / "home");
  EXPECT_THAT(AppendAsVictim(folder / "project/logs/rank0.out"),
              EndsWith("/rank0.out: the symbolic link \"logs\" belongs to user 54322"));
  EXPECT_FALSE(std::filesystem::exists(folder / "home/rank0.out"));
}

TEST_F(OpenForWritingOfOthers, AStrangersLinkFurtherUpIsRefused) {
  folder.Directory("home", kVictim, 0755);
  folder.Directory("home/logs", kVictim, 0755);
  folder.Link("project/run", kStranger, folder / "home");
  const std::string refused = ": the symbolic link \"run\" belongs to user 54322";
  EXPECT_THAT(AppendAsVictim(folder / "project/run/logs/rank0.out"), EndsWith("/rank0.out" + refused));
  EXPECT_THAT(AppendAsVictim(folder / "project/run/logs/../logs/rank0.out"),
              EndsWith("/rank0.out" + refused));
  folder.Link("project/way", kVictim, folder / "project/run/logs");
  EXPECT_THAT(AppendAsVictim(folder / "project/way/rank0.out"), EndsWith("/rank0.out" + refused));
  EXPECT_FALSE(std::filesystem::exists(folder / "home/logs/rank0.out"));
  for (const std::string& path : {folder / "project/run/logs", folder / "project/run/new/deep"}) {
    EXPECT_EQ(As(kVictim, [&] { return Made(path); }), path + refused);
    EXPECT_EQ(Made(path), path + refused) << "root is no exception";
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "home/new"));
}

// A user who names a path in a directory trusts its owner; another member of its group is not the owner.
TEST_F(OpenForWritingOfOthers, FurtherUpALinkOfItsDirectorysOwnerIsFollowed) {
  folder.Directory("lead", kStranger, 0775);
  folder.Directory("lead/v2", kStranger, 0755);
  folder.Directory("lead/v2/logs", kVictim, 0755);
  folder.Link("lead/current", kStranger, "v2");
  folder.Link("way", 0, "project");
  EXPECT_EQ(AppendAsVictim(folder / "lead/current/logs/log"), "");
  EXPECT_EQ(As(kVictim, [&] { return Made(folder / "lead/current/logs/new/deep"); }), "");
  EXPECT_EQ(As(kVictim, [&] { return Made(folder / "way/new/deep"); }), "");
  EXPECT_TRUE(std::filesystem::exists(folder / "project/new/deep"));
  // Root has made a user's own link, in a directory where root alone makes anything.
  folder.Directory("scratch", 0, 0755);
  folder.Link("scratch/lead", kStranger, folder / "lead");
  EXPECT_EQ(AppendAsVictim(folder / "scratch/lead/v2/logs/other"), "");
  folder.Directory("tmp", kStranger, 01777);
  folder.Link("tmp/link", kStranger, folder / "project");
  EXPECT_THAT(AppendAsVictim(folder / "tmp/link/new/log"), HasSubstr("\"link\" belongs to user 54322"));
}

TEST_F(OpenForWritingOfOthers, RootsLinkIsFollowed) {
  folder.Link("project/log", 0, secret);
  EXPECT_EQ(AppendAsVictim(folder / "project/log"), "");
  EXPECT_EQ(TextOf(secret), "secretnew");
}

TEST_F(OpenForWritingOfOthers, AStrangersPipeIsRefusedWithAndWithoutAReader) {
  const std::string path = folder.Fifo("project/log", kStranger);
  const std::string refused = path + ": this named pipe belongs to user 54322";
  EXPECT_EQ(AppendAsVictim(path), refused);
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(AppendAsVictim(path), refused);
}

TEST_F(OpenForWritingOfOthers, AStrangersDeviceIsRefused) {
  const auto device = [&](const std::string& name, uid_t owner, mode_t kind) {
    return folder.Given(name, owner,
                        [&](const char* path) { return mknod(path, kind | 0666, makedev(1, 3)) == 0; });
  };
  const std::string strangers = device("strangers", kStranger, S_IFCHR);
  const std::string block = device("block", kVictim, S_IFBLK);
  EXPECT_THAT(AppendAsVictim(strangers), EndsWith("/strangers: this device belongs to user 54322"));
  EXPECT_THAT(AppendAsVictim(block), EndsWith("/block: this is no file"));
}

TEST_F(OpenForWritingOfOthers, APlainFileOfAProjectIsTaken) {
  folder.Given("project/shared", kStranger, [](const char* path) {
    std::ofstream(path) << "";
    return chmod(path, 0664) == 0;
  });
  ASSERT_EQ(chown((folder / "project/shared").c_str(), kStranger, kVictim), 0);
  EXPECT_EQ(AppendAsVictim(folder / "project/shared"), "");
  folder.File("project/for-all", kStranger, 0666);
  EXPECT_THAT(AppendAsVictim(folder / "project/for-all"),
              EndsWith("/for-all: this file belongs to user 54322, and every user may write it"));
  folder.Directory("tmp", 0, 01777);
  folder.File("tmp/log", kStranger, 0666);
  EXPECT_THAT(AppendAsVictim(folder / "tmp/log"),
              EndsWith("/log: this file belongs to user 54322, and every user may write its directory"));
}

TEST_F(OpenForWritingOfOthers, ADirectoryOfAStrangerIsRefusedWhereAllMayWrite) {
  folder.Directory("tmp", 0, 01777);
  folder.Directory("tmp/own", kVictim, 0755);
  folder.Directory("tmp/roots", 0, 0755);
  folder.Directory("tmp/strangers", kStranger, 01777);
  folder.Directory("project/strangers", kStranger, 0775);
  folder.Directory("project/for-all", kStranger, 01777);
  folder.Directory("open", 0, 0777);
  folder.Directory("open/own", kVictim, 0755);
  folder.Link("open/link", kVictim, folder / "tmp/own");
  folder.Link("tmp/link", kStranger, "own");
  folder.Link("project/link", kVictim, folder / "tmp/strangers");
  const auto found = [&](const std::string& name) {
    return As(kVictim, [&] { return FoundDirectory(folder / name); });
  };
  const std::string foreign =
      ": this directory belongs to user 54322, and every user may write the one that it is in";
  EXPECT_EQ(found("tmp/own"), "there");
  EXPECT_EQ(found("tmp/roots"), "there");
  EXPECT_EQ(found("project/strangers"), "there");
  EXPECT_EQ(found("tmp/strangers"), (folder / "tmp/strangers") + foreign);
  EXPECT_EQ(found("project/link"), (folder / "project/link") + foreign);
  EXPECT_EQ(
      found("project/for-all"),
      (folder / "project/for-all") + ": this directory belongs to user 54322, and every user may write it");
  for (const char* name : {"open/own", "open/link"}) {
    EXPECT_EQ(found(name),
              (folder / name) +
                  ": every user may replace this directory: the one that it is in lacks the sticky bit");
  }
  EXPECT_EQ(found("tmp/link"), (folder / "tmp/link") + ": the symbolic link \"link\" belongs to user 54322");
}

// If fs.protected_hardlinks is off, a user can make one of a file that this user may not even read.
TEST_F(OpenForWritingOfOthers, ASecondNameOfAFileIsRefusedWhereAllMayWrite) {
  folder.Directory("tmp", 0, 01777);
  ASSERT_EQ(link(secret.c_str(), (folder / "tmp/log").c_str()), 0);
  EXPECT_THAT(AppendAsVictim(folder / "tmp/log"),
              EndsWith("/log: this file has several names, in a directory that every user may write"));
  ASSERT_EQ(link(secret.c_str(), (folder / "project/log").c_str()), 0);
  EXPECT_EQ(AppendAsVictim(folder / "project/log"), "");
}

TEST_F(OpenForWritingOfOthers, WhatIsGivenAsADescriptorIsNotJudged) {
  const std::string path = folder.Fifo("strangers", kStranger);
  const UniqueFd end(open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(AppendAsVictim("/dev/fd/" + std::to_string(end.get())), "");
}

// A file that is replaced between check and open.
TEST_F(OpenForWritingOfOthers, ASwapWinsNothing) {
  folder.Link("evil", kStranger, secret);
  folder.File("good", kVictim, 0644);
  const std::string log = folder / "project/log";
  std::filesystem::create_hard_link(folder / "good", log);
  std::atomic<bool> over = false;
  std::thread swapper([&] {
    while (!over) {
      for (const char* name : {"evil", "good"}) {
        std::filesystem::remove(folder / "project/next");
        std::error_code ignored;
        if (std::string(name) == "evil") {
          std::filesystem::create_symlink(secret, folder / "project/next", ignored);
          EXPECT_EQ(lchown((folder / "project/next").c_str(), kStranger, kStranger), 0);
        } else {
          std::filesystem::create_hard_link(folder / "good", folder / "project/next", ignored);
        }
        EXPECT_EQ(rename((folder / "project/next").c_str(), log.c_str()), 0);
      }
    }
  });
  const std::string said = As(kVictim, [&] {
    int opened = 0;
    for (int round = 0; round < 2000; ++round) opened += Append(log).empty() ? 1 : 0;
    return std::to_string(opened);
  });
  over = true;
  swapper.join();
  EXPECT_EQ(TextOf(secret), "secret");
  EXPECT_EQ(TextOf(folder / "good").size(), 3 * std::stoul(said));
}

// NFS and others make no unnamed files.
bool RefuseUnnamedFiles() {
  constexpr uint32_t kFlags = offsetof(seccomp_data, args[2]);  // the lower half
  constexpr uint32_t kUnnamed = O_TMPFILE & ~O_DIRECTORY;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kUnnamed, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The file system's uid, which the kernel keeps beside the effective one.
bool BecomeSquashed() {
  const bool changed =
      setresgid(kStranger, kVictim, kVictim) == 0 && setresuid(kStranger, kVictim, kVictim) == 0;
  setfsuid(kStranger);
  return changed;
}

// A process of the same number may have ended before it removed its file, or runs on another node.
TEST_F(OpenForWritingOfOthers, AFileOfAnotherTryDoesNotCount) {
  folder.Directory("tmp", 0, 01777);
  folder.Directory("tmp/out", kStranger, 0755);
  const pid_t pid = fork();
  if (pid == 0) {
    std::ofstream(folder / ("tmp/.muster-owner-" + std::to_string(getpid()))) << "";
    const bool found =
        BecomeSquashed() && RefuseUnnamedFiles() && FoundDirectory(folder / "tmp/out") == "there";
    _exit(found ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const std::filesystem::directory_iterator rest(folder / "tmp");
  EXPECT_EQ(std::distance(begin(rest), end(rest)), 2) << "the directory and that file; its own is removed";
}

// NFS with root_squash or all_squash: what this process makes gets another owner.
TEST_F(OpenForWritingOfOthers, ASquashedOwnerIsOneself) {
  folder.Directory("project/nfs", kStranger, 0755);
  folder.File("project/nfs/file", kStranger, 0644);
  folder.Link("project/nfs/log", kStranger, "file");
  folder.Link("project/nfs/other", kStranger + 1, "file");
  folder.Directory("tmp", 0, 01777);
  folder.Directory("tmp/out", kStranger, 0755);
  const auto squashed = [&](const std::string& path) { return As(kVictim, [&] { return Append(path); }); };
  EXPECT_THAT(squashed(folder / "project/nfs/log"), HasSubstr("belongs to user 54322"));
  std::string said;
  const pid_t pid = fork();
  if (pid == 0) {
    const bool log = BecomeSquashed() && Append(folder / "project/nfs/log").empty();
    const bool other = Append(folder / "project/nfs/other").empty();
    const bool directory = FoundDirectory(folder / "tmp/out") == "there";
    _exit((log ? 1 : 0) + (other ? 2 : 0) + (directory ? 4 : 0));
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 1 + 4) << "the own link and the own directory";
  EXPECT_EQ(TextOf(folder / "project/nfs/file"), "new");
}

// A rootless container: only this user has a number there, and root is "nobody", as strangers are.
TEST_F(OpenForWritingOfOthers, InAUserNamespaceWhoMayWriteTheDirectoryDecides) {
  folder.Directory("image", 0, 0755);
  folder.Directory("tmp", 0, 01777);
  folder.Link("image/log", 0, secret);
  folder.Link("tmp/log", kStranger, secret);
  const auto in_namespace = [](const std::string& path, const std::string& map) {
    return As(kVictim, [&]() -> std::string {
      // Else its own files of /proc are root's.
      prctl(PR_SET_DUMPABLE, 1);
      if (unshare(CLONE_NEWUSER) != 0) return "no user namespace";
      std::ofstream("/proc/self/uid_map") << map;
      return TextOf("/proc/self/uid_map").empty() == map.empty() ? Append(path) : "no map";
    });
  };
  const std::string self = "0 " + std::to_string(kVictim) + " 1";
  const std::string said = in_namespace(folder / "image/log", self);
  if (said == "no user namespace") GTEST_SKIP() << "needs root, and user namespaces for others";
  EXPECT_EQ(said, "");
  EXPECT_EQ(TextOf(secret), "secretnew");
  EXPECT_EQ(in_namespace("/dev/null", self), "");
  // The mode distinguishes the files that it has made there itself from a stranger's.
  folder.File("tmp/own", kVictim, 0600);
  folder.File("tmp/strangers", kStranger, 0666);
  EXPECT_EQ(in_namespace(folder / "tmp/own", ""), "");
  EXPECT_THAT(in_namespace(folder / "tmp/strangers", ""), HasSubstr("belongs to user 65534"));
  // Without a map the process itself is "nobody" as well.
  for (const std::string& map : {self, std::string()}) {
    EXPECT_THAT(in_namespace(folder / "tmp/log", map),
                EndsWith("the symbolic link \"log\" belongs to user 65534"));
  }
}

}  // namespace
}  // namespace muster
