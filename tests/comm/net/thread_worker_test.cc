#include "comm/net/thread_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/comm/net/test_loop.h"

namespace muster::net {
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

// A worker whose thread is held in its first job until Go.
class HeldThreadWorker : public testing::Test {
 protected:
  HeldThreadWorker() : worker(loop->mailbox()) {
    const auto started = std::make_shared<std::promise<void>>();
    worker.Run(
        [started, wait = std::make_shared<std::future<void>>(go->get_future())] {
          started->set_value();
          wait->wait();
        },
        [] {});
    started->get_future().wait();
  }
  BlockingWorker::Pending Submit(const std::string& source, int number) {
    return worker.RunFor(
        &source, [worked = worked, number] { worked->push_back(number); }, [this] { ++answered; });
  }
  void Go() { go->set_value(); }

  TestLoop loop;
  const std::shared_ptr<std::promise<void>> go = std::make_shared<std::promise<void>>();
  const std::shared_ptr<std::vector<int>> worked = std::make_shared<std::vector<int>>();
  int answered = 0;
  ThreadWorker worker;
};

TEST_F(HeldThreadWorker, SourcesAreServedInTurn) {
  std::vector<BlockingWorker::Pending> pending;
  for (int i = 0; i < 5; ++i) pending.push_back(Submit("a flood", i));
  pending.push_back(Submit("a leader", 10));
  pending.push_back(Submit("another leader", 20));
  pending.push_back(Submit("a leader", 11));
  Go();
  ASSERT_TRUE(loop.Until([&] { return answered == 8; }));
  EXPECT_THAT(*worked, ElementsAre(0, 10, 20, 1, 11, 2, 3, 4));
}

TEST_F(HeldThreadWorker, WhatNobodyWaitsForIsNotDone) {
  auto first = Submit("one", 1);
  auto second = Submit("one", 2);
  auto third = Submit("other", 3);
  first.reset();
  third.reset();
  Go();
  ASSERT_TRUE(loop.Until([&] { return answered == 1; }));
  loop.Settle();
  EXPECT_THAT(*worked, ElementsAre(2));
  second.reset();  // done long ago
  EXPECT_EQ(answered, 1);
}

TEST(ThreadWorker, AJobMayBeCancelledAfterTheWorkerHasGone) {
  TestLoop loop;
  BlockingWorker::Pending pending;
  {
    ThreadWorker worker(loop->mailbox());
    const std::string source = "a source";
    pending = worker.RunFor(
        &source, [] {}, [] {});
  }
  pending.reset();
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
}  // namespace muster::net
