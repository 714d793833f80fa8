// A rank of the fault matrix: stops at every phase and carries out the commands of the test.
//
//   member FOLDER gate CMD [ARG...]    waits, then becomes CMD
//   member FOLDER group                Init, an AllReduce of all ranks, Shutdown; waits in between
//
// FOLDER/observer is the Unix socket of the observer. A rank writes "RANK PHASE\n" when it gets there; PHASE:
// before, joining, idle, collective, shutdown. It reads "go\n" (on with it), or "exit N\n", "memory\n" (takes
// all there is), at any time.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.h"
#include "comm/base/parse.h"
#include "comm/base/unique_fd.h"

namespace muster {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

UniqueFd ConnectTo(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.Reset();
  return fd;
}

[[noreturn]] void TakeAllMemory() {
  for (;;) {
    auto* memory = static_cast<char*>(std::malloc(kMebibyte));
    if (memory == nullptr) std::abort();
    std::memset(memory, 1, kMebibyte);
  }
}

class Orders {
 public:
  Orders(UniqueFd fd, std::string rank) : fd_(std::move(fd)), rank_(std::move(rank)) {}

  // Reports the phase of this rank.
  void Report(const char* phase) const {
    const std::string line = rank_ + " " + phase + "\n";
    if (send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) std::exit(1);
  }
  void Stop(const char* phase) {
    Report(phase);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return gos_ > 0; });
    --gos_;
  }
  // Obeys until the observer hangs up, which ends this process.
  void Obey() {
    std::string line;
    char letter = 0;
    while (recv(fd_.get(), &letter, 1, 0) == 1) {
      if (letter != '\n') {
        line += letter;
        continue;
      }
      Do(line);
      line.clear();
    }
    std::_Exit(1);
  }
  // The first order, for who has no thread to spare.
  void AwaitGo() {
    std::string line;
    for (char letter = 0; letter != '\n'; line += letter) {
      if (recv(fd_.get(), &letter, 1, 0) != 1) std::_Exit(1);
    }
    Do(line.substr(0, line.size() - 1));
  }

 private:
  void Do(const std::string& order) {
    if (order == "memory") TakeAllMemory();
    if (order.starts_with("exit ")) std::_Exit(ParseInteger<int>(order.substr(5)).value_or(1));
    const std::lock_guard lock(mutex_);
    ++gos_;
    changed_.notify_all();
  }

  UniqueFd fd_;
  std::string rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int gos_ = 0;
};

Status GoThrough(Orders& orders) {
  orders.Report("joining");
  MUSTER_TRY(Communicator* const group, Init());
  orders.Stop("idle");
  int64_t sum = group->rank();
  const std::span<int64_t> all(&sum, 1);
  MUSTER_CHECK(group->AllReduce(all, ReduceOp::kSum));
  orders.Stop("collective");
  MUSTER_CHECK(group->AllReduce(all, ReduceOp::kSum));
  orders.Stop("shutdown");
  return Shutdown();
}

int Main(const std::string& folder, char** command) {
  const char* const rank = std::getenv("SLURM_PROCID");
  UniqueFd fd = ConnectTo(folder + "/observer");
  if (!fd || rank == nullptr) return 1;
  if (std::strcmp(*command, "gate") == 0) {
    Orders orders(std::move(fd), rank);
    orders.Report("before");
    orders.AwaitGo();
    execvp(command[1], command + 1);
    return 127;
  }
  Orders orders(std::move(fd), rank);
  std::thread([&orders] { orders.Obey(); }).detach();
  const Status done = GoThrough(orders);
  if (!done) std::fprintf(stderr, "member: %s\n", ToString(done.error()).c_str());
  std::_Exit(done ? 0 : ExitStatus(done.error().code));
}

}  // namespace
}  // namespace muster

int main(int count, char** arguments) { return count < 3 ? 1 : muster::Main(arguments[1], arguments + 2); }
