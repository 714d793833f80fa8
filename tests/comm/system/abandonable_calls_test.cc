#include "comm/system/abandonable_calls.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>

namespace muster {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
Deadline Now() { return Deadline::After(std::chrono::milliseconds(10)); }

TEST(AbandonableCalls, WaitsForACallThatComesBack) {
  AbandonableCalls calls;
  const auto done = std::make_shared<int>(0);
  EXPECT_TRUE(calls.Run([done] { *done = 1; }, Soon()));
  EXPECT_EQ(*done, 1);
  calls.Start([done] { *done = 2; });
  EXPECT_TRUE(calls.WaitForAll(Soon()));
  EXPECT_EQ(*done, 2);
}

TEST(AbandonableCalls, LeavesACallBehindAndStartsNoOtherBesideIt) {
  const auto gate = std::make_shared<std::promise<void>>();
  const auto opened = gate->get_future().share();
  const auto count = std::make_shared<std::atomic<int>>(0);
  AbandonableCalls calls;
  EXPECT_FALSE(calls.Run(
      [opened, count] {
        opened.wait();
        ++*count;
      },
      Now()));
  EXPECT_FALSE(calls.Run([count] { ++*count; }, Now()));
  EXPECT_FALSE(calls.WaitForAll(Now()));
  gate->set_value();
  EXPECT_TRUE(calls.Run([count] { ++*count; }, Soon()));
  EXPECT_EQ(*count, 2);
}

TEST(AbandonableCalls, AreNotForSignals) {
  AbandonableCalls calls;
  const auto blocked = std::make_shared<bool>(false);
  ASSERT_TRUE(calls.Run(
      [blocked] {
        sigset_t set;
        pthread_sigmask(SIG_SETMASK, nullptr, &set);
        *blocked = sigismember(&set, SIGTERM) == 1 && sigismember(&set, SIGCHLD) == 1;
      },
      Soon()));
  EXPECT_TRUE(*blocked);
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  EXPECT_EQ(sigismember(&ours, SIGTERM), 0);
}

}  // namespace
}  // namespace muster
