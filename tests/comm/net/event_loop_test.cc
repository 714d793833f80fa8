#include "comm/net/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "tests/comm/net/test_loop.h"

namespace muster::net {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;

void WriteByte(const UniqueFd& fd) { ASSERT_EQ(write(fd.get(), "x", 1), 1); }

TEST(EventLoopTimers, FireInTheOrderOfTheirTimes) {
  TestLoop loop;
  std::vector<int> fired;
  const auto now = Clock::now();
  loop->At(now + milliseconds(2), [&] { fired.push_back(2); });
  loop->At(now + milliseconds(1), [&] { fired.push_back(1); });
  loop->At(now + milliseconds(2), [&] { fired.push_back(3); });
  ASSERT_TRUE(loop.Until([&] { return fired.size() == 3; }));
  EXPECT_THAT(fired, ElementsAre(1, 2, 3));
}

TEST(EventLoopTimers, DoNotFireEarlyNorAfterCancel) {
  TestLoop loop;
  bool late = false;
  bool cancelled = false;
  const auto before = Clock::now();
  loop->After(milliseconds(3), [&] { late = true; });
  loop->Cancel(loop->After(milliseconds(1), [&] { cancelled = true; }));
  ASSERT_TRUE(loop.Until([&] { return late; }));
  EXPECT_GE(Clock::now() - before, milliseconds(3));
  EXPECT_FALSE(cancelled);
  loop->Cancel({});
}

TEST(EventLoopTimers, AHandlerMayCancelAnotherAndItself) {
  TestLoop loop;
  bool other_fired = false;
  bool done = false;
  const auto now = Clock::now();
  EventLoop::TimerId other;
  EventLoop::TimerId self;
  self = loop->At(now, [&] {
    loop->Cancel(other);
    loop->Cancel(self);
  });
  other = loop->At(now, [&] { other_fired = true; });
  loop->At(now + milliseconds(1), [&] { done = true; });
  ASSERT_TRUE(loop.Until([&] { return done; }));
  EXPECT_FALSE(other_fired);
}

TEST(EventLoopTimers, AHandlerMayStartAnother) {
  TestLoop loop;
  int fired = 0;
  std::function<void()> again = [&] {
    if (++fired < 5) loop->After(Duration::zero(), again);
  };
  loop->After(Duration::zero(), again);
  ASSERT_TRUE(loop.Until([&] { return fired == 5; }));
}

TEST(EventLoopTimers, ATimerEndsWithItsOwnerAndWhenItIsSetAgain) {
  TestLoop loop;
  std::string fired;
  Timer again = loop->After(milliseconds(1), [&] { fired += "first "; });
  again = loop->After(milliseconds(1), [&] { fired += "second "; });
  Timer cancelled = loop->After(milliseconds(1), [&] { fired += "cancelled "; });
  cancelled.Cancel();
  EXPECT_FALSE(cancelled.pending());
  Timer moved;
  {
    const Timer dropped = loop->After(milliseconds(1), [&] { fired += "dropped "; });
    Timer from = loop->After(milliseconds(1), [&] { fired += "moved "; });
    moved = std::move(from);
    EXPECT_TRUE(moved.pending());
  }
  loop.For(milliseconds(3));
  EXPECT_EQ(fired, "second moved ");
  EXPECT_FALSE(moved.pending());
}

// Its handler may set it again, or destroy it with the object that owns it.
TEST(EventLoopTimers, ATimerIsNotPendingInItsHandler) {
  TestLoop loop;
  auto timer = std::make_unique<Timer>();
  int fired = 0;
  bool pending = true;
  std::function<void()> on_time = [&] {
    pending = timer->pending();
    if (++fired == 3) return timer.reset();
    *timer = loop->After(Duration::zero(), on_time);
  };
  *timer = loop->After(Duration::zero(), on_time);
  EXPECT_TRUE(timer->pending());
  ASSERT_TRUE(loop.Until([&] { return timer == nullptr; }));
  EXPECT_FALSE(pending);
  EXPECT_EQ(fired, 3);
}

TEST(EventLoopTimers, AHandlerMayOwnATimerAtTheEndOfTheLoop) {
  auto loop = *EventLoop::Create();
  auto owned = std::make_shared<Timer>(loop->After(hours(1), [] {}));
  const std::weak_ptr<Timer> timer = owned;
  loop->After(hours(2), [owned = std::move(owned)] {});
  EXPECT_FALSE(timer.expired());
  loop.reset();
  EXPECT_TRUE(timer.expired());
}

TEST(EventLoopTimers, ADelayBeyondTheClockNeverFires) {
  TestLoop loop;
  bool fired = false;
  loop->After(Duration::max(), [&] { fired = true; });
  loop->After(hours(24 * 365 * 100), [&] { fired = true; });
  loop.For(milliseconds(2));
  EXPECT_FALSE(fired);
}

TEST(EventLoop, RunUntilEndsAtItsDeadline) {
  TestLoop loop;
  EXPECT_FALSE(loop->RunUntil([] { return false; }, Deadline::After(milliseconds(2))));
  EXPECT_TRUE(loop->RunUntil([] { return true; }, Deadline::After(-hours(1))));
}

TEST(EventLoopWatch, TellsWhatIsReadyUntilForgotten) {
  TestLoop loop;
  auto [near, far] = SocketPair();
  int calls = 0;
  ASSERT_TRUE(loop->Watch(near.get(), EPOLLIN, [&](uint32_t events) {
    EXPECT_EQ(events, static_cast<uint32_t>(EPOLLIN));
    ++calls;
  }));
  loop.Settle();
  EXPECT_EQ(calls, 0);
  WriteByte(far);
  ASSERT_TRUE(loop.Until([&] { return calls >= 2; }));  // level-triggered
  loop->Change(near.get(), 0);
  calls = 0;
  loop.Settle();
  EXPECT_EQ(calls, 0);
  loop->Change(near.get(), EPOLLIN);
  ASSERT_TRUE(loop.Until([&] { return calls >= 1; }));
  loop->Forget(near.get());
  calls = 0;
  loop.Settle();
  EXPECT_EQ(calls, 0);
}

TEST(EventLoopWatch, AHandlerMayForgetItself) {
  TestLoop loop;
  auto [near, far] = SocketPair();
  int calls = 0;
  const auto guard = std::make_shared<int>(7);
  const int fd = near.get();
  ASSERT_TRUE(loop->Watch(fd, EPOLLIN, [&calls, &loop, fd, guard](uint32_t) {
    loop->Forget(fd);
    // The handler itself must outlive its own removal.
    calls += *guard;
  }));
  WriteByte(far);
  loop.Settle();
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(guard.use_count(), 1);
}

TEST(EventLoopWatch, AHandlerMayForgetAnotherThatIsReadyInTheSameRound) {
  TestLoop loop;
  auto [a, a_far] = SocketPair();
  auto [b, b_far] = SocketPair();
  std::vector<char> called;
  ASSERT_TRUE(loop->Watch(a.get(), EPOLLIN, [&, fd = b.get()](uint32_t) {
    called.push_back('a');
    loop->Forget(fd);
  }));
  ASSERT_TRUE(loop->Watch(b.get(), EPOLLIN, [&, fd = a.get()](uint32_t) {
    called.push_back('b');
    loop->Forget(fd);
  }));
  WriteByte(a_far);
  WriteByte(b_far);
  loop->RunOnce(Deadline::After(milliseconds(1)));
  EXPECT_EQ(called.size(), 1u);
}

// The caller applies deadlines after it, and must not find a peer's bytes unread, however many peers there are.
TEST(EventLoopRunReady, CallsEveryHandlerThatIsReadyOnce) {
  TestLoop loop;
  std::vector<UniqueFd> ready;
  std::vector<int> calls(300);
  for (size_t i = 0; i < calls.size(); ++i) {
    ready.emplace_back(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    ASSERT_TRUE(loop->Watch(ready.back().get(), EPOLLIN, [&calls, i](uint32_t) { ++calls[i]; }));
  }
  pollfd entry{loop->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 1);
  loop->RunReady();
  EXPECT_EQ(calls, std::vector<int>(calls.size(), 1));
}

TEST(EventLoopRunReady, ReturnsIfNothingIsReady) {
  TestLoop loop;
  auto [near, far] = SocketPair();
  ASSERT_TRUE(loop->Watch(near.get(), EPOLLIN, [](uint32_t) { FAIL(); }));
  pollfd entry{loop->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  loop->RunReady();
}

TEST(EventLoopRunReady, CallsDueTimersAndPostedWork) {
  TestLoop loop;
  int called = 0;
  loop->After(Duration::zero(), [&] { called += 1; });
  loop->Post([&] { called += 10; });
  loop->RunReady();
  EXPECT_EQ(called, 11);
}

TEST(EventLoopRunReady, AHandlerMayForgetWhatIsReadyAndWatchMore) {
  TestLoop loop;
  UniqueFd ready[3];
  for (UniqueFd& fd : ready) fd.Reset(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  int called = 0;
  const auto forget_both = [&](uint32_t) {
    ++called;
    loop->Forget(ready[0].get());
    loop->Forget(ready[1].get());
    EXPECT_TRUE(loop->Watch(ready[2].get(), EPOLLIN, [&](uint32_t) { called += 10; }));
  };
  ASSERT_TRUE(loop->Watch(ready[0].get(), EPOLLIN, forget_both));
  ASSERT_TRUE(loop->Watch(ready[1].get(), EPOLLIN, forget_both));
  loop->RunReady();
  EXPECT_EQ(called, 1);
  loop->RunReady();
  EXPECT_EQ(called, 11);
}

TEST(EventLoopWatch, AnEventIsNotForTheNextOwnerOfADescriptor) {
  TestLoop loop;
  // Clang 14 captures no structured bindings.
  auto pair_a = SocketPair();
  auto pair_b = SocketPair();
  auto pair_fresh = SocketPair();
  int wrong = 0;
  int rounds = 0;
  // The callback that runs first replaces the other one's descriptor by an idle one of the same number.
  const auto replace = [&](UniqueFd& victim) {
    if (rounds++ > 0) return;
    const int number = victim.get();
    loop->Forget(number);
    ASSERT_EQ(dup2(pair_fresh.first.get(), number), number);
    ASSERT_TRUE(loop->Watch(number, EPOLLIN, [&](uint32_t) { ++wrong; }));
  };
  ASSERT_TRUE(loop->Watch(pair_a.first.get(), EPOLLIN, [&](uint32_t) { replace(pair_b.first); }));
  ASSERT_TRUE(loop->Watch(pair_b.first.get(), EPOLLIN, [&](uint32_t) { replace(pair_a.first); }));
  WriteByte(pair_a.second);
  WriteByte(pair_b.second);
  loop->RunOnce(Deadline::After(milliseconds(1)));
  EXPECT_EQ(rounds, 1);
  EXPECT_EQ(wrong, 0);
}

TEST(EventLoopWatch, WatchingAgainReplacesTheHandler) {
  TestLoop loop;
  auto [near, far] = SocketPair();
  bool first = false;
  bool second = false;
  ASSERT_TRUE(loop->Watch(near.get(), EPOLLIN, [&](uint32_t) { first = true; }));
  ASSERT_TRUE(loop->Watch(near.get(), EPOLLIN, [&](uint32_t) { second = true; }));
  WriteByte(far);
  ASSERT_TRUE(loop.Until([&] { return second; }));
  EXPECT_FALSE(first);
}

TEST(EventLoopWatch, ABadDescriptorIsAnError) {
  TestLoop loop;
  const Status watched = loop->Watch(-1, EPOLLIN, [](uint32_t) {});
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error(), (Error{Code::kSystem, "cannot watch descriptor -1: Bad file descriptor", ""}));
}

TEST(EventLoopPost, RunsOnTheLoopInOrder) {
  TestLoop loop;
  std::vector<int> ran;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) loop->Post([&ran, i] { ran.push_back(i); });
  });
  ASSERT_TRUE(loop.Until([&] { return ran.size() == 100; }));
  other.join();
  EXPECT_TRUE(std::ranges::is_sorted(ran));
}

TEST(EventLoopPost, WorkMayPostMore) {
  TestLoop loop;
  int ran = 0;
  std::function<void()> work = [&] {
    if (++ran < 3) loop->Post(work);
  };
  loop->Post(work);
  ASSERT_TRUE(loop.Until([&] { return ran == 3; }));
}

TEST(EventLoopPost, MoreThanAnyPosterMayPostEndsTheProcess) {
  const auto loop = *EventLoop::Create();
  EXPECT_EXIT(
      {
        for (int i = 0; i <= 1 << 18; ++i) loop->Post([] {});
        _exit(0);
      },
      testing::KilledBySignal(SIGABRT), "262144 messages wait for its event loop");
}

TEST(EventLoopPost, WhatIsPostedToALoopThatIsGoneIsDropped) {
  TestLoop loop;
  const std::shared_ptr<Mailbox> mailbox = loop->mailbox();
  const auto before = std::make_shared<int>(1);
  const auto after = std::make_shared<int>(1);
  loop->Post([before] { FAIL(); });
  loop.Destroy();
  EXPECT_EQ(before.use_count(), 1);
  mailbox->Post([after] { FAIL(); });
  EXPECT_EQ(after.use_count(), 1);
}

TEST(EventLoopPost, WhatIsDroppedMayPostInItsDestructor) {
  struct PostsAtTheEnd {
    std::shared_ptr<Mailbox> mailbox;
    ~PostsAtTheEnd() {
      mailbox->Post([] {});
    }
  };
  TestLoop loop;
  loop->Post([last = std::make_shared<PostsAtTheEnd>(PostsAtTheEnd{loop->mailbox()})] {});
  loop.Destroy();
}

TEST(EventLoop, LeavesNoDescriptorBehind) {
  const auto before = OpenDescriptors();
  {
    TestLoop loop;
    auto [near, far] = SocketPair();
    ASSERT_TRUE(loop->Watch(near.get(), EPOLLIN, [](uint32_t) {}));
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace muster::net
