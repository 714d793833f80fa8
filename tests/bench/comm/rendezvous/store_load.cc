// A load on a store: N connections in one thread, each with one round trip under way at any time.
//
//   store_load PORT SERVER_PID CONNECTIONS SECONDS OPERATION [STALLED]
//
// OPERATION: add (25 bytes up, 8 down), setget (what PyTorch's client does for set and get of 64 bytes: SET
// without an answer, WAIT, GET; counted as two), echo (25 bytes up, the same down). STALLED: as many more
// connections, half of which stop in the middle of a request, half of which ask for megabytes and never read.
//
// Prints: operations a second, median and 99th percentile of a round in us, CPU of the server in us an
// operation.
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/parse.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/tcp_store/request.h"

namespace muster {
namespace {

using tcp_store::Encode;
using tcp_store::Operation;
using tcp_store::Request;

constexpr auto kWarmUp = std::chrono::milliseconds(300);
constexpr size_t kValue = 64;
constexpr size_t kLargeValue = size_t{4} << 20;

[[noreturn]] void Die(const std::string& why) {
  fmt::print(stderr, "store_load: {}\n", why);
  std::exit(1);
}

struct Options {
  uint16_t port = 0;
  pid_t server = 0;
  int connections = 1;
  int seconds = 1;
  std::string operation;
  int stalled = 0;
};

// One round: the bytes to send, and the number of bytes that come back before the next part is sent.
struct Part {
  Bytes request;
  size_t answer = 0;
};

struct Connection {
  UniqueFd fd;
  std::vector<Part> parts;
  size_t part = 0;
  size_t received = 0;
  size_t rounds = 0;
  Clock::time_point start;
};

UniqueFd Dial(uint16_t port) {
  Result<UniqueFd> fd = net::StartConnect(*net::SocketAddress::FromNumeric("127.0.0.1", port));
  if (!fd) Die(fd.error().message);
  return *std::move(fd);
}

void SendAll(int fd, const Bytes& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<size_t>(count);
    if (count < 0 && errno != EAGAIN) Die(ErrnoText(errno));
  }
}

Bytes Encoded(const Request& request) {
  Bytes bytes;
  Encode(request, bytes);
  return bytes;
}

std::vector<Part> PartsOf(const std::string& operation, int connection) {
  const std::string key = fmt::format("/{}{:06}", operation[0], connection);
  const Bytes add = Encoded({Operation::kAdd, {key}, 1});
  if (operation == "add") return {{add, 8}};
  if (operation == "echo") return {{add, add.size()}};
  if (operation != "setget") Die("no operation " + operation);
  const std::string value(kValue, 'v');
  Bytes set_and_wait = Encoded({Operation::kSet, {key, value}});
  Encode({Operation::kWait, {key}}, set_and_wait);
  return {{set_and_wait, 1}, {Encoded({Operation::kGet, {key}}), 8 + kValue}};
}

class Load {
 public:
  explicit Load(const Options& options) : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (int i = 0; i < options.connections; ++i) Open(i);
    for (int i = 0; i < options.stalled; ++i) Stall(i);
  }

  void Run() {
    for (Connection& connection : connections_) Begin(connection);
    // PyTorch's server looks up the name of each client: until it is through with that nothing is measured.
    while (RoundsOfSlowest() == 0) Spin(Clock::now() + kWarmUp);
    Spin(Clock::now() + kWarmUp);
    latencies_.clear();
    const double cpu_before = ServerCpu();
    const auto start = Clock::now();
    Spin(start + std::chrono::seconds(options_.seconds));
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    Report(elapsed, ServerCpu() - cpu_before);
  }

 private:
  void Open(int number) {
    Connection& connection = connections_.emplace_back();
    connection.fd = Dial(options_.port);
    WaitWritable(connection.fd.get());
    connection.parts = PartsOf(options_.operation, number);
    if (options_.operation != "echo") {
      SendAll(connection.fd.get(), Encoded({Operation::kValidate, {}, tcp_store::kValidationNumber}));
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = connections_.size() - 1;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.fd.get(), &event);
  }

  void Stall(int number) {
    stalled_.push_back(Dial(options_.port));
    const int fd = stalled_.back().get();
    WaitWritable(fd);
    SendAll(fd, Encoded({Operation::kValidate, {}, tcp_store::kValidationNumber}));
    const std::string value(kLargeValue, 'x');
    const Bytes set = Encoded({Operation::kSet, {"/large", value}});
    if (number % 2 == 0) return SendAll(fd, Bytes(set.begin(), set.begin() + 1000));
    SendAll(fd, set);
    for (int i = 0; i < 100; ++i) SendAll(fd, Encoded({Operation::kGet, {"/large"}}));
  }

  static void WaitWritable(int fd) {
    while (net::ConnectError(fd) == 0) {
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0) return;
    }
    Die("cannot connect");
  }

  void Begin(Connection& connection) {
    connection.part = 0;
    connection.received = 0;
    connection.start = Clock::now();
    SendAll(connection.fd.get(), connection.parts[0].request);
  }

  void Spin(Clock::time_point end) {
    std::array<epoll_event, 256> events{};
    while (Clock::now() < end) {
      const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 30000);
      if (count == 0) Die("no answer for half a minute");
      for (int i = 0; i < count; ++i) Receive(connections_[events[static_cast<size_t>(i)].data.u64]);
    }
  }

  void Receive(Connection& connection) {
    std::array<uint8_t, 4096> bytes;
    const ssize_t count = recv(connection.fd.get(), bytes.data(), bytes.size(), 0);
    if (count <= 0) Die("the store closed a connection");
    connection.received += static_cast<size_t>(count);
    if (connection.received < connection.parts[connection.part].answer) return;
    connection.received = 0;
    if (++connection.part < connection.parts.size()) {
      return SendAll(connection.fd.get(), connection.parts[connection.part].request);
    }
    latencies_.push_back(std::chrono::duration<float, std::micro>(Clock::now() - connection.start).count());
    ++connection.rounds;
    Begin(connection);
  }

  size_t RoundsOfSlowest() const {
    return std::ranges::min_element(connections_, {}, &Connection::rounds)->rounds;
  }

  double ServerCpu() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(options_.server, &clock) != 0 || clock_gettime(clock, &time) != 0)
      Die("no such server");
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  void Report(double elapsed, double cpu) {
    const auto percentile = [&](double part) {
      const auto at =
          latencies_.begin() + static_cast<ptrdiff_t>(part * static_cast<double>(latencies_.size() - 1));
      std::nth_element(latencies_.begin(), at, latencies_.end());
      return *at;
    };
    const double operations =
        static_cast<double>(latencies_.size()) * (options_.operation == "setget" ? 2 : 1);
    fmt::print("{:.0f} {:.2f} {:.2f} {:.3f}\n", operations / elapsed, percentile(0.5), percentile(0.99),
               1e6 * cpu / operations);
  }

  const Options options_;
  UniqueFd epoll_;
  std::vector<Connection> connections_;
  std::vector<UniqueFd> stalled_;
  std::vector<float> latencies_;
};

int Main(const std::vector<std::string>& words) {
  if (words.size() < 5) Die("store_load PORT SERVER_PID CONNECTIONS SECONDS OPERATION [STALLED]");
  const auto number = [&](size_t i) { return ParseInteger<int>(words[i]).value_or(0); };
  Options options{static_cast<uint16_t>(number(0)), number(1), number(2), number(3), words[4], 0};
  if (words.size() > 5) options.stalled = number(5);
  Load(options).Run();
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return muster::Main({argv + 1, argv + argc}); }
