#include "comm/net/thread_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/comm/net/test_loop.h"

namespace muster {
namespace {

using testing::ElementsAre;

TEST(ThreadWorker, WorksElsewhereAndAnswersOnTheLoop) {
  TestLoop loop;
  ThreadWorker worker(loop->mailbox());
  const auto worked_on = std::make_shared<std::thread::id>();
  std::thread::id answered_on;
  worker.Run([worked_on] { *worked_on = std::this_thread::get_id(); },
             [&answered_on] { answered_on = std::this_thread::get_id(); });
  ASSERT_TRUE(loop.Until([&] { return answered_on != std::thread::id(); }));
  EXPECT_EQ(answered_on, std::this_thread::get_id());
  EXPECT_NE(*worked_on, std::this_thread::get_id());
}

TEST(ThreadWorker, JobsRunOneAfterTheOther) {
  TestLoop loop;
  ThreadWorker worker(loop->mailbox());
  const auto worked = std::make_shared<std::vector<int>>();
  std::vector<int> answered;
  for (int i = 0; i < 4; ++i) {
    worker.Run([worked, i] { worked->push_back(i); }, [&answered, i] { answered.push_back(i); });
  }
  ASSERT_TRUE(loop.Until([&] { return answered.size() == 4; }));
  EXPECT_THAT(*worked, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(answered, ElementsAre(0, 1, 2, 3));
}

TEST(ThreadWorker, AJobThatHangsIsLeftBehindAndItsAnswerDropped) {
  TestLoop loop;
  const auto release = std::make_shared<std::promise<void>>();
  const auto finished = std::make_shared<std::promise<void>>();
  {
    ThreadWorker worker(loop->mailbox());
    const auto started = std::make_shared<std::promise<void>>();
    worker.Run(
        [started, wait = std::make_shared<std::future<void>>(release->get_future()), finished] {
          started->set_value();
          wait->wait();
          finished->set_value();
        },
        [] { FAIL() << "nobody waits for it any more"; });
    started->get_future().wait();
  }
  release->set_value();
  finished->get_future().wait();
  loop.Settle();
}

TEST(ThreadWorker, AnAnswerUnderWayIsDroppedWithTheWorker) {
  TestLoop loop;
  auto worker = std::make_unique<ThreadWorker>(loop->mailbox());
  const auto second_runs = std::make_shared<std::promise<void>>();
  worker->Run([] {}, [] { FAIL() << "its owner is gone"; });
  // When the second job runs, the first one's answer lies in the mailbox.
  worker->Run([second_runs] { second_runs->set_value(); }, [] { FAIL() << "its owner is gone"; });
  second_runs->get_future().wait();
  worker.reset();
  loop.Settle();
}

TEST(ThreadWorker, MayOutliveTheLoop) {
  TestLoop loop;
  ThreadWorker worker(loop->mailbox());
  loop.Destroy();
  const auto ran = std::make_shared<std::promise<void>>();
  worker.Run([ran] { ran->set_value(); }, [] { FAIL(); });
  ran->get_future().wait();
}

}  // namespace
}  // namespace muster
