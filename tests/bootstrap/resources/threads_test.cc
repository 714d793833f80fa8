#include "bootstrap/resources/threads.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr config::RunThreads kAuto;
constexpr config::RunThreads kNone{config::RunThreads::Choice::kNone, 0};

TEST(Threads, AreAShareOfTheCpus) {
  // muster launch -n 4, or four tasks that are not bound.
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64, .sharers = 4, .local_ranks = 4}), 16);
  // Each of four tasks has CPUs of its own.
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 16, .sharers = 1, .local_ranks = 4}), 16);
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 2, .sharers = 8, .local_ranks = 8}), 1);
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 0, .sharers = 8, .local_ranks = 8}), 1);
}

TEST(Threads, AreNoMoreThanTheTaskWasGiven) {
  // srun -c 8 on nodes of 64 CPUs without task affinity, two tasks each.
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64, .sharers = 2, .local_ranks = 2, .cpus_per_task = 8}), 8);
  // srun -c 16 muster run --nproc-per-node 4
  EXPECT_EQ(ThreadsOf(kAuto,
                      {.cpus = 16, .sharers = 4, .local_ranks = 4, .cpus_per_task = 16, .ranks_per_task = 4}),
            4);
  // sbatch -n 4 -c 4 --wrap 'muster launch -n 4 ...'
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 16, .sharers = 4, .local_ranks = 4, .cpus_per_task = 4}), 4);
  // sbatch -c 16, and the step got one.
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 1, .local_ranks = 4, .cpus_per_task = 16}), 1);
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 0, .local_ranks = 4, .cpus_per_task = 16}), 16);
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64, .cpus_per_task = 16}), 16);
}

TEST(Threads, LeaveTheCpusOfOtherJobs) {
  // srun -n 4, one CPU each, without task affinity.
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64, .sharers = 4, .local_ranks = 4, .cpus_of_job = 4}), 1);
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64, .cpus_of_job = 8}), 8);
  // Tasks that are bound have CPUs of their own.
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 4, .sharers = 1, .local_ranks = 2, .cpus_of_job = 6}), 4);
}

TEST(Threads, AreTheLibrarysOwnIfARankHasItsNodeToItself) {
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64}), std::nullopt);
  EXPECT_EQ(ThreadsOf(kAuto, {.cpus = 64, .cpus_of_job = 64}), std::nullopt);
}

TEST(Threads, AreAsTheUserSays) {
  const ThreadFacts facts{.cpus = 64, .sharers = 4, .local_ranks = 4, .cpus_per_task = 8};
  EXPECT_EQ(ThreadsOf(kNone, facts), std::nullopt);
  EXPECT_EQ(ThreadsOf({config::RunThreads::Choice::kCount, 7}, facts), 7);
  EXPECT_EQ(ThreadsOf({config::RunThreads::Choice::kCount, 7}, {.cpus = 64}), 7);
}

TEST(Threads, UseTheCpusOfThisProcess) { EXPECT_GT(UsableCpus(), 0); }

}  // namespace
}  // namespace muster
