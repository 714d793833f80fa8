#include "comm/rendezvous/link/node_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <utility>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/other_user.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

class NodeListenerTest : public testing::Test {
 protected:
  NodeListenerTest() {
    static int number = 0;
    names = MakeLocalNames(fmt::format("local_door_test {} {}", getpid(), number++), "gpu01", {base.path},
                           getuid());
  }

  std::unique_ptr<NodeListener> MakeDoor() {
    return std::make_unique<NodeListener>(*loop, names,
                                          [this](UniqueFd fd, net::PeerCredentials credentials) {
                                            EXPECT_EQ(credentials.uid, getuid());
                                            EXPECT_EQ(credentials.pid, getpid());
                                            arrived.push_back(std::move(fd));
                                          });
  }
  void ExpectOpens(NodeListener& listener, NodeListener::Opened expected = NodeListener::Opened::kOpen) {
    const auto opened = listener.Open(NodeListener::Candidates::kSeveral);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(*opened, expected);
  }
  void ExpectDialReaches() {
    const size_t before = arrived.size();
    const UniqueFd fd = DialLocal(names);
    ASSERT_TRUE(fd);
    ASSERT_TRUE(loop.Until([&] { return arrived.size() > before; }));
  }
  std::optional<net::PrivateDirectory> Where() const { return base.Find(names.socket); }
  // The remains of a killed leader.
  void LeaveBehind(const net::PrivateDirectory& directory) const {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = directory.AddressOf(names.socket);
    ASSERT_EQ(bind(fd.get(), address->get(), address->length()), 0);
  }

  net::TestLoop loop;
  net::TestBase base;
  LocalNames names;
  std::vector<UniqueFd> arrived;
};

// Also if the likely directory has gone, or has no leader.
TEST_F(NodeListenerTest, IsFoundInTheLikelyDirectoryAndBesideIt) {
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  const auto other = net::PrivateDirectory::MakeIn(base.path);
  ASSERT_TRUE(other);
  names.likely = Where();
  ASSERT_TRUE(names.likely);
  const std::vector<std::string> bases = std::exchange(names.bases, {});
  ExpectDialReaches();
  names.bases = bases;
  names.likely = *other;
  ExpectDialReaches();
  std::filesystem::remove(other->path());
  ExpectDialReaches();
}

TEST_F(NodeListenerTest, OfTheSameUserIsFound) {
  EXPECT_FALSE(DialLocal(names));
  auto listener = MakeDoor();
  EXPECT_FALSE(listener->open());
  ExpectOpens(*listener);
  EXPECT_TRUE(listener->open());
  ExpectDialReaches();
  EXPECT_TRUE(net::IsListedByKernel(names.socket));
}

TEST_F(NodeListenerTest, IsOneNodesOwn) {
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  EXPECT_FALSE(DialLocal(MakeLocalNames("another key", "gpu01", {base.path}, getuid())));
}

TEST_F(NodeListenerTest, ASecondLeaderFindsItTakenUntilItCloses) {
  auto first = MakeDoor();
  auto second = MakeDoor();
  ExpectOpens(*first);
  ExpectOpens(*second, NodeListener::Opened::kTaken);
  EXPECT_FALSE(second->open());
  loop.Settle();
  EXPECT_TRUE(arrived.empty()) << "a look is no connection";
  first->Close();
  ExpectOpens(*second);
  ExpectDialReaches();
}

TEST_F(NodeListenerTest, ClosingLeavesNothingBehind) {
  const auto before = net::OpenDescriptors();
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  listener->OpenElsewhere();
  EXPECT_TRUE(Where());
  listener.reset();
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
  EXPECT_FALSE(DialLocal(names));
  EXPECT_TRUE(loop.Until([&] { return net::OpenDescriptors() <= before; }));
}

TEST_F(NodeListenerTest, IsHandedOverWhileItIsOpen) {
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  // Both have connected before; only one is accepted before.
  const UniqueFd early = DialLocal(names);
  ASSERT_TRUE(loop.Until([&] { return arrived.size() == 1; }));
  const UniqueFd late = DialLocal(names);
  int next_owner = 0;
  listener->SetOnConnection([&](UniqueFd, net::PeerCredentials) { ++next_owner; });
  ASSERT_TRUE(loop.Until([&] { return next_owner == 1; }));
  EXPECT_EQ(arrived.size(), 1U);
}

// Containers that share only one of the bases.
TEST_F(NodeListenerTest, IsInAllBasesForThoseWhoSeeOnlyOne) {
  const net::TestBase second;
  names.bases = {base.path, second.path};
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  EXPECT_TRUE(std::filesystem::is_empty(second.path)) << "the others only if they are needed";
  listener->OpenElsewhere();
  listener->OpenElsewhere();
  names.bases = {second.path};
  ExpectDialReaches();
  listener.reset();
  EXPECT_TRUE(std::filesystem::is_empty(second.path));
}

TEST_F(NodeListenerTest, TheNextBaseIsTried) {
  names.bases = {"/proc/nowhere", base.path};
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  ExpectDialReaches();
}

// A base by two paths, as TMPDIR=/tmp/ beside /tmp.
TEST_F(NodeListenerTest, IsNotTakenForItsOwnRival) {
  names.bases = {base.path, base.path + "/"};
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  listener->OpenElsewhere();
  ExpectDialReaches();
}

TEST_F(NodeListenerTest, WithoutAnyPlaceItSaysWhy) {
  names.bases = {"/proc/nowhere", base.path + "/missing"};
  auto listener = MakeDoor();
  const auto opened = listener->Open(NodeListener::Candidates::kSeveral);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(),
            (Error{Code::kSystem,
                   fmt::format("the ranks of this node cannot meet; /proc/nowhere: No such file or "
                               "directory; {}/missing: No such file or directory",
                               base.path),
                   ""}));
}

TEST_F(NodeListenerTest, WhatAKilledLeaderLeftIsClearedAway) {
  const auto directory = net::PrivateDirectory::MakeIn(base.path);
  LeaveBehind(*directory);
  EXPECT_FALSE(DialLocal(names));
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  ExpectDialReaches();
  EXPECT_EQ(net::PrivateDirectory::FindIn(base.path).size(), 1U);
}

TEST_F(NodeListenerTest, AlsoWhileAStoppedProcessHoldsTheLock) {
  const auto directory = net::PrivateDirectory::MakeIn(base.path);
  LeaveBehind(*directory);
  const UniqueFd lock(open(directory->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  ExpectDialReaches();
  auto second = MakeDoor();
  ExpectOpens(*second, NodeListener::Opened::kTaken);
}

TEST_F(NodeListenerTest, ANeighbourLosesNothing) {
  const LocalNames other = MakeLocalNames("another job", "gpu01", {base.path}, getuid());
  auto neighbour = std::make_unique<NodeListener>(
      *loop, other, [this](UniqueFd fd, net::PeerCredentials) { arrived.push_back(std::move(fd)); });
  ExpectOpens(*neighbour);
  for (int i = 0; i < 20; ++i) {
    auto listener = MakeDoor();
    ExpectOpens(*listener);
  }
  const UniqueFd fd = DialLocal(other);
  ASSERT_TRUE(fd);
  ASSERT_TRUE(loop.Until([&] { return arrived.size() == 1; }));
}

TEST_F(NodeListenerTest, ALeaderInAnotherDirectoryIsFoundToo) {
  std::vector<net::PrivateDirectory> directories = {*net::PrivateDirectory::MakeIn(base.path),
                                                    *net::PrivateDirectory::MakeIn(base.path)};
  std::ranges::sort(directories, {}, &net::PrivateDirectory::name);
  const auto leader =
      net::PrivateSocket::Bind(directories.back(), names.socket, net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(leader);
  auto listener = MakeDoor();
  ExpectOpens(*listener, NodeListener::Opened::kTaken);
  EXPECT_FALSE(directories.front().Has(names.socket)) << "it has withdrawn";
  EXPECT_TRUE(DialLocal(names));
}

// /tmp may be long: facts of the launcher need not be searched for.
TEST_F(NodeListenerTest, ALeaderInAnotherBaseIsSearchedByOneOfSeveralCandidates) {
  const net::TestBase second;
  const auto leader =
      net::PrivateSocket::OpenIn(second.path, names.socket, net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(leader);
  names.bases = {base.path, second.path};
  ExpectOpens(*MakeDoor(), NodeListener::Opened::kTaken);
  const auto opened = MakeDoor()->Open(NodeListener::Candidates::kOne);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, NodeListener::Opened::kOpen);
}

// Processes that all want to lead, each with directories coming and going: never two at a time.
TEST_F(NodeListenerTest, OfAllWhoRaceForItOneLeads) {
  constexpr int kProcesses = 6;
  constexpr int kWins = 40;
  const std::string token = base.path + "/leading";
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (int wins = 0; wins < kWins;) {
      net::TestLoop own_loop;
      NodeListener listener(*own_loop, names, [](UniqueFd, net::PeerCredentials) {});
      const auto opened = listener.Open(NodeListener::Candidates::kSeveral);
      if (!opened) _exit(1);
      if (*opened == NodeListener::Opened::kTaken) {
        usleep(static_cast<useconds_t>(100 + 50 * i));
        continue;
      }
      ++wins;
      const UniqueFd mine(open(token.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!mine) _exit(2);
      if (!DialLocal(names)) _exit(3);
      unlink(token.c_str());
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

class LocalDoorStrangerTest : public NodeListenerTest {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
    ASSERT_EQ(chmod(base.path.c_str(), 01777), 0);
  }
};

TEST_F(LocalDoorStrangerTest, HasNoWayIn) {
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  const std::string path = Where()->PathOf(names.socket);
  const net::OtherProcess stranger(
      [&] {
        for (int i = 0; i < 1000; ++i) {
          int error = 0;
          if (net::StartConnect(*net::SocketAddress::Path(path), &error) || error != EACCES) return false;
        }
        return !DialLocal(names);
      },
      net::OtherProcess::kNoOwner);
  EXPECT_TRUE(stranger.acted());
  loop.Settle();
  EXPECT_TRUE(arrived.empty());
  ExpectDialReaches();
}

TEST_F(LocalDoorStrangerTest, IsNoLeaderInTheLikelyDirectory) {
  names.likely = *net::PrivateDirectory::MakeIn(base.path);
  std::filesystem::remove(names.likely->path());
  const std::string path = names.likely->PathOf(names.socket);
  const net::OtherProcess stranger(
      [&] {
        static UniqueFd listening;
        if (mkdir(names.likely->path().c_str(), 0777) != 0) return false;
        auto made = net::Listen(*net::SocketAddress::Path(path));
        if (!made) return false;
        listening = *std::move(made);
        return true;
      },
      net::OtherProcess::kNoOwner);
  ASSERT_TRUE(stranger.acted());
  EXPECT_TRUE(net::StartConnect(*net::SocketAddress::Path(path)));
  EXPECT_FALSE(DialLocal(names));
}

// If the directory were open, the kernel would still report the user that connects: a few lines, then their
// number.
TEST_F(LocalDoorStrangerTest, IsTurnedAwayInAFewLines) {
  auto listener = MakeDoor();
  ExpectOpens(*listener);
  const net::PrivateDirectory directory = *Where();
  ASSERT_EQ(chmod(directory.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod(directory.PathOf(names.socket).c_str(), 0777), 0);
  const net::OtherProcess stranger(
      [&] {
        static std::vector<UniqueFd> held;
        for (int i = 0; i < 50; ++i) {
          auto fd = net::StartConnect(*directory.AddressOf(names.socket));
          if (!fd) return false;
          held.push_back(*std::move(fd));
        }
        return true;
      },
      net::OtherProcess::kNoOwner);
  ASSERT_TRUE(stranger.acted());
  const LogCapture log;
  for (int i = 0; i < 20; ++i) loop.Settle();
  listener.reset();
  EXPECT_TRUE(arrived.empty());
  std::string expected;
  for (int i = 0; i < 5; ++i) expected += "muster: warning: refused a connection of uid 65534 on this node\n";
  EXPECT_EQ(
      log.Text(),
      expected + "muster: warning: rejected 45 more connections on this node (not logged one by one)\n");
}

}  // namespace
}  // namespace muster::rendezvous
