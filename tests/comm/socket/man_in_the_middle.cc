#include "tests/comm/socket/man_in_the_middle.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace muster::socket {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool SendAll(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

ManInTheMiddle::ManInTheMiddle(uint16_t target_port, Filter filter)
    : target_port_(target_port),
      filter_(std::move(filter)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(listener_.get(), 16), 0);
  EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

ManInTheMiddle::~ManInTheMiddle() {
  EXPECT_EQ(eventfd_write(stop_.get(), 1), 0);
  // A send that waits for its receiver ends with the connection.
  {
    const std::lock_guard lock(mutex_);
    for (const Pair& pair : pairs_) {
      shutdown(pair.near.get(), SHUT_RDWR);
      shutdown(pair.far.get(), SHUT_RDWR);
    }
  }
  thread_.join();
}

Bytes ManInTheMiddle::Seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

// One after the other: what waits for a slow receiver holds up the rest, which a test does not mind.
void ManInTheMiddle::Run() {
  for (;;) {
    std::vector<pollfd> polled = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    std::vector<Way*> ways;
    for (Pair& pair : pairs_) {
      for (Way* way : {&pair.up, &pair.down}) {
        if (!way->open) continue;
        polled.push_back({way->from, POLLIN, 0});
        ways.push_back(way);
      }
    }
    poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) return;
    for (size_t i = 0; i < ways.size(); ++i) {
      if (polled[i + 2].revents != 0) Pass(*ways[i]);
    }
    if (polled[1].revents != 0) Accept();
  }
}

void ManInTheMiddle::Accept() {
  UniqueFd near(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  UniqueFd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in target = Loopback(target_port_);
  if (!near || connect(far.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0) return;
  const int on = 1;
  for (const int fd : {near.get(), far.get()}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::lock_guard lock(mutex_);
  Pair& pair = pairs_.emplace_back();
  pair.up = {near.get(), far.get(), true};
  pair.down = {far.get(), near.get(), false};
  pair.near = std::move(near);
  pair.far = std::move(far);
}

void ManInTheMiddle::Pass(Way& way) {
  Bytes bytes(65536);
  const ssize_t got = recv(way.from, bytes.data(), bytes.size(), 0);
  if (got <= 0) {
    way.open = false;
    shutdown(way.to, SHUT_WR);
    return;
  }
  bytes.resize(static_cast<size_t>(got));
  {
    const std::lock_guard lock(mutex_);
    seen_.insert(seen_.end(), bytes.begin(), bytes.end());
  }
  Passing passing{way.up, way.offset};
  way.offset += bytes.size();
  filter_(passing, bytes);
  if (!SendAll(way.to, bytes)) way.open = false;
  if (passing.cut) {
    shutdown(way.from, SHUT_RDWR);
    shutdown(way.to, SHUT_RDWR);
    way.open = false;
  }
}

ManInTheMiddle::Filter Flip(bool up, uint64_t behind) {
  return [up, at = DataBegins(up) + behind](ManInTheMiddle::Passing& passing, Bytes& bytes) {
    if (passing.up != up || at < passing.offset || at >= passing.offset + bytes.size()) return;
    bytes[at - passing.offset] ^= 0x40;
  };
}

}  // namespace muster::socket
