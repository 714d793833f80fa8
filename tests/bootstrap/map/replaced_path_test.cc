// Another member of the group that may write OUTPUT puts a link in the place of a directory, between its check and
// its use. The link leads to a directory of the user who runs the map.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/map/attempt_directory.h"
#include "comm/system/system_calls.h"
#include "tests/comm/base/another_user.h"

namespace {

// Both paths change places before the calls `there` and `back`, counted from 1.
struct Swap {
  std::string one;
  std::string other;
  int there = 0;
  int back = 0;
  int calls = 0;
};
Swap* swap_now = nullptr;

void BeforeCall() {
  Swap* const swap = std::exchange(swap_now, nullptr);
  if (swap == nullptr) return;
  ++swap->calls;
  // It fails if the map has removed one of them.
  if (swap->calls == swap->there || swap->calls == swap->back)
    muster::ExchangePaths(swap->one.c_str(), swap->other.c_str());
  swap_now = swap;
}

template <typename Result, typename... Arguments>
Result Call(const char* name, Arguments... arguments) {
  BeforeCall();
  return reinterpret_cast<Result (*)(Arguments...)>(dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

// In the place of the C library's: every call that uses a path, of muster and of std::filesystem. The mode of open
// is passed on, present or not.
extern "C" {
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return Call<int>("open", path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return Call<int>("openat", directory, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return Call<int>("open64", path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return Call<int>("openat64", directory, path, flags, mode);
}
int __open_2(const char* path, int flags) { return Call<int>("__open_2", path, flags); }
int __openat_2(int directory, const char* path, int flags) {
  return Call<int>("__openat_2", directory, path, flags);
}
int renameat(int from_directory, const char* from, int directory, const char* to) noexcept {
  return Call<int>("renameat", from_directory, from, directory, to);
}
int unlinkat(int directory, const char* name, int flags) noexcept {
  return Call<int>("unlinkat", directory, name, flags);
}
int unlink(const char* path) noexcept { return Call<int>("unlink", path); }
int rmdir(const char* path) noexcept { return Call<int>("rmdir", path); }
int remove(const char* path) noexcept { return Call<int>("remove", path); }
int mkdir(const char* path, mode_t mode) noexcept { return Call<int>("mkdir", path, mode); }
int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  return Call<int>("mkdirat", directory, name, mode);
}
// renameat2 has no function in old C libraries.
long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (long& one : a) one = va_arg(rest, long);
  va_end(rest);
  return Call<long>("syscall", number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}

namespace muster::map {
namespace {

namespace fs = std::filesystem;

class ReplacedPath : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsRoot()) GTEST_SKIP() << "only root gives links away";
    out = folder.Directory("out", 0, 0775);
    home = folder.Directory("home", 0, 0700);
    // All names that the map uses below OUTPUT.
    for (const std::string& name : Names()) {
      fs::create_directories(folder / name);
      folder.File(name + "/next-file", 0, 0600, "precious");
    }
    entries = Entries();
  }
  void TearDown() override { EXPECT_TRUE(!IsRoot() || IsWhole()); }

  static std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const char* above : {"home", "home/run", "home/.attempts", "home/.attempts/run"})
      for (const char* name : {"a", "old", "next-5-0"}) names.push_back(std::string(above) + "/" + name);
    names.insert(names.end(), {"home/a/earlier", "home/.failed/a"});
    return names;
  }
  size_t Entries() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(home)) ++count;
    return count;
  }
  // The directory behind the link has lost nothing, and nothing was added.
  bool IsWhole() const {
    for (const std::string& name : Names())
      if (TextOf(folder / (name + "/next-file")) != "precious") return false;
    return Entries() == entries;
  }
  // Works with `path` replaced by the link before each call: for one call, for two, and to the end.
  void AtEachMoment(const std::string& path, const std::function<void()>& prepare,
                    const std::function<void()>& work) const {
    constexpr int kNever = 0;
    int calls = 1;
    for (int there = 1; there <= calls; ++there) {
      for (const int back : {there + 1, there + 2, kNever}) {
        prepare();
        Swap swap{folder / path, PlantLink("link"), there, back};
        swap_now = &swap;
        work();
        swap_now = nullptr;
        ASSERT_TRUE(IsWhole()) << path << " before call " << there << " of " << swap.calls << ", until "
                               << back;
        calls = std::max(calls, swap.calls);
      }
    }
    EXPECT_GT(calls, 4);
  }
  // The member's link, in the place of what is there.
  std::string PlantLink(const std::string& name) const {
    fs::remove_all(folder / name);
    return folder.Link(name, kStranger, home);
  }
  std::string MakeDirectories(const std::string& name) const {
    fs::remove_all(folder / name);
    fs::create_directories(folder / name);
    return folder / name;
  }
  // A new one: the last may be a link now.
  void MakeOutput() const {
    for (const char* name : {"out", "link"}) fs::remove_all(folder / name);
    folder.Directory("out", 0, 0775);
  }
  AttemptDirectory Create(NextDirectory& next) const {
    auto made = AttemptDirectory::Create(out, "run", "a", 1, 5, next);
    EXPECT_TRUE(made) << ToString(made.error());
    std::ofstream(made->path() + "/result") << "result";
    return *std::move(made);
  }

  SharedFolder folder;
  std::string out;
  std::string home;
  size_t entries = 0;
};

TEST_F(ReplacedPath, AResultStaysInTheOutputThatWasChecked) {
  NextDirectory next(out, "run", 5, 0);
  const AttemptDirectory attempt = Create(next);
  fs::rename(out, folder / "checked");
  PlantLink("out");
  EXPECT_TRUE(attempt.MoveToResults());
  EXPECT_EQ(TextOf(folder / "checked/a/result"), "result");
}

TEST_F(ReplacedPath, AFailureStaysInTheDirectoryThatWasChecked) {
  NextDirectory next(out, "run", 5, 0);
  std::optional<AttemptDirectory> attempt;
  testing::internal::CaptureStderr();  // each refusal
  AtEachMoment(
      "out/.failed",
      [&] {
        attempt.emplace(Create(next));
        fs::remove_all(out + "/.failed");
        MakeDirectories("out/.failed/a/earlier");
      },
      [&] { attempt->MoveToFailed(); });
  testing::internal::GetCapturedStderr();
}

TEST_F(ReplacedPath, AResultStaysInTheOutputThatWasCheckedAtEachMoment) {
  std::optional<AttemptDirectory> attempt;
  for (const char* path : {"out/.failed", "out"}) {
    AtEachMoment(
        path,
        [&] {
          MakeOutput();
          NextDirectory next(out, "run", 5, 0);
          attempt.emplace(Create(next));
          for (const char* name : {"out/a", "out/.failed/a/earlier"}) MakeDirectories(name);
          for (const char* name : {"out/a/stdout", "out/a/stderr"}) folder.File(name, 0, 0644);
        },
        [&] { static_cast<void>(attempt->MoveToResults()); });
    if (HasFatalFailure()) return;
  }
}

TEST_F(ReplacedPath, OldAttemptsAreRemovedFromTheDirectoryThatWasChecked) {
  for (const char* path : {"out/.attempts/old/a", "out/.attempts/old", "out/.attempts", "out"}) {
    AtEachMoment(
        path,
        [&] {
          MakeOutput();
          MakeDirectories("out/.attempts/old/a/next-file");
        },
        [&] { RemoveOldAttempts(out, "run"); });
    if (HasFatalFailure()) return;
  }
}

TEST_F(ReplacedPath, TheAttemptsOfARunAreRemovedFromTheDirectoryThatWasChecked) {
  for (const char* path : {"out/.attempts/run/next-5-0", "out/.attempts/run", "out/.attempts", "out"}) {
    AtEachMoment(
        path,
        [&] {
          MakeOutput();
          MakeDirectories("out/.attempts/run/next-5-0/next-file");
        },
        [&] { RemoveAttemptsOf(out, "run"); });
    if (HasFatalFailure()) return;
  }
}

// Both the places of a new run, and the directory that is prepared.
TEST_F(ReplacedPath, AnAttemptIsMadeInTheOutputThatWasChecked) {
  for (const char* path : {"out/.attempts/run", "out/.attempts", "out"}) {
    AtEachMoment(
        path,
        [&] {
          MakeOutput();
          MakeDirectories("out/.attempts/run");
        },
        [&] {
          NextDirectory next(out, "run", 5, 0);
          next.Prepare();
          static_cast<void>(AttemptDirectory::Create(out, "run", "a", 1, 5, next));
        });
    if (HasFatalFailure()) return;
  }
}

// The names that a map removes are links themselves.
TEST_F(ReplacedPath, LinksAreRemovedAndNotFollowed) {
  MakeDirectories("out/.attempts/run");
  PlantLink("out/.attempts/old");
  PlantLink("out/.attempts/run/next-5-0");
  RemoveOldAttempts(out, "run");
  EXPECT_FALSE(fs::is_symlink(out + "/.attempts/old"));
  RemoveAttemptsOf(out, "run");
  EXPECT_FALSE(fs::exists(out + "/.attempts"));
  MakeDirectories("out/.attempts");
  PlantLink("out/.attempts/run");
  RemoveAttemptsOf(out, "run");
  EXPECT_TRUE(fs::is_symlink(out + "/.attempts/run"));
  MakeDirectories("out/.failed");
  PlantLink("out/.failed/a");
  NextDirectory next(out, "run2", 5, 0);
  auto made = AttemptDirectory::Create(out, "run2", "a", 1, 5, next);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->MoveToFailed(), out + "/.failed/a");
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(out + "/.failed/a")));
}

}  // namespace
}  // namespace muster::map
