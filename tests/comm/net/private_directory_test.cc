#include "comm/net/private_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "tests/comm/net/other_user.h"
#include "tests/comm/net/test_base.h"

namespace muster::net {
namespace {

using Kind = PrivateSocket::Kind;
using Presence = PrivateDirectory::Presence;
using testing::HasSubstr;

class PrivateDirectoryTest : public testing::Test {
 protected:
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const PrivateDirectory& directory : PrivateDirectory::FindIn(base.path))
      names.push_back(directory.name());
    return names;
  }
  PrivateDirectory Make() const {
    auto made = PrivateDirectory::MakeIn(base.path);
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  // The remains of a killed process: a name without a socket.
  static void LeaveBehind(const PrivateDirectory& directory, const std::string& socket) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = directory.AddressOf(socket);
    ASSERT_EQ(bind(fd.get(), address->get(), address->length()), 0);
  }

  TestBase base;
};

TEST_F(PrivateDirectoryTest, IsMadeForThisUserAloneAndFoundAgain) {
  EXPECT_THAT(Names(), testing::IsEmpty());
  const auto made = PrivateDirectory::FindOrMakeIn(base.path);
  ASSERT_TRUE(made) << made.error().message;
  struct stat status {};
  ASSERT_EQ(stat(made->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  EXPECT_THAT(made->name(),
              testing::MatchesRegex(fmt::format("muster-{}-[0-9a-f]{{8}}-[0-9a-f]{{8}}", geteuid())));
  EXPECT_THAT(Names(), testing::ElementsAre(made->name()));
  EXPECT_EQ(PrivateDirectory::FindOrMakeIn(base.path)->name(), made->name());
}

TEST_F(PrivateDirectoryTest, IsTheSameForAllWhoLook) {
  std::set<std::string> names;
  for (int i = 0; i < 5; ++i) names.insert(Make().name());
  EXPECT_EQ(PrivateDirectory::FindOrMakeIn(base.path)->name(), *names.begin());
  EXPECT_EQ(Names(), std::vector<std::string>(names.begin(), names.end()));
}

TEST_F(PrivateDirectoryTest, OthersMayNotEnterIt) {
  for (const mode_t mode : {0710U, 0701U, 0755U, 0777U}) {
    const PrivateDirectory open = Make();
    ASSERT_EQ(chmod(open.path().c_str(), mode), 0);
  }
  EXPECT_THAT(Names(), testing::IsEmpty());
}

TEST_F(PrivateDirectoryTest, ItsOwnerMayEnterIt) {
  ASSERT_EQ(chmod(Make().path().c_str(), 0600), 0);
  EXPECT_THAT(Names(), testing::IsEmpty());
  const mode_t before = umask(0777);
  const PrivateDirectory made = Make();
  umask(before);
  EXPECT_THAT(Names(), testing::ElementsAre(made.name()));
}

TEST_F(PrivateDirectoryTest, IsNoLinkAndNoFile) {
  const std::string prefix = [&] {
    const PrivateDirectory made = Make();
    rmdir(made.path().c_str());
    return made.path().substr(0, made.path().size() - 8);
  }();
  std::filesystem::create_directory(base.path + "/own");
  ASSERT_EQ(chmod((base.path + "/own").c_str(), 0700), 0);
  std::filesystem::create_symlink(base.path + "/own", prefix + "00000001");
  const std::ofstream file(prefix + "00000002");
  ASSERT_EQ(mkdir((prefix + "00000003-and-more").c_str(), 0700), 0);
  EXPECT_THAT(Names(), testing::IsEmpty());
}

TEST_F(PrivateDirectoryTest, OfAnEarlierBootOrAnotherNodeIsPassedOver) {
  const PrivateDirectory made = Make();
  const std::string other =
      fmt::format("{}/muster-{}-{}{}", base.path, geteuid(),
                  made.name().find("-00000000-") == std::string::npos ? "00000000" : "11111111",
                  made.name().substr(made.name().rfind('-')));
  ASSERT_EQ(rename(made.path().c_str(), other.c_str()), 0);
  EXPECT_THAT(Names(), testing::IsEmpty());
}

TEST_F(PrivateDirectoryTest, IsNotMadeWhereOthersCouldReplaceIt) {
  ASSERT_EQ(chmod(base.path.c_str(), 0777), 0);
  const auto made = PrivateDirectory::FindOrMakeIn(base.path);
  ASSERT_FALSE(made);
  EXPECT_EQ(
      made.error(),
      (Error{Code::kSystem, base.path + ": all users may write there and the sticky bit is not set", ""}));
  ASSERT_EQ(chmod(base.path.c_str(), 01777), 0);
  EXPECT_TRUE(PrivateDirectory::FindOrMakeIn(base.path));
}

TEST_F(PrivateDirectoryTest, ABaseThatCannotBeUsedIsNamed) {
  EXPECT_EQ(PrivateDirectory::MakeIn(base.path + "/missing").error().message,
            base.path + "/missing: No such file or directory");
  const std::ofstream file(base.path + "/file");
  EXPECT_EQ(PrivateDirectory::MakeIn(base.path + "/file").error().message,
            base.path + "/file: Not a directory");
  EXPECT_THAT(PrivateDirectory::MakeIn("/proc").error().message, HasSubstr("cannot create /proc/muster-"));
  const auto opened =
      PrivateSocket::Open({base.path + "/missing", base.path + "/file"}, "name", Kind::kListener);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            fmt::format("no directory for a socket of this user: {0}/missing: No such file or directory; "
                        "{0}/file: Not a directory",
                        base.path));
  EXPECT_EQ(PrivateSocket::Open({}, "name", Kind::kListener).error().message,
            "no directory for a socket of this user: no directory was given");
  EXPECT_EQ(opened.error().hint,
            "make /tmp writable for all users (mode 1777), or set TMPDIR to a local directory of yours");
}

TEST_F(PrivateDirectoryTest, ASocketIsReachedByItsNameAndLeavesNothing) {
  {
    const auto opened = PrivateSocket::Open({base.path + "/missing", base.path}, "name", Kind::kListener);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto found = base.Find("name");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name(), opened->name.directory().name());
    EXPECT_TRUE(StartConnect(*found->AddressOf("name")));
    EXPECT_EQ(found->Look("name"), Presence::kBound);
    EXPECT_THAT(found->Sockets(), testing::ElementsAre("name"));
    EXPECT_FALSE(base.Find("other"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

TEST_F(PrivateDirectoryTest, ALookLeavesNothingInTheQueue) {
  const auto opened = PrivateSocket::Open({base.path}, "name", Kind::kListener);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->name.directory().Look("name"), Presence::kBound);
  const auto accepted = Accept(opened->fd.get());
  ASSERT_TRUE(accepted);
  EXPECT_FALSE(*accepted);
}

TEST_F(PrivateDirectoryTest, LooksTellWhatIsBound) {
  const PrivateDirectory directory = Make();
  EXPECT_EQ(directory.Look("absent"), Presence::kAbsent);
  LeaveBehind(directory, "dead");
  EXPECT_EQ(directory.Look("dead"), Presence::kDead);
  const auto datagram = PrivateSocket::Bind(directory, "datagram", Kind::kDatagram);
  ASSERT_TRUE(datagram);
  EXPECT_EQ(directory.Look("datagram"), Presence::kBound);
  // Bound, and its owner has yet to call listen.
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = directory.AddressOf("early");
  ASSERT_EQ(bind(fd.get(), address->get(), address->length()), 0);
  EXPECT_EQ(directory.Look("early"), Presence::kBound);
}

TEST_F(PrivateDirectoryTest, ANameIsTakenOnce) {
  const auto first = PrivateSocket::Open({base.path}, "name", Kind::kListener);
  ASSERT_TRUE(first);
  int error = 0;
  const auto second = PrivateSocket::Bind(first->name.directory(), "name", Kind::kListener, &error);
  ASSERT_FALSE(second);
  EXPECT_EQ(error, EEXIST);
  EXPECT_EQ(second.error().message, fmt::format("cannot name {}: File exists", first->name.path()));
  EXPECT_THAT(first->name.directory().Sockets(), testing::ElementsAre("name"));
}

TEST_F(PrivateDirectoryTest, WhatKilledProcessesLeftIsRemoved) {
  const PrivateDirectory directory = Make();
  LeaveBehind(directory, "dead");
  LeaveBehind(directory, "half~01234567");
  {
    const auto live = PrivateSocket::Bind(directory, "live", Kind::kListener);
    ASSERT_TRUE(live);
    directory.Tidy(PrivateDirectory::Extent::kAll);
    EXPECT_THAT(directory.Sockets(), testing::ElementsAre("live"));
    EXPECT_TRUE(StartConnect(*directory.AddressOf("live")));
    LeaveBehind(directory, "dead again");
  }
  // The last one to leave takes it along.
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

TEST_F(PrivateDirectoryTest, ARankBelowALeaderLeavesTidyingToIt) {
  const PrivateDirectory directory = Make();
  {
    auto leader = PrivateSocket::Bind(directory, "leader", Kind::kListener);
    auto rank = PrivateSocket::Bind(directory, "rank", Kind::kListener);
    ASSERT_TRUE(leader && rank);
    rank->name.LeaveTidyingToOthers();
    LeaveBehind(directory, "dead");
    { const PrivateSocket leaves = *std::move(rank); }
    EXPECT_THAT(directory.Sockets(), testing::UnorderedElementsAre("dead", "leader"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
  auto last = PrivateSocket::OpenIn(base.path, "rank", Kind::kListener);
  ASSERT_TRUE(last);
  last->name.LeaveTidyingToOthers();
  { const PrivateSocket leaves = *std::move(last); }
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

TEST_F(PrivateDirectoryTest, AKilledProcessIsFollowedByTheNext) {
  OtherProcess killed([&] {
    static auto opened = PrivateSocket::OpenIn(base.path, "name", Kind::kListener);
    return opened.has_value();
  });
  ASSERT_TRUE(killed.acted());
  const auto directory = base.Find("name");
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->Look("name"), Presence::kBound);
  killed.Kill();
  EXPECT_EQ(directory->Look("name"), Presence::kDead);
  EXPECT_TRUE(directory->RemoveDead("name"));
  EXPECT_TRUE(PrivateSocket::OpenIn(base.path, "name", Kind::kListener));
}

TEST_F(PrivateDirectoryTest, WhoeverHoldsTheLockKeepsNobodyWaiting) {
  const PrivateDirectory directory = Make();
  LeaveBehind(directory, "dead");
  const UniqueFd lock(open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  EXPECT_FALSE(directory.RemoveDead("dead"));
  directory.Tidy(PrivateDirectory::Extent::kAll);
  EXPECT_THAT(directory.Sockets(), testing::ElementsAre("dead"));
  EXPECT_TRUE(PrivateSocket::OpenIn(base.path, "other", Kind::kListener));
}

TEST_F(PrivateDirectoryTest, AForkedChildRemovesNothing) {
  auto opened = PrivateSocket::OpenIn(base.path, "name", Kind::kListener);
  ASSERT_TRUE(opened);
  const pid_t child = fork();
  if (child == 0) {
    { const PrivateSocket mine = *std::move(opened); }
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(StartConnect(*opened->name.directory().AddressOf("name")));
}

// Never destroyed, as the group of muster::Init.
bool OpenForGood(const std::string& base, const std::string& name, Kind kind) {
  static auto& sockets = *new std::vector<PrivateSocket>;
  auto opened = PrivateSocket::OpenIn(base, name, kind);
  if (!opened) return false;
  sockets.push_back(*std::move(opened));
  return true;
}

int StatusOfChild(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    _exit(111);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(PrivateDirectoryTest, AProcessThatExitsLeavesNothing) {
  EXPECT_EQ(StatusOfChild([&] {
              const bool opened = OpenForGood(base.path, "first", Kind::kListener) &&
                                  OpenForGood(base.path, "second", Kind::kDatagram);
              exit(opened ? 0 : 1);
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

TEST_F(PrivateDirectoryTest, AForkedChildThatExitsRemovesItsOwnNames) {
  const auto opened = PrivateSocket::OpenIn(base.path, "name", Kind::kListener);
  ASSERT_TRUE(opened);
  EXPECT_EQ(StatusOfChild([] { exit(0); }), 0);
  EXPECT_EQ(StatusOfChild([&] { exit(OpenForGood(base.path, "child", Kind::kListener) ? 0 : 1); }), 0);
  EXPECT_THAT(opened->name.directory().Sockets(), testing::ElementsAre("name"));
}

TEST_F(PrivateDirectoryTest, ALongBaseServesAsWell) {
  const std::string deep = base.path + "/" + std::string(60, 'x') + "/" + std::string(60, 'y');
  std::filesystem::create_directories(deep);
  {
    const auto listener =
        PrivateSocket::OpenIn(deep, "status-f0000098-4194304-100000-0123456789ab", Kind::kListener);
    const auto datagram = PrivateSocket::OpenIn(deep, "bell", Kind::kDatagram);
    ASSERT_TRUE(listener && datagram) << listener.error().message;
    const PrivateDirectory& found = datagram->name.directory();
    EXPECT_EQ(found.Look("bell"), Presence::kBound);
    EXPECT_TRUE(StartConnect(*found.AddressOf(listener->name.socket())));
    EXPECT_THAT(LocalAddress(listener->fd.get()).path(), HasSubstr("/" + found.name() + "/status-"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(deep));
}

// Directories and sockets come and go while others look for them: no process loses a socket, nothing remains.
TEST_F(PrivateDirectoryTest, ComingAndGoingAtOnceDisturbsNobody) {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 200;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (int round = 0; round < kRounds; ++round) {
      const auto kind = round % 2 == 0 ? Kind::kListener : Kind::kDatagram;
      const auto opened = PrivateSocket::OpenIn(base.path, UniqueSocketName("data"), kind);
      if (!opened) _exit(1);
      for (const PrivateDirectory& directory : PrivateDirectory::FindIn(base.path))
        directory.Tidy(PrivateDirectory::Extent::kAll);
      if (opened->name.directory().Look(opened->name.socket()) != Presence::kBound) _exit(2);
      if (kind == Kind::kListener &&
          !StartConnect(*opened->name.directory().AddressOf(opened->name.socket())))
        _exit(3);
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

TEST(PrivateBases, AreNeverThoseOfTheEnvironmentAlone) {
  using testing::AllOf;
  using testing::Contains;
  EXPECT_THAT(PrivateBases(), AllOf(Contains("/dev/shm"), Contains("/tmp")));
  EXPECT_THAT(PrivateBases("/scratch/7"),
              AllOf(Contains("/dev/shm"), Contains("/tmp"), Contains("/scratch/7")));
  EXPECT_EQ(PrivateBases("/tmp"), PrivateBases());
  EXPECT_EQ(PrivateBases("not/a/path"), PrivateBases());
  EXPECT_EQ(PrivateBases().front(), "/dev/shm");
}

TEST(UserIds, ProveNothingWhereThisUserIsNotMapped) {
  EXPECT_TRUE(UserIdIsReliable(1000, 65534, ""));
  EXPECT_TRUE(UserIdIsReliable(65534, 65534, "         0          0 4294967295\n"));
  EXPECT_FALSE(UserIdIsReliable(65534, 65534, ""));
  EXPECT_FALSE(UserIdIsReliable(65534, 65534, "         0       1000          1\n"));
}

class StrangerTest : public PrivateDirectoryTest {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
    ASSERT_EQ(chmod(base.path.c_str(), 01777), 0);
    prefix = [&] {
      const PrivateDirectory made = Make();
      rmdir(made.path().c_str());
      return made.path().substr(0, made.path().size() - 8);
    }();
  }
  std::string prefix;
};

// All that another user can do beforehand.
TEST_F(StrangerTest, TenThousandLookAlikesAreInNobodysWay) {
  const OtherProcess stranger(
      [&] {
        for (int i = 0; i < 10'000; ++i) {
          if (mkdir(fmt::format("{}{:08x}", prefix, i).c_str(), 0700) != 0) return false;
        }
        return true;
      },
      OtherProcess::kNoOwner);
  ASSERT_TRUE(stranger.acted());
  EXPECT_THAT(Names(), testing::IsEmpty());
  const auto opened = PrivateSocket::OpenIn(base.path, "name", Kind::kListener);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto found = base.Find("name");
  ASSERT_TRUE(found);
  EXPECT_TRUE(StartConnect(*found->AddressOf("name")));
  EXPECT_THAT(Names(), testing::ElementsAre(found->name()));
}

TEST_F(StrangerTest, CannotReachRemoveOrReplaceASocket) {
  const auto opened = PrivateSocket::OpenIn(base.path, "name", Kind::kListener);
  ASSERT_TRUE(opened);
  const std::string path = opened->name.path();
  const std::string directory = opened->name.directory().path();
  const OtherProcess stranger(
      [&] {
        int error = 0;
        const auto fd = StartConnect(*SocketAddress::Path(path), &error);
        return !fd && error == EACCES && unlink(path.c_str()) != 0 && rmdir(directory.c_str()) != 0 &&
               rename(directory.c_str(), (directory + "x").c_str()) != 0;
      },
      OtherProcess::kNoOwner);
  EXPECT_TRUE(stranger.acted());
  EXPECT_TRUE(StartConnect(*opened->name.directory().AddressOf("name")));
}

// Every user without a mapping is 65534 there, and so is every owner.
TEST_F(StrangerTest, InANamespaceWithoutAMappingNothingIsTrusted) {
  const PrivateDirectory made = Make();
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER) != 0) _exit(2);
    if (UserIdsAreReliable()) _exit(3);
    if (!PrivateDirectory::FindIn(base.path).empty()) _exit(4);
    const auto opened = PrivateSocket::OpenIn(base.path, "name", Kind::kListener);
    _exit(!opened && opened.error().hint == "map the user: unshare --map-current-user" ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs root: unshare is not allowed";
  EXPECT_EQ(status, 0);
}

TEST_F(PrivateDirectoryTest, WhatTheKernelListsIsKnownWithoutTheDirectory) {
  const std::string name = UniqueSocketName("leader");
  EXPECT_FALSE(IsListedByKernel(name));
  const auto opened = PrivateSocket::OpenIn(base.path, name, Kind::kListener);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(IsListedByKernel(name));
  EXPECT_FALSE(IsListedByKernel(name.substr(1)));
}

}  // namespace
}  // namespace muster::net
