// The floor for a store: sends back what it receives, from one thread with epoll and nothing else.
//
//   store_echo        prints its port; ends with its standard input
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

void Watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int ListenOnLoopback() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, raw, length) != 0 || listen(fd, SOMAXCONN) != 0 || getsockname(fd, raw, &length) != 0)
    std::exit(1);
  fmt::print("{}\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return fd;
}

void AcceptOne(int epoll, int listener) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  if (fd < 0) return;
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  Watch(epoll, fd);
}

void Echo(int fd) {
  std::array<uint8_t, 4096> bytes;
  const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
  if (count > 0) {
    [[maybe_unused]] const ssize_t sent = send(fd, bytes.data(), static_cast<size_t>(count), MSG_NOSIGNAL);
  } else {
    close(fd);
  }
}

}  // namespace

int main() {
  const int epoll = epoll_create1(0);
  const int listener = ListenOnLoopback();
  Watch(epoll, listener);
  Watch(epoll, STDIN_FILENO);
  std::array<epoll_event, 256> events{};
  while (true) {
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd == STDIN_FILENO) return 0;
      if (fd == listener) {
        AcceptOne(epoll, listener);
      } else {
        Echo(fd);
      }
    }
  }
}
