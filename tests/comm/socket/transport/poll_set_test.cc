#include "comm/socket/transport/poll_set.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vector>

namespace muster::socket {
namespace {

UniqueFd ReadyDescriptor() {
  UniqueFd fd(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  EXPECT_TRUE(fd);
  return fd;
}

// Whoever applies deadlines after Dispatch must not find a peer's bytes unread, however many peers there are.
TEST(PollSet, DispatchServesAllThatIsReady) {
  PollSet poll_set = *PollSet::Create();
  std::vector<UniqueFd> ready;
  std::vector<int> calls(300);
  for (size_t i = 0; i < calls.size(); ++i) {
    ready.push_back(ReadyDescriptor());
    ASSERT_TRUE(poll_set.Add(ready.back().get(), EPOLLIN, [&calls, i] { ++calls[i]; }));
  }
  poll_set.Dispatch();
  EXPECT_EQ(calls, std::vector<int>(calls.size(), 1));
}

TEST(PollSet, AHandlerMayRemoveWhatIsReadyAndAddMore) {
  PollSet poll_set = *PollSet::Create();
  const UniqueFd first = ReadyDescriptor();
  const UniqueFd second = ReadyDescriptor();
  const UniqueFd third = ReadyDescriptor();
  int called = 0;
  PollSet::Id ids[2] = {};
  const auto remove_both = [&] {
    ++called;
    poll_set.Remove(ids[0], first.get());
    poll_set.Remove(ids[1], second.get());
    EXPECT_TRUE(poll_set.Add(third.get(), EPOLLIN, [&] { called += 10; }));
  };
  ids[0] = *poll_set.Add(first.get(), EPOLLIN, remove_both);
  ids[1] = *poll_set.Add(second.get(), EPOLLIN, remove_both);
  poll_set.Dispatch();
  EXPECT_EQ(called, 1);
  poll_set.Dispatch();
  EXPECT_EQ(called, 11);
}

TEST(PollSet, WithNothingReadyDispatchReturns) {
  PollSet poll_set = *PollSet::Create();
  poll_set.Dispatch();
  const UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ASSERT_TRUE(poll_set.Add(fd.get(), EPOLLIN, [] { FAIL(); }));
  poll_set.Dispatch();
}

}  // namespace
}  // namespace muster::socket
