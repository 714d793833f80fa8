#include "comm/socket/shm/node_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/socket/fake_meshes.h"

namespace {
std::atomic<int> long_waits = 0;
}

// In place of that of the C library.
extern "C" int poll(pollfd* fds, nfds_t count, int milliseconds) {
  if (milliseconds < 0 || milliseconds > 1) ++long_waits;
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return ppoll(fds, count, milliseconds < 0 ? nullptr : &time, nullptr);
}

namespace muster::socket {
namespace {

TEST(OwnProcessors, AreDisjointSets) {
  const auto segment = Segment::Create(SegmentShape::For(3, 4096));
  ASSERT_TRUE(segment) << segment.error().message;
  (*segment)->member(0).processors = {0b0011};
  (*segment)->member(1).processors = {0b0100};
  (*segment)->member(2).processors = {0, 0b0011};
  EXPECT_TRUE(OwnProcessors(**segment));
  (*segment)->member(2).processors = {0b1100};
  EXPECT_FALSE(OwnProcessors(**segment));
}

// As logind (RemoveIPC) or a cleaner of temporary files removes it. Each wait was a long one.
TEST(NodeMemory, WithoutItsDoorbellARankSleepsBriefly) {
  constexpr int kSteps = 10;
  const FakeMeshes fake(BlockLayout({2}));
  const net::TestBase base;
  const net::PrivateDirectory directory = *net::PrivateDirectory::MakeIn(base.path);
  const SegmentShape shape = SegmentShape::For(2, 1);
  std::unique_ptr<Segment> segment = *Segment::Create(shape);
  std::unique_ptr<Segment> attached =
      *Segment::Attach(UniqueFd(fcntl(segment->fd(), F_DUPFD_CLOEXEC, 0)), shape);
  const std::atomic<uint32_t>& word = segment->sleeper(1);
  Doorbell bell = *Doorbell::Open(directory);
  std::ranges::copy(bell.name(), segment->member(1).doorbell.begin());
  segment->member(1).doorbell_length = static_cast<uint32_t>(bell.name().size());
  ASSERT_EQ(unlink(directory.PathOf(bell.name()).c_str()), 0);

  ConnectionSet of_waker(fake.meshes[0], 1, Purpose::kCollective, {0, 1});
  ConnectionSet of_sleeper(fake.meshes[1], 1, Purpose::kCollective, {0, 1});
  ProgressEngine waking(of_waker, nullptr, {});
  ProgressEngine sleeping(of_sleeper, nullptr, {});
  NodeMemory waker(waking, std::move(segment), *Doorbell::Open(directory), directory, Team{{0, 1}, 0});
  NodeMemory sleeper(sleeping, std::move(attached), std::move(bell), directory, Team{{0, 1}, 1});
  Call call;
  call.sequence = 1;
  waking.Begin(call, std::chrono::minutes(1));
  sleeping.Begin(call, std::chrono::minutes(1));
  const LogCapture log;
  long_waits = 0;
  std::thread thread([&] {
    for (int step = 0; step < kSteps; ++step) {
      sleeper.Publish();
      EXPECT_EQ(MessageOf(sleeper.AwaitOne(0)), "");
    }
  });
  for (int step = 0; step < kSteps; ++step) {
    while (word != 1) std::this_thread::yield();
    waker.Publish();
  }
  thread.join();
  EXPECT_LE(long_waits, 1) << "after the first one the rank has noticed it";
  EXPECT_EQ(log.Text(),
            fmt::format(
                "muster: warning: the other ranks of this node cannot reach the socket in {} that wakes this "
                "rank in a collective; another program may have removed it; each such wait takes up to 1 ms "
                "longer\n",
                directory.path()));
}

}  // namespace
}  // namespace muster::socket
