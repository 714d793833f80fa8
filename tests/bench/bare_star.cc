// The prototype for comparison with the service: bare_star RANKS HELLO_BYTES ROSTER_BYTES [x25519]. The same bytes
// over the same sockets and nothing else: no authentication, no messages, no checks. Prints the lines of
// star_clock.h.
//
// x25519: each side also makes one key agreement for each connection, the least that any authentication with forward secrecy
// needs.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/auth/crypto.h"
#include "tests/bench/star_clock.h"

namespace muster::bench {
namespace {

struct Link {
  int fd = -1;
  size_t in = 0;
  size_t out = 0;
};

struct Star {
  size_t clients = 0;
  size_t hello = 0;
  size_t roster = 0;
  std::optional<auth::KeyPair> key;
};

void Agree(const Star& star) {
  if (star.key && !auth::AgreeOnKey(star.key->secret, star.key->public_key)) std::abort();
}

void Watch(int epoll, int operation, uint32_t events, size_t index, int fd) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = index;
  epoll_ctl(epoll, operation, fd, &event);
}

void NoDelay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// The bytes read, up to `want`; false when the peer is gone.
bool ReadUpTo(Link& link, size_t want, std::vector<char>& scratch) {
  while (link.in < want) {
    const ssize_t got = recv(link.fd, scratch.data(), std::min(scratch.size(), want - link.in), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN;
    link.in += static_cast<size_t>(got);
  }
  return true;
}

void WriteUpTo(Link& link, const std::vector<char>& bytes) {
  while (link.out < bytes.size()) {
    const ssize_t sent =
        send(link.fd, bytes.data() + link.out, bytes.size() - link.out, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return;
    link.out += static_cast<size_t>(sent);
  }
}

class Server {
 public:
  Server(int listener, const Star& star) : listener_(listener), star_(star), roster_(star.roster, 'r') {
    Watch(epoll_, EPOLL_CTL_ADD, EPOLLIN, kListener, listener_);
  }

  int Run() {
    while (served_ < star_.clients) {
      std::array<epoll_event, 64> events{};
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 60000);
      if (count <= 0) return 1;
      for (int i = 0; i < count; ++i) Handle(events.at(static_cast<size_t>(i)));
    }
    return 0;
  }

 private:
  static constexpr uint64_t kListener = ~uint64_t{0};

  void Handle(const epoll_event& event) {
    if (event.data.u64 == kListener) return AcceptAll();
    Link& link = links_[event.data.u64];
    if ((event.events & EPOLLOUT) != 0) return Answer(event.data.u64);
    const bool heard = link.in == star_.hello;
    ReadUpTo(link, star_.hello, scratch_);
    if (heard || link.in < star_.hello) return;
    Agree(star_);
    if (++heard_ < star_.clients) return;
    for (size_t i = 0; i < links_.size(); ++i) Answer(i);
  }

  void AcceptAll() {
    for (;;) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      NoDelay(fd);
      links_.push_back({fd});
      Watch(epoll_, EPOLL_CTL_ADD, EPOLLIN, links_.size() - 1, fd);
    }
  }

  void Answer(size_t index) {
    Link& link = links_[index];
    WriteUpTo(link, roster_);
    const bool whole = link.out == roster_.size();
    if (whole) ++served_;
    Watch(epoll_, EPOLL_CTL_MOD, whole ? 0U : EPOLLOUT, index, link.fd);
  }

  const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  const int listener_;
  const Star star_;
  const std::vector<char> roster_;
  std::vector<char> scratch_ = std::vector<char>(65536);
  std::vector<Link> links_;
  size_t heard_ = 0;
  size_t served_ = 0;
};

// All connect side by side, as the leaders of a launch do.
int RunClients(const Star& star, const sockaddr_in& server, pid_t server_pid) {
  StarClock clock(static_cast<int>(star.clients));
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const std::vector<char> hello(star.hello, 'h');
  std::vector<char> scratch(65536);
  std::vector<Link> links(star.clients);
  for (size_t i = 0; i < links.size(); ++i) {
    links[i].fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    NoDelay(links[i].fd);
    // Under way: the loop below receives its end.
    static_cast<void>(connect(links[i].fd, reinterpret_cast<const sockaddr*>(&server), sizeof server));
    Watch(epoll, EPOLL_CTL_ADD, EPOLLOUT, i, links[i].fd);
  }
  while (!clock.done()) {
    std::array<epoll_event, 64> events{};
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 60000);
    if (count <= 0) return 1;
    for (int i = 0; i < count; ++i) {
      const size_t index = events.at(static_cast<size_t>(i)).data.u64;
      Link& link = links[index];
      if (link.out == 0) {
        clock.OnLinked();
        Agree(star);
        WriteUpTo(link, hello);
        Watch(epoll, EPOLL_CTL_MOD, EPOLLIN, index, link.fd);
        continue;
      }
      const bool before = link.in == star.roster;
      if (!ReadUpTo(link, star.roster, scratch)) Watch(epoll, EPOLL_CTL_DEL, 0, index, link.fd);
      if (!before && link.in == star.roster) clock.OnRoster();
    }
  }
  return clock.Finish(server_pid, star.hello, star.roster) ? 0 : 1;
}

int Main(int argc, char** argv) {
  const bool with_keys = argc == 5 && std::string_view(argv[4]) == "x25519";
  if (argc != 4 && !with_keys) {
    std::fputs("bare_star RANKS HELLO_BYTES ROSTER_BYTES [x25519]\n", stderr);
    return 64;
  }
  Star star{std::strtoul(argv[1], nullptr, 10) - 1, std::strtoul(argv[2], nullptr, 10),
            std::strtoul(argv[3], nullptr, 10), std::nullopt};
  if (with_keys) {
    if (!auth::CryptoReady()) return 71;
    star.key = auth::MakeKeyPair();
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener, 4096) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return 71;
  }
  const pid_t server = fork();
  if (server == 0) _exit(Server(listener, star).Run());
  return RunClients(star, address, server);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(argc, argv); }
