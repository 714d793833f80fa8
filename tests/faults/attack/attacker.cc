// A program of another user that connects to listeners at full rate, and a listener of its own to compare with.
//
//   attacker ATTACK SECONDS HELLO TARGET...    ATTACK: close, hold, reset, half, hello, hello-hold, sources, garbage, flood
//   attacker serve PORT                        prints a TARGET a line, then accepts, reads and closes
//
// HELLO: the listener's first message in hexadecimal. TARGET: tcp:ADDRESS:PORT, unix:NAME or dgram:NAME, NAME in
// hexadecimal (an abstract name begins with 00). Ends when its standard input does, after SECONDS (120 at
// most) or kMostAttempts attempts, and prints what it has done. `flood` is for datagrams. `sources` is hello-hold,
// each connection from another address of loopback.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/parse.h"
#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"

namespace muster {
namespace {

constexpr uint64_t kMostAttempts = 50'000'000;
constexpr int kMostSeconds = 120;
// Connections that are being made, or that this side closes as soon as they are made.
constexpr size_t kInFlight = 256;
// Connections that stay open.
constexpr size_t kHeld = 4000;
constexpr size_t kPerRound = 64;
constexpr size_t kGarbageBytes = 4096;
constexpr Duration kGivenUpAfter = std::chrono::milliseconds(500);

struct Target {
  net::SocketAddress address;
  int type = SOCK_STREAM;
};

std::string FromHex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += two.data();
  }
  return text;
}

net::SocketAddress UnixAddress(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path);
  return {reinterpret_cast<const sockaddr*>(&address),
          static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())};
}

Target ParseTarget(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  const std::string_view where = text.substr(kind.size() + 1);
  if (kind == "tcp") {
    const size_t colon = where.rfind(':');
    const auto port = ParseInteger<uint16_t>(where.substr(colon + 1));
    const auto address = net::SocketAddress::FromNumeric(where.substr(0, colon), port.value_or(0));
    if (!address) std::exit(64);
    return {*address, SOCK_STREAM};
  }
  return {UnixAddress(FromHex(where)), kind == "dgram" ? SOCK_DGRAM : SOCK_STREAM};
}

// As many descriptors as this user may have.
void RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool InputHasEnded() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

std::string RandomBytes(size_t count) {
  std::mt19937 random(std::random_device{}());
  std::string bytes(count, '\0');
  std::ranges::generate(bytes, [&random] { return static_cast<char>(random()); });
  return bytes;
}

class Attacker {
 public:
  Attacker(std::string_view attack, int seconds, std::string_view hello, std::vector<Target> targets)
      : stays_(attack == "hold" || attack == "half" || attack == "hello-hold" || attack == "sources" ||
               attack == "garbage"),
        resets_(attack == "reset"),
        from_many_(attack == "sources"),
        targets_(std::move(targets)),
        end_(Clock::now() + std::chrono::seconds(std::clamp(seconds, 0, kMostSeconds))),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (attack == "half") words_ = hello.substr(0, hello.size() / 2);
    if (attack == "hello" || attack == "hello-hold" || attack == "sources") words_ = hello;
    if (attack == "garbage") words_ = RandomBytes(kGarbageBytes);
  }

  void Run() {
    while (attempts_ < kMostAttempts && Clock::now() < end_ && !InputHasEnded()) {
      const bool full = targets_.front().type == SOCK_DGRAM ? !Flood() : !Open();
      Serve(full ? 5 : 0);
      GiveUpOld();
    }
    std::printf("attempts=%llu connected=%llu denied=%llu closed_by_peer=%llu last_error=%s\n",
                static_cast<unsigned long long>(attempts_), static_cast<unsigned long long>(connected_),
                static_cast<unsigned long long>(denied_), static_cast<unsigned long long>(closed_by_peer_),
                last_error_ ? strerror(last_error_) : "none");
  }

 private:
  struct Connection {
    UniqueFd fd;
    uint64_t number = 0;
    bool connected = false;
    bool watched = false;
  };
  struct Attempt {
    Clock::time_point since;
    int fd;
    uint64_t number;
  };

  const Target& Next() { return targets_[attempts_ % targets_.size()]; }

  bool Flood() {
    if (!sender_) sender_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    for (size_t i = 0; i < kPerRound; ++i, ++attempts_) {
      const net::SocketAddress& to = Next().address;
      if (sendto(sender_.get(), "x", 1, MSG_NOSIGNAL, to.get(), to.length()) == 1) {
        ++connected_;
      } else {
        Miss(errno);
      }
    }
    return true;
  }

  // False: as many as may be are open already.
  bool Open() {
    for (size_t i = 0; i < kPerRound; ++i) {
      if (open_ >= (stays_ ? kHeld : kInFlight)) return false;
      ++attempts_;
      const net::SocketAddress& to = Next().address;
      UniqueFd fd(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!fd) return Refuse(errno);
      if (from_many_) BindToLoopback(fd.get());
      const bool done = connect(fd.get(), to.get(), to.length()) == 0;
      if (!done && errno != EINPROGRESS) {
        Miss(errno);
        continue;
      }
      Keep(std::move(fd), done);
    }
    return true;
  }

  void BindToLoopback(int fd) {
    const uint64_t host = attempts_ % 0xfffffd + 2;
    const std::string address = std::to_string(host >> 16) + "." + std::to_string(host >> 8 & 0xff) + "." +
                                std::to_string(host & 0xff);
    const auto local = net::SocketAddress::FromNumeric("127." + address, 0);
    if (!local || bind(fd, local->get(), local->length()) != 0) last_error_ = errno;
  }

  void Miss(int error) {
    last_error_ = error;
    if (error == EACCES) ++denied_;
  }

  bool Refuse(int error) {
    last_error_ = error;
    return false;
  }

  void Keep(UniqueFd fd, bool done) {
    const int number = fd.get();
    if (connections_.size() <= static_cast<size_t>(number))
      connections_.resize(static_cast<size_t>(number) + 1);
    Connection& connection = connections_[static_cast<size_t>(number)];
    connection = {std::move(fd), attempts_};
    ++open_;
    if (done) return Strike(connection);
    connection.watched = true;
    Watch(EPOLL_CTL_ADD, number, EPOLLOUT);
    pending_.push_back({Clock::now(), number, attempts_});
  }

  void Watch(int operation, int fd, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  void Strike(Connection& connection) {
    const int fd = connection.fd.get();
    ++connected_;
    connection.connected = true;
    if (!words_.empty()) send(fd, words_.data(), words_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (stays_) return Watch(connection.watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP);
    if (resets_) {
      const linger at_once{1, 0};
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    Close(connection);
  }

  void Close(Connection& connection) {
    connection.fd.Reset();
    --open_;
  }

  void Serve(int milliseconds) {
    std::array<epoll_event, 256> events{};
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
    for (int i = 0; i < count; ++i)
      OnEvent(connections_[static_cast<size_t>(events.at(static_cast<size_t>(i)).data.fd)]);
  }

  void OnEvent(Connection& connection) {
    if (!connection.fd) return;
    if (!connection.connected) {
      const int error = net::ConnectError(connection.fd.get());
      if (error == 0) return Strike(connection);
      last_error_ = error;
      return Close(connection);
    }
    std::array<char, 4096> heard{};
    const ssize_t got = recv(connection.fd.get(), heard.data(), heard.size(), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EAGAIN)) return;
    ++closed_by_peer_;
    Close(connection);
  }

  // The kernel's queue is full and drops who comes; it would try again for two minutes.
  void GiveUpOld() {
    const Clock::time_point old = Clock::now() - kGivenUpAfter;
    while (!pending_.empty() && pending_.front().since < old) {
      const Attempt attempt = pending_.front();
      pending_.pop_front();
      Connection& connection = connections_[static_cast<size_t>(attempt.fd)];
      if (!connection.fd || connection.number != attempt.number || connection.connected) continue;
      last_error_ = ETIMEDOUT;
      Close(connection);
    }
  }

  const bool stays_;
  const bool resets_;
  const bool from_many_;
  std::string words_;
  const std::vector<Target> targets_;
  const Clock::time_point end_;
  UniqueFd epoll_;
  UniqueFd sender_;
  std::vector<Connection> connections_;  // by descriptor
  std::deque<Attempt> pending_;
  size_t open_ = 0;
  uint64_t attempts_ = 0, connected_ = 0, denied_ = 0, closed_by_peer_ = 0;
  int last_error_ = 0;
};

// A listener for attackers that is no job's.
class Sink {
 public:
  explicit Sink(uint16_t port) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    const sockaddr any_name{AF_UNIX, {}};
    const net::SocketAddress unnamed(&any_name, sizeof any_name.sa_family);
    tcp_ = Listening(net::SocketAddress::AnyIpv4(port));
    unix_ = Bound(unnamed, SOCK_STREAM);
    datagrams_ = Bound(unnamed, SOCK_DGRAM);
    listen(unix_.get(), SOMAXCONN);
    for (const int fd : {tcp_.get(), unix_.get(), datagrams_.get()}) Watch(fd);
    std::printf("tcp:%d\nunix:%s\ndgram:%s\n", net::LocalAddress(tcp_.get()).port(),
                Name(unix_.get()).c_str(), Name(datagrams_.get()).c_str());
    std::fflush(stdout);
  }

  void Run() {
    while (!InputHasEnded()) Round();
  }

 private:
  static UniqueFd Listening(const net::SocketAddress& address) {
    auto listening = net::Listen(address);
    if (!listening) std::exit(71);
    return *std::move(listening);
  }

  static UniqueFd Bound(const net::SocketAddress& address, int type) {
    UniqueFd fd(socket(address.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || bind(fd.get(), address.get(), address.length()) != 0) std::exit(71);
    return fd;
  }

  static std::string Name(int fd) {
    sockaddr_un address{};
    socklen_t length = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    return ToHex({address.sun_path, length - offsetof(sockaddr_un, sun_path)});
  }

  void Watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void Round() {
    std::array<epoll_event, 64> events{};
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 50);
    for (int i = 0; i < count; ++i) OnReadable(events.at(static_cast<size_t>(i)).data.fd);
  }

  void OnReadable(int fd) {
    if (fd == tcp_.get() || fd == unix_.get()) {
      for (size_t i = 0; i < kPerRound; ++i) {
        const int connection = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection < 0) return;
        Watch(connection);
      }
      return;
    }
    std::array<char, 4096> heard{};
    for (size_t i = 0; i < kPerRound; ++i) {
      const ssize_t got = recv(fd, heard.data(), heard.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return;
      if (got > 0 || fd == datagrams_.get()) continue;
      close(fd);
      return;
    }
  }

  UniqueFd epoll_, tcp_, unix_, datagrams_;
};

int Main(const std::vector<std::string_view>& arguments) {
  RaiseDescriptorLimit();
  if (arguments.size() == 2 && arguments[0] == "serve") {
    Sink(ParseInteger<uint16_t>(arguments[1]).value_or(0)).Run();
    return 0;
  }
  if (arguments.size() < 4) return 64;
  alarm(3 * kMostSeconds);
  std::vector<Target> targets;
  for (size_t i = 3; i < arguments.size(); ++i) targets.push_back(ParseTarget(arguments[i]));
  Attacker(arguments[0], ParseInteger<int>(arguments[1]).value_or(0), FromHex(arguments[2]),
           std::move(targets))
      .Run();
  return 0;
}

}  // namespace
}  // namespace muster

int main(int count, char** arguments) { return muster::Main({arguments + 1, arguments + count}); }
