// The cost of the kernel's copying alone in an AllReduce over TCP: bare_exchange BYTES:ITERATIONS... Two
// processes send each other this number of bytes over loopback together, as two ranks do in all, and add
// nothing up. Prints the same as all_reduce_times.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace muster::bench {
namespace {

// comm/socket's own (connection.h); measured here as well.
constexpr size_t kTurnBytes = size_t{256} * 1024;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Both ends of a loopback connection.
std::array<int, 2> Connected() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, name, length) != 0 || listen(listener, 1) != 0) Die("listen");
  getsockname(listener, name, &length);
  const int near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(near, name, length) != 0) Die("connect");
  const int far = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (far < 0) Die("accept");
  close(listener);
  const int one = 1;
  for (const int fd : {near, far}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return {near, far};
}

// Counts what moved; a peer that is gone ends this process as well.
bool Moved(ssize_t bytes, size_t& done) {
  if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) Die("the connection");
  if (bytes > 0) done += static_cast<size_t>(bytes);
  return bytes > 0;
}

void ExchangeOnce(int fd, const std::vector<char>& out, std::vector<char>& in) {
  size_t sent = 0;
  size_t got = 0;
  while (sent < out.size() || got < in.size()) {
    bool moved = false;
    if (got < in.size()) {
      moved = Moved(recv(fd, in.data() + got, std::min(kTurnBytes, in.size() - got), MSG_DONTWAIT), got);
    }
    if (sent < out.size()) {
      const size_t turn = std::min(kTurnBytes, out.size() - sent);
      moved = Moved(send(fd, out.data() + sent, turn, MSG_DONTWAIT | MSG_NOSIGNAL), sent) || moved;
    }
    if (moved) continue;
    pollfd wait{fd, static_cast<short>((sent < out.size() ? POLLOUT : 0) | (got < in.size() ? POLLIN : 0)),
                0};
    poll(&wait, 1, 1000);
  }
}

void Measure(int fd, size_t bytes, int iterations, bool prints) {
  const std::vector<char> out(bytes, 1);
  std::vector<char> in(bytes, 2);
  ExchangeOnce(fd, out, in);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) ExchangeOnce(fd, out, in);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (prints) std::printf("%zu %.3f\n", bytes, took.count() / iterations);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const std::array<int, 2> ends = muster::bench::Connected();
  const pid_t child = fork();
  const int fd = ends[child == 0 ? 1 : 0];
  close(ends[child == 0 ? 0 : 1]);
  for (int i = 1; i < argc; ++i) {
    size_t bytes = 0;
    int iterations = 0;
    if (std::sscanf(argv[i], "%zu:%d", &bytes, &iterations) != 2 || bytes == 0 || iterations < 1) {
      std::fprintf(stderr, "bare_exchange BYTES:ITERATIONS...\n");
      return 64;
    }
    muster::bench::Measure(fd, bytes, iterations, child != 0);
  }
  std::fflush(stdout);
  if (child == 0) _exit(0);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
