// The least that a barrier under srun can cost: bare_barrier ADDRESS PORT. Every task of a step connects to task 0, which
// listens there; once all are connected task 0 sends each a byte, and all exit. No node is named, nothing is checked, and
// a lost task is waited for until srun ends the step.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kRetryMs = 5;

int NumberOf(const char* variable) {
  const char* text = getenv(variable);
  return text == nullptr ? -1 : std::atoi(text);
}

int Lead(const sockaddr_in& address, size_t others) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 71;
  if (listen(listener, 4096) != 0) return 71;
  std::vector<int> links;
  while (links.size() < others) {
    const int link = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (link < 0) return 71;
    links.push_back(link);
  }
  for (const int link : links) {
    if (send(link, "", 1, MSG_NOSIGNAL) != 1) return 69;
  }
  return 0;
}

int Follow(const sockaddr_in& address) {
  for (;;) {
    const int link = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(link, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      char go = 0;
      return recv(link, &go, 1, 0) == 1 ? 0 : 69;
    }
    if (errno != ECONNREFUSED) return 71;
    close(link);
    // Task 0 has not begun to listen, and nothing announces that.
    poll(nullptr, 0, kRetryMs);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = NumberOf("SLURM_PROCID");
  const int ranks = NumberOf("SLURM_NTASKS");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (argc != 3 || rank < 0 || ranks < 1 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
    std::fputs("srun ... bare_barrier ADDRESS PORT: the address of task 0's node, a free port there\n",
               stderr);
    return 64;
  }
  address.sin_port = htons(static_cast<uint16_t>(std::strtoul(argv[2], nullptr, 10)));
  return rank == 0 ? Lead(address, static_cast<size_t>(ranks) - 1) : Follow(address);
}
