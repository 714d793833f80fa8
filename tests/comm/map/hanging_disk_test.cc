// A map whose journal is on a disk that does not answer for long, as that of a file server that is away.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>

#include "comm/map/backlog.h"
#include "comm/map/member.h"
#include "tests/comm/map/members.h"

namespace {

// The disk of this process.
class Disk {
 public:
  void Hang() { Set(true); }
  void Answer() { Set(false); }
  void Await() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hangs_; });
    --waiting_;
  }
  // BLOCKS until a call hangs.
  void AwaitCall() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  void Set(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
  int waiting_ = 0;
};

Disk disk;

}  // namespace

// In the place of the C library's: the appender synchronises with it.
extern "C" int fdatasync(int fd) {
  disk.Await();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

namespace muster::map {
namespace {

constexpr uint64_t kItems = 4000;
constexpr size_t kBytesEach = 60 << 10;
constexpr uint64_t kFull = Backlog::kMostBytes / kBytesEach;
// The items that a rank has when grants end: a batch (ledger.h).
constexpr uint64_t kBatch = 50;

class HangingDisk : public ::testing::Test {
 protected:
  HangingDisk() {
    std::filesystem::remove_all(options_.journal);
    options_.retries = 0;
    member_ = JoinAs(groups_, 0, Of(kItems), options_);
  }
  ~HangingDisk() override { disk.Answer(); }

  // All items fail.
  void Work() {
    while (const auto item = *member_->Next()) {
      // A log line has the first line of it.
      member_->Fail(item->index, Key(item->index), "exit 1\n" + std::string(kBytesEach, 'x'),
                    milliseconds(1));
      const std::lock_guard lock(mutex_);
      ++failed_;
      changed_.notify_all();
    }
  }
  // False: not within that time.
  bool AwaitFailed(uint64_t count, Duration within) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [&] { return failed_ >= count; });
  }

  GroupsInProcess groups_{1};
  Options options_{std::string(getenv("TEST_TMPDIR")) + "/hanging.journal"};
  std::unique_ptr<Member> member_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t failed_ = 0;
};

TEST_F(HangingDisk, NoItemIsBegunWhileManyErrorsWaitForIt) {
  disk.Hang();
  auto worked = std::async(std::launch::async, [this] { Work(); });
  disk.AwaitCall();
  EXPECT_TRUE(AwaitFailed(kFull - kBatch, seconds(60)));
  EXPECT_FALSE(AwaitFailed(kFull + 2 * kBatch, seconds(1)));
  disk.Answer();
  worked.get();
  EXPECT_EQ(failed_, kItems);
  EXPECT_EQ(member_->Finish()->poisoned, kItems);
}

}  // namespace
}  // namespace muster::map
