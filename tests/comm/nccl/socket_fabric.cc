#include "tests/comm/nccl/socket_fabric.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <random>
#include <utility>

#include "comm/base/bytes.h"

namespace muster::nccl {
namespace {

// A process sends a batch, then for each of its calls a header, the name of the meeting and the data. The
// answer is a byte, then what each call receives.
struct Batch {
  uint64_t calls = 0;
  uint64_t answered = 0;
};
struct Header {
  uint64_t meeting = 0;
  uint64_t ranks = 0;
  int64_t rank = 0;
  FakeKernel kernel;  // its pointers only show whether there is memory
};

// `call`: bind or connect.
template <typename Call>
UniqueFd OpenAt(const std::string& name, const Call& call) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (!fd || call(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return {};
  return fd;
}

// `call`: send or recv.
template <typename Call, typename Byte>
bool Transfer(const Call& call, int fd, Byte* at, size_t bytes, int flags) {
  while (bytes > 0) {
    const ssize_t moved = call(fd, at, bytes, flags);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    at += moved;
    bytes -= static_cast<size_t>(moved);
  }
  return true;
}
bool Send(int fd, const void* data, size_t bytes) {
  return Transfer(send, fd, static_cast<const char*>(data), bytes, MSG_NOSIGNAL);
}
bool Receive(int fd, void* data, size_t bytes) {
  return Transfer(recv, fd, static_cast<char*>(data), bytes, 0);
}

bool SendAll(int fd, const std::vector<FakeCall>& calls, bool answered) {
  const Batch batch = {calls.size(), answered ? 1u : 0u};
  bool sent = Send(fd, &batch, sizeof batch);
  for (const FakeCall& call : calls) {
    const Header header = {call.meeting.size(), call.ranks, call.rank, call.kernel};
    sent = sent && Send(fd, &header, sizeof header) && Send(fd, call.meeting.data(), call.meeting.size()) &&
           Send(fd, call.kernel.send, call.kernel.SendBytes(call.rank, call.ranks));
  }
  return sent;
}

bool ReceiveAll(int fd, const std::vector<FakeCall>& calls) {
  char done = 0;
  return Receive(fd, &done, sizeof done) && std::ranges::all_of(calls, [fd](const FakeCall& call) {
           return Receive(fd, call.kernel.receive, call.kernel.ReceiveBytes(call.rank, call.ranks));
         });
}

// A call of another process; `memory` holds what it sends and receives.
bool ReceiveCall(int fd, FakeCall& call, std::list<Bytes>& memory) {
  Header header;
  if (!Receive(fd, &header, sizeof header)) return false;
  call = {std::string(header.meeting, '\0'), header.ranks, static_cast<int>(header.rank), header.kernel};
  Bytes& sent = memory.emplace_back(call.kernel.SendBytes(call.rank, call.ranks));
  Bytes& received = memory.emplace_back(call.kernel.ReceiveBytes(call.rank, call.ranks));
  call.kernel.send = sent.data();
  call.kernel.receive = received.data();
  return Receive(fd, call.meeting.data(), call.meeting.size()) && Receive(fd, sent.data(), sent.size());
}

}  // namespace

SocketFabric::~SocketFabric() {
  {
    const std::lock_guard lock(mutex);
    Cut(served_);
  }
  for (std::thread& thread : threads_) thread.join();
}

bool SocketFabric::DrawId(NcclId* id) {
  std::random_device random;
  const std::string name = "fake-nccl-" + std::to_string(getpid()) + "-" + std::to_string(random());
  UniqueFd listener = OpenAt(name, [](int fd, const sockaddr* address, socklen_t length) {
    return bind(fd, address, length) == 0 && listen(fd, SOMAXCONN) == 0 ? 0 : -1;
  });
  if (!listener) return false;
  *id = {};
  std::ranges::copy(name, id->begin());
  const std::lock_guard lock(mutex);
  Start(std::move(listener), &SocketFabric::Accept);
  return true;
}

// With the mutex held.
void SocketFabric::Start(UniqueFd fd, void (SocketFabric::*body)(int)) {
  served_.connections.insert(fd.get());
  threads_.emplace_back([this, body, fd = std::move(fd)] {
    (this->*body)(fd.get());
    const std::lock_guard lock(mutex);
    served_.connections.erase(fd.get());
  });
}

void SocketFabric::Accept(int listener) {
  while (true) {
    UniqueFd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!client && errno == EINTR) continue;
    const std::lock_guard lock(mutex);
    if (!client || served_.cut) return;
    Start(std::move(client), &SocketFabric::Serve);
  }
}

void SocketFabric::Serve(int client) {
  Batch batch;
  while (Receive(client, &batch, sizeof batch)) {
    std::list<Bytes> memory;
    std::vector<FakeCall> calls(batch.calls);
    const auto receive = [&](FakeCall& call) { return ReceiveCall(client, call, memory); };
    if (!std::ranges::all_of(calls, receive)) return;
    if (FakeFabric::Run(calls, served_) != NcclResult::kSuccess) return;
    if (batch.answered == 0) continue;
    bool sent = Send(client, "", 1);
    for (const FakeCall& call : calls) {
      sent = sent && Send(client, call.kernel.receive, call.kernel.ReceiveBytes(call.rank, call.ranks));
    }
    if (!sent) return;
  }
}

NcclResult SocketFabric::Run(const std::vector<FakeCall>& calls, FakeCut& cut) {
  return Talk(calls, cut, true);
}

NcclResult SocketFabric::Leave(const FakeCall& call, FakeCut& cut) {
  return Talk({call}, cut, call.rank == 0);
}

NcclResult SocketFabric::Talk(const std::vector<FakeCall>& calls, FakeCut& cut, bool answered) {
  const std::string& meeting = calls.front().meeting;
  const std::string name = meeting.substr(0, meeting.find('\0'));  // the id's
  std::unique_lock lock(mutex);
  if (cut.cut) return NcclResult::kInternalError;
  std::list<UniqueFd>& idle = idle_[name];
  if (idle.empty()) idle.push_back(OpenAt(name, connect));
  UniqueFd fd = std::move(idle.front());
  idle.pop_front();
  cut.connections.insert(fd.get());
  lock.unlock();
  const bool done = SendAll(fd.get(), calls, answered) && (!answered || ReceiveAll(fd.get(), calls));
  lock.lock();
  cut.connections.erase(fd.get());
  if (cut.cut) return NcclResult::kInternalError;
  if (!done) return NcclResult::kRemoteError;
  if (answered) idle.push_back(std::move(fd));
  return NcclResult::kSuccess;
}

}  // namespace muster::nccl
