// An EventLoop for tests: whatever is waited for happens within ten seconds, or the test fails.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "comm/net/event_loop.h"
#include "comm/net/socket.h"
#include "tests/comm/base/print_error.h"

namespace muster::net {

class TestLoop {
 public:
  TestLoop() : loop_(*EventLoop::Create()) {}

  EventLoop& operator*() { return *loop_; }
  EventLoop* operator->() { return loop_.get(); }
  void Destroy() { loop_.reset(); }

  // False, and a failure of the test, where it does not come about.
  [[nodiscard]] bool Until(const std::function<bool()>& done) {
    const bool came = loop_->RunUntil(done, Deadline::After(std::chrono::seconds(10)));
    EXPECT_TRUE(came) << "nothing happened for ten seconds";
    return came;
  }
  // For what must not happen: everything that is due is done, and `span` passes.
  void For(Duration span) {
    bool over = false;
    loop_->After(span, [&over] { over = true; });
    loop_->RunUntil([&over] { return over; }, Deadline::After(span + std::chrono::seconds(10)));
    Settle();  // after a span in which this process has not run
  }
  // The events that are ready now, and those that follow from them without a wait.
  void Settle() {
    for (int round = 0; round < 20; ++round) loop_->RunOnce(Deadline::After(Duration::zero()));
  }

 private:
  std::unique_ptr<EventLoop> loop_;
};

inline std::pair<UniqueFd, UniqueFd> SocketPair() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Of loopback. The first end takes 100 kB at least without a wait, of which the second receives a few at a time.
inline std::pair<UniqueFd, UniqueFd> TcpPairWithALongQueue() {
  const auto listener = Listen(*SocketAddress::FromNumeric("127.0.0.1", 0));
  EXPECT_TRUE(listener);
  const int few = 4096;
  EXPECT_EQ(setsockopt(listener->get(), SOL_SOCKET, SO_RCVBUF, &few, sizeof few), 0);
  const sockaddr_in address{
      AF_INET, htons(LocalAddress(listener->get()).port()), {htonl(INADDR_LOOPBACK)}, {}};
  UniqueFd first(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(first.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  UniqueFd second(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  EXPECT_TRUE(second);
  const int many = 200000;
  EXPECT_EQ(setsockopt(first.get(), SOL_SOCKET, SO_SNDBUF, &many, sizeof many), 0);
  EXPECT_EQ(fcntl(first.get(), F_SETFL, O_NONBLOCK), 0);
  return {std::move(first), std::move(second)};
}

// Sockets with a port of their own that do not listen: a listener may share it, and the kernel gives it to no other process.
inline const std::array<UniqueFd, 32>& BoundSockets() {
  static const auto sockets = [] {
    std::array<UniqueFd, 32> bound;
    for (UniqueFd& fd : bound) {
      fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int one = 1;
      EXPECT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
      const SocketAddress any = SocketAddress::AnyIpv4(0);
      EXPECT_EQ(bind(fd.get(), any.get(), any.length()), 0);
    }
    return bound;
  }();
  return sockets;
}

// A TCP port without a listener, which refuses connections until the test listens there. After 32 others it comes again.
inline uint16_t FreePort() {
  static std::atomic<size_t> given = 0;
  return LocalAddress(BoundSockets()[given++ % BoundSockets().size()].get()).port();
}

// To see that a test leaves none behind.
inline std::ptrdiff_t OpenDescriptors() {
  BoundSockets();
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

}  // namespace muster::net
