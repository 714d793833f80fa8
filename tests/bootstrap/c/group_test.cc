// The end of the group while other threads are in its calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "bootstrap/c/muster.h"
#include "tests/bootstrap/bound_port.h"
#include "tests/bootstrap/c/await_sleep.h"

namespace {

using muster::testing_support::AwaitLongSleep;
using muster::testing_support::BoundPort;

// The place at which the waits of some threads stop: their calls do not end.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitWaiting(int threads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == threads; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

thread_local Gate* gate = nullptr;  // of this thread

}  // namespace

// In place of that of the C library.
extern "C" int poll(pollfd* fds, nfds_t count, int milliseconds) {
  if (gate != nullptr) gate->Pass();
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return ppoll(fds, count, milliseconds < 0 ? nullptr : &time, nullptr);
}

namespace {

constexpr int64_t kDefault = MUSTER_TIMEOUT_DEFAULT;
constexpr auto kLimit = std::chrono::seconds(4);
constexpr const char* kLimitSetting = "timeouts.shutdown=4s";

std::string TextOf(muster_error* error) {
  std::string text =
      std::string(muster_code_name(muster_error_code(error))) + ": " + muster_error_message(error);
  muster_error_free(error);
  return text;
}

void RunRank(const char* rank, const std::string& port, const std::function<void(muster_comm*)>& body) {
  for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, rank, 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", port.c_str(), 1);
  const muster_options options{nullptr, &kLimitSetting, 1};
  muster_comm* world = nullptr;
  ASSERT_EQ(TextOf(muster_init(MUSTER_ABI_VERSION, &options, &world)), "ok: ");
  body(world);
}

muster_comm* PartOf(muster_comm* world) {
  muster_comm* part = nullptr;
  EXPECT_EQ(TextOf(muster_split(world, 0, 0, kDefault, &part)), "ok: ");
  return part;
}

// `body` is of rank 1. Rank 0 leaves when rank 1 has ended.
void InTwoRanks(const std::function<void(muster_comm* world, muster_comm* part)>& body) {
  const BoundPort port;
  const pid_t child = fork();
  if (child == 0) {
    RunRank("1", port.text(), [&](muster_comm* world) { body(world, PartOf(world)); });
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  RunRank("0", port.text(), PartOf);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(TextOf(muster_shutdown()), "ok: ");
}

// A thread in muster_recv from rank 0, which sends nothing.
class Receiver {
 public:
  Receiver(muster_comm* comm, Gate& stops_at)
      : thread_([this, comm, &stops_at] {
          gate = &stops_at;
          char byte = 0;
          result_ = TextOf(muster_recv(comm, &byte, 1, MUSTER_U8, 0, kDefault));
        }) {}
  std::string Join() {
    thread_.join();
    return result_;
  }

 private:
  std::string result_;
  std::thread thread_;
};

TEST(Shutdown, KeepsTheGroupForAPartWhoseCallDoesNotEnd) {
  InTwoRanks([](muster_comm*, muster_comm* part) {
    Gate stop;
    Receiver receiver(part, stop);
    stop.AwaitWaiting(1);
    EXPECT_EQ(TextOf(muster_shutdown()), "ok: ");
    stop.Open();
    EXPECT_EQ(receiver.Join(), "usage: Recv #1 u8[1]: this process has ended the communicator");
  });
}

TEST(Shutdown, HasOneTimeLimit) {
  InTwoRanks([](muster_comm* world, muster_comm* part) {
    Gate stop;
    Receiver of_part(part, stop);
    Receiver of_world(world, stop);
    stop.AwaitWaiting(2);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(TextOf(muster_shutdown()), "ok: ");
    EXPECT_LT(std::chrono::steady_clock::now() - began, kLimit);
    stop.Open();
    for (Receiver* receiver : {&of_part, &of_world})
      EXPECT_EQ(receiver->Join(), "usage: Recv #1 u8[1]: this process has ended the communicator");
  });
}

// Rank 0, which opens the journal, is stopped, so the call lasts until timeouts.collective.
TEST(Shutdown, HasItsTimeLimitWhileAMapBegins) {
  setenv("MUSTER_TIMEOUTS_COLLECTIVE", "10s", 1);
  InTwoRanks([](muster_comm* world, muster_comm*) {
    const pid_t rank_0 = getppid();
    ASSERT_EQ(kill(rank_0, SIGSTOP), 0);
    std::string result;
    std::promise<pid_t> begins;
    std::thread beginning([&] {
      muster_map_options options{};
      options.items = 1;
      options.slots = 1;
      muster_map* map = nullptr;
      begins.set_value(gettid());
      result = TextOf(muster_map_begin(world, &options, &map));
    });
    AwaitLongSleep(begins.get_future().get());
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(TextOf(muster_shutdown()), "ok: ");
    EXPECT_LT(std::chrono::steady_clock::now() - began, kLimit + std::chrono::seconds(2));
    beginning.join();
    EXPECT_EQ(kill(rank_0, SIGCONT), 0);
    EXPECT_EQ(result, "deadline: the group's root did not open the journal \"\" in time");
  });
  unsetenv("MUSTER_TIMEOUTS_COLLECTIVE");
}

// It is freed by muster_shutdown if its calls have ended by then.
TEST(CommFree, KeepsAPartWhoseCallDoesNotEnd) {
  for (const bool ends : {false, true}) {
    InTwoRanks([&](muster_comm*, muster_comm* part) {
      Gate stop;
      std::optional<Receiver> receiver(std::in_place, part, stop);
      stop.AwaitWaiting(1);
      muster_comm_free(part);
      const std::string expected = "usage: Recv #1 u8[1]: this process has ended the communicator";
      if (ends) {
        stop.Open();
        EXPECT_EQ(receiver->Join(), expected);
        receiver.reset();
      }
      EXPECT_EQ(TextOf(muster_shutdown()), "ok: ");
      stop.Open();
      if (!receiver) return;
      EXPECT_EQ(receiver->Join(), expected);
    });
  }
}

}  // namespace
