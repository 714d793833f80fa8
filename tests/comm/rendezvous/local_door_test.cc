#include "comm/rendezvous/local_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>

#include "tests/comm/net/test_loop.h"

namespace muster {
namespace {

constexpr uid_t kNobody = 65534;

// A process of another user; ends with the object.
class Stranger {
 public:
  explicit Stranger(const std::function<bool()>& act) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const bool done = setgid(kNobody) == 0 && setuid(kNobody) == 0 && act();
      if (done) [[maybe_unused]]
        const ssize_t told = write(ready[1], "x", 1);
      if (done) pause();
      _exit(1);
    }
    close(ready[1]);
    char byte = 0;
    acted_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
  }
  ~Stranger() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool acted() const { return acted_; }

 private:
  pid_t pid_ = 0;
  bool acted_ = false;
};

class LocalDoorTest : public testing::Test {
 protected:
  LocalDoorTest() {
    // Short: a socket's path has 107 bytes at most.
    std::string pattern = "/tmp/muster-door-XXXXXX";
    base = mkdtemp(pattern.data());
    static int number = 0;
    names =
        MakeLocalNames(fmt::format("local_door_test {} {}", getpid(), number++), "gpu01", {base}, getuid());
  }
  ~LocalDoorTest() override { std::filesystem::remove_all(base); }

  std::unique_ptr<LocalDoor> MakeDoor() {
    return std::make_unique<LocalDoor>(*loop, names, [this](UniqueFd fd, PeerCredentials credentials) {
      EXPECT_EQ(credentials.uid, getuid());
      EXPECT_EQ(credentials.pid, getpid());
      arrived.push_back(std::move(fd));
    });
  }
  void ExpectOpens(LocalDoor& door, LocalDoor::Opened expected = LocalDoor::Opened::kOpen) {
    const auto opened = door.Open();
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(*opened, expected);
  }
  void ExpectDialReaches() {
    const size_t before = arrived.size();
    const UniqueFd fd = DialLocal(names);
    ASSERT_TRUE(fd);
    ASSERT_TRUE(loop.Until([&] { return arrived.size() > before; }));
  }
  std::string SocketPath() const { return names.directories.front() + "/leader"; }

  TestLoop loop;
  std::string base;
  LocalNames names;
  std::vector<UniqueFd> arrived;
};

TEST_F(LocalDoorTest, OfTheSameUserIsFound) {
  EXPECT_FALSE(DialLocal(names));
  auto door = MakeDoor();
  EXPECT_FALSE(door->open());
  ExpectOpens(*door);
  EXPECT_TRUE(door->open());
  ExpectDialReaches();
  EXPECT_TRUE(std::filesystem::is_empty(base)) << "nothing is made in the file system unless it is needed";
}

TEST_F(LocalDoorTest, IsOneNodesOwn) {
  auto door = MakeDoor();
  ExpectOpens(*door);
  LocalNames other = MakeLocalNames("another key", "gpu01", {base}, getuid());
  EXPECT_FALSE(DialLocal(other));
}

TEST_F(LocalDoorTest, ASecondLeaderFindsItTakenUntilItCloses) {
  auto first = MakeDoor();
  auto second = MakeDoor();
  ExpectOpens(*first);
  ExpectOpens(*second, LocalDoor::Opened::kTaken);
  EXPECT_FALSE(second->open());
  first->Close();
  ExpectOpens(*second);
  ExpectDialReaches();
}

TEST_F(LocalDoorTest, ClosingLeavesNothingBehind) {
  const auto before = OpenDescriptors();
  auto door = MakeDoor();
  ExpectOpens(*door);
  ASSERT_TRUE(door->OpenDirectory());
  ASSERT_TRUE(door->OpenDirectory());
  EXPECT_TRUE(std::filesystem::exists(SocketPath()));
  door.reset();
  EXPECT_TRUE(std::filesystem::is_empty(base));
  EXPECT_FALSE(DialLocal(names));
  EXPECT_TRUE(loop.Until([&] { return OpenDescriptors() <= before; }));
}

TEST_F(LocalDoorTest, TheDirectoryServesThoseWhoCannotSeeTheName) {
  auto door = MakeDoor();
  ExpectOpens(*door);
  ASSERT_TRUE(door->OpenDirectory());
  struct stat status {};
  ASSERT_EQ(stat(names.directories.front().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  LocalNames elsewhere = names;
  elsewhere.abstract_name = "muster-seen-by-nobody";
  const UniqueFd fd = DialLocal(elsewhere);
  ASSERT_TRUE(fd);
  ASSERT_TRUE(loop.Until([&] { return arrived.size() == 1; }));
}

TEST_F(LocalDoorTest, WhatAKilledLeaderLeftIsClearedAway) {
  ASSERT_EQ(mkdir(names.directories.front().c_str(), 0700), 0);
  { const auto killed = Listen(*SocketAddress::Path(SocketPath())); }
  ASSERT_TRUE(std::filesystem::exists(SocketPath()));
  auto door = MakeDoor();
  ASSERT_TRUE(door->OpenDirectory());
  LocalNames elsewhere = names;
  elsewhere.abstract_name = "muster-seen-by-nobody";
  EXPECT_TRUE(DialLocal(elsewhere));
}

TEST_F(LocalDoorTest, ALivingLeaderInTheDirectoryIsNotDisturbed) {
  auto first = MakeDoor();
  ASSERT_TRUE(first->OpenDirectory());
  auto second = MakeDoor();
  const Status opened = second->OpenDirectory();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(),
            (Error{Code::kSystem, "another process of this user meets its ranks in the same directory", ""}));
  ExpectDialReaches();
}

TEST_F(LocalDoorTest, ADirectoryThatOthersMayEnterIsNotUsed) {
  ASSERT_EQ(mkdir(names.directories.front().c_str(), 0700), 0);
  ASSERT_EQ(chmod(names.directories.front().c_str(), 0750), 0);
  auto door = MakeDoor();
  const Status opened = door->OpenDirectory();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            fmt::format("the ranks of this node have no place to meet; {} belongs to somebody else",
                        names.directories.front()));
  // Nor is whoever listens there believed.
  const auto trap = Listen(*SocketAddress::Path(SocketPath()));
  ASSERT_TRUE(trap);
  EXPECT_FALSE(DialLocal(names));
}

TEST_F(LocalDoorTest, ALinkToADirectoryIsNotUsed) {
  std::filesystem::create_directory(base + "/own");
  ASSERT_EQ(chmod((base + "/own").c_str(), 0700), 0);
  std::filesystem::create_symlink(base + "/own", names.directories.front());
  auto door = MakeDoor();
  EXPECT_FALSE(door->OpenDirectory());
}

TEST_F(LocalDoorTest, TheNextDirectoryIsTried) {
  names.directories.insert(names.directories.begin(), "/proc/nowhere/at-all");
  auto door = MakeDoor();
  ASSERT_TRUE(door->OpenDirectory());
  names.abstract_name = "muster-seen-by-nobody";
  ExpectDialReaches();
}

TEST_F(LocalDoorTest, WithoutAnyPlaceItSaysWhy) {
  names.directories = {"/proc/nowhere", base + "/" + std::string(100, 'x')};
  auto door = MakeDoor();
  const Status opened = door->OpenDirectory();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            fmt::format(
                "the ranks of this node have no place to meet; cannot create /proc/nowhere: No such file or "
                "directory; {} is too long for a socket",
                names.directories.back()));
}

class StrangerTest : public LocalDoorTest {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
  }
  bool Squat() const {
    static UniqueFd held;
    auto listener = Listen(*SocketAddress::Abstract(names.abstract_name));
    if (!listener) return false;
    held = *std::move(listener);
    return true;
  }
};

TEST_F(StrangerTest, OnTheNameIsAvoided) {
  const Stranger stranger([this] { return Squat(); });
  ASSERT_TRUE(stranger.acted());
  EXPECT_FALSE(DialLocal(names));
  auto door = MakeDoor();
  testing::internal::CaptureStderr();
  ExpectOpens(*door);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      fmt::format("muster: warning: another user holds the socket unix:@{}; the ranks of this node meet in a "
                  "directory instead\n",
                  names.abstract_name));
  ExpectDialReaches();
  // Without local ranks, all try to lead at once: the second must find the first there.
  auto second = MakeDoor();
  ExpectOpens(*second, LocalDoor::Opened::kTaken);
}

TEST_F(StrangerTest, OnTheNameAndNoDirectoryIsAnError) {
  names.directories.clear();
  const Stranger stranger([this] { return Squat(); });
  ASSERT_TRUE(stranger.acted());
  auto door = MakeDoor();
  const auto opened = door->Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), (Error{Code::kSystem, "the ranks of this node have no place to meet", ""}));
}

TEST_F(StrangerTest, WithADirectoryOfOurNameIsAvoided) {
  ASSERT_EQ(chmod(base.c_str(), 0777), 0);
  const Stranger stranger([this] { return mkdir(names.directories.front().c_str(), 0700) == 0; });
  ASSERT_TRUE(stranger.acted());
  auto door = MakeDoor();
  EXPECT_EQ(door->OpenDirectory().error().message,
            fmt::format("the ranks of this node have no place to meet; {} belongs to somebody else",
                        names.directories.front()));
}

TEST_F(StrangerTest, WhoConnectsIsTurnedAway) {
  auto door = MakeDoor();
  ExpectOpens(*door);
  const Stranger stranger([this] {
    static UniqueFd held;
    auto fd = StartConnect(*SocketAddress::Abstract(names.abstract_name));
    if (!fd) return false;
    held = *std::move(fd);
    return true;
  });
  ASSERT_TRUE(stranger.acted());
  testing::internal::CaptureStderr();
  loop.Settle();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "muster: warning: refused a connection of uid 65534 on this node\n");
  EXPECT_TRUE(arrived.empty());
  ExpectDialReaches();
}

}  // namespace
}  // namespace muster
