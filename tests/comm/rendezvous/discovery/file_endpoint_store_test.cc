#include "comm/rendezvous/discovery/file_endpoint_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "tests/comm/base/print_error.h"

namespace {

// A client of NFS that goes on reporting that a file is not there. The calls that make a real one query the
// server again make this one forget.
struct SlowCache {
  bool on = false;
  bool close_to_open = true;  // false: mounted with nocto
  std::set<std::string> absent;
  bool gives_away = false;  // what is made gets another owner
};
SlowCache& Cache() {
  static SlowCache cache;
  return cache;
}

// How often each name was opened or examined.
std::map<std::string, int>& Uses() {
  static std::map<std::string, int> uses;
  return uses;
}

}  // namespace

// In the place of libc's, for this whole program.
extern "C" int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0U;
  va_end(arguments);
  ++Uses()[path];
  SlowCache& cache = Cache();
  if (cache.on && (flags & O_CREAT) == 0 && cache.absent.contains(path)) {
    errno = ENOENT;
    return -1;
  }
  const auto fd = static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
  if (cache.on && fd < 0 && errno == ENOENT) cache.absent.insert(path);
  return fd;
}

extern "C" int open(const char* path, int flags, ...) {
  if (Cache().close_to_open) Cache().absent.clear();
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

// Clang's calls of both if _FORTIFY_SOURCE is defined and no mode is given.
extern "C" int FortifiedOpenAt(int directory, const char* path, int flags) asm("__openat_2");
extern "C" int FortifiedOpenAt(int directory, const char* path, int flags) {
  return openat(directory, path, flags);
}
extern "C" int FortifiedOpen(const char* path, int flags) asm("__open_2");
extern "C" int FortifiedOpen(const char* path, int flags) { return open(path, flags); }

extern "C" int fstatat(int directory, const char* path, struct stat* into, int flags) {
  ++Uses()[path];
  return static_cast<int>(syscall(SYS_newfstatat, directory, path, into, flags));
}

extern "C" int mkdirat(int directory, const char* path, mode_t mode) {
  const auto made = static_cast<int>(syscall(SYS_mkdirat, directory, path, mode));
  if (made == 0) Cache().absent.clear();
  if (made == 0 && Cache().gives_away) fchownat(directory, path, 65534, 65534, AT_SYMLINK_NOFOLLOW);
  if (made != 0 && errno == EEXIST) Cache().absent.erase(path);
  return made;
}

namespace muster::rendezvous {
namespace {

namespace fs = std::filesystem;

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
using Found = Result<std::optional<std::string>>;
const Found kNothing = std::optional<std::string>();

class FileEndpointStoreTest : public testing::Test {
 protected:
  FileEndpointStoreTest() {
    std::string name = testing::TempDir() + "muster-file-XXXXXX";
    shared = mkdtemp(name.data());
  }
  ~FileEndpointStoreTest() override {
    Cache() = SlowCache{};
    fs::remove_all(shared);
  }
  FileEndpointStore Open(const std::string& name = "root-a") const { return {shared, name}; }
  fs::path Own() const { return fs::path(shared) / fmt::format("muster-{}", geteuid()); }
  void Write(const std::string& name, const std::string& content, fs::perms mode = fs::perms(0600)) const {
    fs::create_directories(Own());
    fs::permissions(Own(), fs::perms(0700));
    std::ofstream(Own() / name) << content;
    fs::permissions(Own() / name, mode);
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Own())) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  Error Refused() const {
    const Found found = Open().LookUp(Soon());
    return found ? Error{} : found.error();
  }
  Error Unusable(const std::string& what) const {
    return {Code::kConfiguration, "rendezvous.directory cannot be used: " + what,
            "choose a directory that all nodes share and only this user can write to"};
  }

  std::string shared;
};

TEST_F(FileEndpointStoreTest, WhatOnePublishesAnotherFinds) {
  FileEndpointStore root = Open();
  FileEndpointStore leader = Open();
  EXPECT_EQ(leader.LookUp(Soon()), kNothing);
  ASSERT_TRUE(root.Publish("here", Soon()));
  EXPECT_EQ(leader.LookUp(Soon()), Found("here"));
  ASSERT_TRUE(root.Publish("there", Soon()));
  EXPECT_EQ(leader.LookUp(Soon()), Found("there"));
  EXPECT_EQ(Open("root-b").LookUp(Soon()), kNothing);
}

TEST_F(FileEndpointStoreTest, NobodyElseMayLook) {
  const mode_t before = umask(0);
  ASSERT_TRUE(Open().Publish("here", Soon()));
  umask(before);
  EXPECT_EQ(fs::status(Own()).permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(Own() / "root-a").permissions(), fs::perms(0600));
  EXPECT_EQ(Files(), std::vector<std::string>{"root-a"});
}

TEST_F(FileEndpointStoreTest, TakesDownItsOwnAlone) {
  FileEndpointStore root = Open();
  ASSERT_TRUE(root.Publish("here", Soon()));
  root.Withdraw("there");
  EXPECT_EQ(Open().LookUp(Soon()), Found("here"));
  root.Withdraw("here");
  EXPECT_EQ(Open().LookUp(Soon()), kNothing);
  EXPECT_TRUE(Files().empty());
}

// A root that was killed while it wrote, and one whose files have stayed behind.
TEST_F(FileEndpointStoreTest, LeftoversAreReplacedOrForgotten) {
  Write("root-a.new", "half of");
  Write("root-a", EncodeRootAddressFile("of an earlier run"));
  Write("root-old", "x");
  Write("root-young", "x");
  const auto now = fs::last_write_time(Own() / "root-a");
  fs::last_write_time(Own() / "root-old", now - std::chrono::hours(8 * 24));
  fs::last_write_time(Own() / "root-young", now - std::chrono::hours(6 * 24));
  ASSERT_TRUE(Open().Publish("here", Soon()));
  EXPECT_EQ(Open().LookUp(Soon()), Found("here"));
  EXPECT_EQ(Files(), (std::vector<std::string>{"root-a", "root-young"}));
}

TEST_F(FileEndpointStoreTest, WhatIsHalfThereIsNotRead) {
  for (const std::string content : {"", "here", "here\n", "here\n0123"}) {
    Write("root-a", content);
    EXPECT_EQ(Refused(), (Error{Code::kSystem, fmt::format("{}/root-a is not whole", Own().string()), ""}));
  }
  Write("root-a", std::string(100'000, 'x'));
  EXPECT_EQ(Refused().code, Code::kSystem);
}

TEST_F(FileEndpointStoreTest, WhatOthersMayReadIsNotBelieved) {
  Write("root-a", EncodeRootAddressFile("here"), fs::perms(0640));
  EXPECT_EQ(
      Refused(),
      (Error{Code::kAuthentication,
             fmt::format(
                 "{}/root-a is ignored: it belongs to uid {} and has mode 640; expected: uid {}, mode 600",
                 Own().string(), geteuid(), geteuid()),
             ""}));
  fs::remove(Own() / "root-a");
  ASSERT_EQ(mkfifo((Own() / "root-a").c_str(), 0600), 0);
  EXPECT_EQ(Refused().code, Code::kAuthentication);
  fs::remove(Own() / "root-a");
  fs::create_symlink("/etc/passwd", Own() / "root-a");
  EXPECT_EQ(Refused().code, Code::kSystem);
  ASSERT_TRUE(Open().Publish("here", Soon()));
  EXPECT_EQ(Open().LookUp(Soon()), Found("here"));
}

// As in /scratch with the mode of /tmp.
TEST_F(FileEndpointStoreTest, AnotherUserMayHaveTakenTheName) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root (to give files away)";
  const auto make_directory = [&] { fs::create_directory(Own()); };
  const auto make_link = [&] { fs::create_directory_symlink("/tmp", Own()); };
  const auto make_pipe = [&] { mkfifo(Own().c_str(), 0666); };
  for (const std::function<void()>& make :
       {std::function<void()>(make_directory), {make_link}, {make_pipe}}) {
    make();
    ASSERT_EQ(lchown(Own().c_str(), 65534, 65534), 0);
    FileEndpointStore root = Open();
    FileEndpointStore leader = Open();
    EXPECT_EQ(leader.LookUp(Soon()), kNothing);
    ASSERT_TRUE(root.Publish("here", Soon()));
    EXPECT_EQ(leader.LookUp(Soon()), Found("here"));
    // A leader that has come after the other user has gone.
    fs::remove(Own());
    FileEndpointStore late = Open();
    Found found = kNothing;
    for (int looks = 0; looks < 20 && found == kNothing; ++looks) found = late.LookUp(Soon());
    EXPECT_EQ(found, Found("here"));
    root.Withdraw("here");
    EXPECT_EQ(Open().LookUp(Soon()), kNothing);
    EXPECT_TRUE(fs::remove(Own()));
    EXPECT_TRUE(fs::is_empty(shared)) << "no random name stays";
  }
}

TEST_F(FileEndpointStoreTest, AllDirectoriesOfThisUserAreRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root (to give files away)";
  for (const char* suffix : {"", "-00000001", "-00000002", "-00000003"})
    fs::create_directory(Own() += suffix);
  for (const char* suffix : {"-00000002", "-00000003"}) fs::permissions(Own() += suffix, fs::perms(0700));
  for (const char* suffix : {"", "-00000003"}) ASSERT_EQ(chown((Own() += suffix).c_str(), 65534, 65534), 0);
  fs::create_directory(Own() += "-0000000f");
  fs::permissions(Own() += "-0000000f", fs::perms(0700));
  std::ofstream(((Own() += "-0000000f") / "root-a")) << EncodeRootAddressFile("here");
  fs::permissions((Own() += "-0000000f") / "root-a", fs::perms(0600));
  EXPECT_EQ(Open().LookUp(Soon()), Found("here")) << "made at the same moment as -00000002";
  ASSERT_TRUE(Open().Publish("there", Soon()));
  EXPECT_TRUE(fs::exists((Own() += "-00000002") / "root-a"));
  EXPECT_EQ(Open().LookUp(Soon()), Found("there"));
}

TEST_F(FileEndpointStoreTest, LookAlikesOfAnotherUserAreExaminedOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root (to give files away)";
  std::vector<std::string> look_alikes = {Own(), Own() += "-1", Own() += "-0000000x", Own() += "-000000001"};
  for (int i = 0; i < 1000; ++i) look_alikes.push_back(fmt::format("{}-{:08x}", Own().string(), i));
  for (const std::string& path : look_alikes) {
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0) << path;
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0) << path;
  }
  FileEndpointStore leader = Open();
  EXPECT_EQ(leader.LookUp(Soon()), kNothing);
  ASSERT_TRUE(Open().Publish("here", Soon()));
  EXPECT_EQ(leader.LookUp(Soon()), Found("here"));
  Uses().clear();
  EXPECT_EQ(leader.LookUp(Soon()), Found("here"));
  EXPECT_EQ(Open().LookUp(Soon()), Found("here"));
  const auto uses = [&](const std::string& path) { return Uses()[fs::path(path).filename()]; };
  EXPECT_EQ(std::count_if(look_alikes.begin() + 1, look_alikes.begin() + 4, uses), 0)
      << "no random name of ours";
  EXPECT_EQ(std::count_if(look_alikes.begin() + 4, look_alikes.end(),
                          [&](const std::string& path) { return uses(path) != 1; }),
            0);
}

// By a file server that gives files another owner.
TEST_F(FileEndpointStoreTest, ADirectoryThatIsNoneOfThisUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root (to give files away)";
  Cache().gives_away = true;
  EXPECT_EQ(Refused(), Unusable(fmt::format("{}/ belongs to uid 65534, not to uid 0", Own().string())));
  EXPECT_EQ(Open().Publish("here", Soon()).error().code, Code::kConfiguration);
  EXPECT_TRUE(fs::remove(Own()));
  EXPECT_TRUE(fs::is_empty(shared)) << "no random name stays";
}

TEST_F(FileEndpointStoreTest, ADirectoryThatLetsOthersInIsRefused) {
  fs::create_directory(Own());
  fs::permissions(Own(), fs::perms(0750));
  EXPECT_EQ(Refused(),
            Unusable(fmt::format("{}/ has mode 750, which gives other users access", Own().string())));
  fs::remove(Own());
  fs::create_symlink("/tmp", Own());
  EXPECT_EQ(Refused(), Unusable(fmt::format("{}/ is no directory", Own().string())));
}

TEST_F(FileEndpointStoreTest, ADirectoryMustBeThere) {
  const auto refused = [](const std::string& path) {
    const Found found = FileEndpointStore(path, "root-a").LookUp(Soon());
    return found ? Error{} : found.error();
  };
  EXPECT_EQ(refused(shared + "/no"), Unusable(shared + "/no is not there"));
  std::ofstream(shared + "/file") << "x";
  EXPECT_EQ(refused(shared + "/file"), Unusable(shared + "/file is no directory"));
  EXPECT_EQ(refused("/proc"),
            (Error{Code::kSystem,
                   fmt::format("cannot make /proc/muster-{}/: No such file or directory", geteuid()), ""}));
}

TEST_F(FileEndpointStoreTest, AMemoryOfAbsenceIsNotBelieved) {
  FileEndpointStore leader = Open();
  Cache().on = true;
  EXPECT_EQ(leader.LookUp(Soon()), kNothing);
  Cache().on = false;
  ASSERT_TRUE(Open().Publish("here", Soon()));
  Cache().on = true;
  EXPECT_EQ(leader.LookUp(Soon()), Found("here"));
}

// A client for which opening the directory anew does not help either.
TEST_F(FileEndpointStoreTest, AMemoryOfAbsenceIsShaken) {
  FileEndpointStore leader = Open();
  Cache() = {true, false, {}};
  EXPECT_EQ(leader.LookUp(Soon()), kNothing);
  const std::set<std::string> remembered = Cache().absent;
  Cache() = {};
  ASSERT_TRUE(Open().Publish("here", Soon()));
  Cache() = {true, false, remembered};
  int looks = 1;
  while (leader.LookUp(Soon()) == kNothing) ASSERT_LT(++looks, 20);
  EXPECT_EQ(looks, 7);
  EXPECT_EQ(Files(), std::vector<std::string>{"root-a"});
}

TEST_F(FileEndpointStoreTest, SaysWhatItIs) {
  EXPECT_EQ(FileEndpointStore("/shared/", "root-a").Describe(),
            fmt::format("the file /shared/muster-{}/root-a", geteuid()));
}

TEST(NoticeFile, IsReadAsItWasWritten) {
  const std::string file = EncodeRootAddressFile("muster-notice 1 - 10.1.2.3:61000");
  EXPECT_EQ(file, "muster-notice 1 - 10.1.2.3:61000\n0ae6f567c0f511098ffec790abe0b910\n");
  EXPECT_EQ(DecodeRootAddressFile(file), "muster-notice 1 - 10.1.2.3:61000");
}

TEST(NoticeFile, IsReadAsAWholeOnly) {
  const std::string file = EncodeRootAddressFile("muster-notice 1 - 10.1.2.3:61000");
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(DecodeRootAddressFile(file.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_EQ(DecodeRootAddressFile(file + file), std::nullopt);
  std::string changed = file;
  changed[20] = '2';
  EXPECT_EQ(DecodeRootAddressFile(changed), std::nullopt);
  EXPECT_EQ(DecodeRootAddressFile(std::string(kLongestRootAddressFile + 1, 'x')), std::nullopt);
  EXPECT_EQ(DecodeRootAddressFile(std::string(64, '\0')), std::nullopt);
}

}  // namespace
}  // namespace muster::rendezvous
