#include "tests/gpu/standin/hub.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "tests/comm/nccl/fake_fabric.h"
#include "tests/gpu/standin/address.h"

namespace muster::standin {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr int kInvalidUsage = 5;  // ncclInvalidUsage

nccl::FakeKernel KernelOf(const Request& request, const Bytes& payload) {
  nccl::FakeKernel kernel;
  kernel.kind = static_cast<nccl::FakeKernel::Kind>(request.collective);
  kernel.send = payload.data();
  kernel.count = request.count;
  kernel.type = static_cast<DataType>(request.type);
  kernel.operation = static_cast<ReduceOp>(request.operation);
  kernel.root = request.peer;
  return kernel;
}

// How much this rank gets.
size_t ResultBytes(const nccl::FakeKernel& kernel, int rank, size_t ranks) {
  const size_t block = kernel.count * SizeOf(kernel.type);
  if (kernel.kind == nccl::FakeKernel::Kind::kReduce && rank != kernel.root) return 0;
  return kernel.kind == nccl::FakeKernel::Kind::kAllGather ? block * ranks : block;
}

}  // namespace

bool Hub::Start(const std::string& name) {
  UniqueFd listener = Listen(name);
  if (!listener) return false;
  std::thread([hub = std::shared_ptr<Hub>(new Hub(std::move(listener)))] { hub->Serve(); }).detach();
  return true;
}

void Hub::Serve() {
  while (true) {
    std::vector<pollfd> watched = {{listener_.get(), POLLIN, 0}};
    for (const Peer& peer : peers_) {
      const short events = peer.out.empty() ? POLLIN : POLLIN | POLLOUT;
      watched.push_back({peer.fd.get(), events, 0});
    }
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
    size_t index = 1;
    for (Peer& peer : peers_) {
      const short happened = watched[index++].revents;
      if ((happened & POLLOUT) != 0) Write(peer);
      if ((happened & (POLLIN | POLLHUP | POLLERR)) != 0) Read(peer);
    }
    if (watched.front().revents != 0) Accept();
    std::erase_if(peers_, [](const Peer& peer) { return peer.gone; });
  }
}

void Hub::Accept() {
  const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) peers_.emplace_back().fd.Reset(fd);
}

void Hub::Write(Peer& peer) {
  const ssize_t sent = send(peer.fd.get(), peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
  if (sent > 0) peer.out.erase(peer.out.begin(), peer.out.begin() + sent);
}

void Hub::Read(Peer& peer) {
  const size_t before = peer.in.size();
  peer.in.resize(before + kChunk);
  const ssize_t got = recv(peer.fd.get(), peer.in.data() + before, kChunk, 0);
  peer.in.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    if (peer.ring) peer.ring->members.erase(peer.rank);
    peer.gone = true;
    return;
  }
  Call call;
  while (peer.in.size() >= sizeof call.request) {
    std::memcpy(&call.request, peer.in.data(), sizeof call.request);
    const auto begin = peer.in.begin() + sizeof call.request;
    if (peer.in.size() - sizeof call.request < call.request.payload) return;
    const auto end = begin + static_cast<ptrdiff_t>(call.request.payload);
    call.payload.assign(begin, end);
    peer.in.erase(peer.in.begin(), end);
    Handle(peer, call);
  }
}

void Hub::Handle(Peer& peer, Call call) {
  if (call.request.kind == Kind::kJoin) return Join(peer, call);
  Ring& ring = *peer.ring;
  switch (call.request.kind) {
    case Kind::kCollective:
      ring.calls[peer.rank].push_back(std::move(call));
      return Advance(ring);
    case Kind::kSend: {
      const Pair pair{peer.rank, call.request.peer};
      ring.sent[pair].push_back(std::move(call.payload));
      return Meet(ring, pair);
    }
    default: {
      const Pair pair{call.request.peer, peer.rank};
      ring.wanted[pair].push_back(call.request.tag);
      return Meet(ring, pair);
    }
  }
}

void Hub::Join(Peer& peer, const Call& call) {
  const std::string text(call.payload.begin(), call.payload.end());
  const size_t line = text.find('\n');
  std::shared_ptr<Ring>& ring = rings_[text.substr(0, line)];
  if (!ring) ring = std::make_shared<Ring>();
  ring->size = call.request.size;
  peer.ring = ring;
  peer.rank = call.request.peer;
  ring->members[peer.rank] = &peer;
  ring->gpus[peer.rank] = text.substr(line + 1);
  ring->joins[peer.rank] = call.request.tag;
  if (ring->joins.size() == ring->size) Admit(*ring);
}

// As NCCL: two ranks on one GPU of one host are refused.
void Hub::Admit(Ring& ring) {
  std::set<std::string> different;
  for (const auto& [rank, gpu] : ring.gpus) different.insert(gpu);
  const int result = different.size() == ring.size ? 0 : kInvalidUsage;
  for (const auto& [rank, member] : ring.members) Reply(member, ring.joins[rank], result, {});
}

bool Hub::AllAgree(const Ring& ring) {
  if (ring.calls.size() < ring.size) return false;
  const nccl::FakeKernel* first = nullptr;
  std::list<nccl::FakeKernel> kernels;
  for (const auto& [rank, calls] : ring.calls) {
    if (calls.empty()) return false;
    kernels.push_back(KernelOf(calls.front().request, calls.front().payload));
    if (first == nullptr) first = &kernels.front();
    if (!first->Matches(kernels.back())) return false;
  }
  return true;
}

void Hub::Advance(Ring& ring) {
  while (AllAgree(ring)) {
    std::map<int, nccl::FakeKernel> kernels;
    std::map<int, Bytes> results;
    for (const auto& [rank, calls] : ring.calls) {
      nccl::FakeKernel kernel = KernelOf(calls.front().request, calls.front().payload);
      Bytes& result = results[rank];
      result.resize(ResultBytes(kernel, rank, ring.size));
      kernel.receive = result.data();
      kernels[rank] = kernel;
    }
    nccl::Compute(kernels);
    // Rank 0 last: the hub lives in its process, which may end when this was its last answer.
    for (auto one = ring.calls.rbegin(); one != ring.calls.rend(); ++one) {
      auto& [rank, calls] = *one;
      const auto member = ring.members.find(rank);
      if (member != ring.members.end()) {
        Reply(member->second, calls.front().request.tag, 0, results[rank]);
      }
      calls.pop_front();
    }
  }
}

void Hub::Meet(Ring& ring, Pair pair) {
  std::deque<Bytes>& sent = ring.sent[pair];
  std::deque<uint64_t>& wanted = ring.wanted[pair];
  while (!sent.empty() && !wanted.empty()) {
    const auto member = ring.members.find(pair.second);
    if (member != ring.members.end()) Reply(member->second, wanted.front(), 0, sent.front());
    sent.pop_front();
    wanted.pop_front();
  }
}

void Hub::Reply(Peer* peer, uint64_t tag, int result, const Bytes& payload) {
  const Answer answer{tag, result, 0, payload.size()};
  const auto* header = reinterpret_cast<const uint8_t*>(&answer);
  peer->out.insert(peer->out.end(), header, header + sizeof answer);
  peer->out.insert(peer->out.end(), payload.begin(), payload.end());
  Write(*peer);
}

}  // namespace muster::standin
