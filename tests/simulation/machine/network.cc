#include "tests/simulation/machine/network.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tests/simulation/machine/world.h"

namespace muster::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kLongestBacklog = 4096;
constexpr Duration kFirstRetry = milliseconds(200);
constexpr Duration kLongestRetry = seconds(120);
constexpr Duration kGivesUpAfter = seconds(924);                  // tcp_retries2
constexpr std::array<int, 6> kSynSeconds = {1, 2, 4, 8, 16, 32};  // then 64 until the error
constexpr Duration kLastSyn = seconds(64);
constexpr Duration kUnreachableAfter = seconds(3);

}  // namespace

bool Network::Passes(const Node& from, const Node& to) const {
  if (&from == &to) return from.up;
  return from.up && to.up && !cuts_.contains({from.number, to.number});
}

Duration Network::Latency(const Node& from, const Node& to) {
  const Machines& machines = world_.machines();
  if (&from == &to) return std::chrono::microseconds(2) + world_.random.About(machines.turn);
  return machines.latency + world_.random.About(machines.jitter);
}

Node* Network::Find(uint32_t address) const {
  const size_t number = address - world_.nodes().front()->address;
  return number < world_.nodes().size() ? world_.nodes()[number].get() : nullptr;
}

Socket::Socket(World& w, Process& creator, int socket_family, int socket_type)
    : File(w),
      node(creator.node),
      family(socket_family),
      type(socket_type),
      owner(&creator),
      start_(creator.node.starts) {}

uint32_t Socket::Ready() {
  if (role == Role::kListener) return backlog_.empty() ? 0U : EPOLLIN;
  if (role == Role::kConnecting) return 0;
  if (role != Role::kConnected) return EPOLLOUT | EPOLLHUP;
  uint32_t ready = 0;
  if (unread() || input_ended_ || broken_) ready |= EPOLLIN;
  if (broken_) ready |= EPOLLOUT | EPOLLHUP | (error_ != 0 ? EPOLLERR : 0U);
  if (family == AF_UNIX && input_ended_ && (output_ended_ || peer_->closed())) ready |= EPOLLHUP | EPOLLOUT;
  // As the kernel: a sender is woken when a third is free.
  if (Room() * 3 >= world.machines().socket_buffer) ready |= EPOLLOUT;
  return ready;
}

// ---- listening

int Socket::Bind(InternetAddress address) {
  if (address.host != 0 && address.host != node.address && (address.host >> 24) != 127) return EADDRNOTAVAIL;
  for (const Socket* other : node.ports[address.port]) {
    if (other->local.host == 0 || address.host == 0 || other->local.host == address.host) return EADDRINUSE;
  }
  local = address;
  node.ports[address.port].push_back(this);
  return 0;
}

int Socket::Listen() {
  role = Role::kListener;
  return 0;
}

Socket* Socket::Accept() {
  if (backlog_.empty()) return nullptr;
  Socket* const accepted = backlog_.front();
  backlog_.pop_front();
  return accepted;
}

// With a reset, as if bytes were unread.
void Socket::CloseUnaccepted() {
  unaccepted_ = true;
  CloseNow();
}

void Socket::CloseListener() {
  if (family != AF_UNIX) std::erase(node.ports[local.port], this);
  for (Socket* const waiting : std::exchange(backlog_, {})) {
    // Unix: the other end has an error, even without unread bytes.
    if (family == AF_UNIX) waiting->peer_->BreakWith(ECONNRESET);
    waiting->CloseUnaccepted();
  }
}

// ---- connecting

int Socket::Connect(InternetAddress address) {
  remote = address;
  local = {node.address, node.next_port};
  node.next_port = node.next_port == 60999 ? uint16_t{32768} : static_cast<uint16_t>(node.next_port + 1);
  role = Role::kConnecting;
  TrySyn(0);
  return EINPROGRESS;
}

bool Socket::Fits(const Socket& listener) const {
  return listener.role == Role::kListener && (listener.local.host == 0 || listener.local.host == remote.host);
}

void Socket::TrySyn(int attempt) {
  if (closed()) return;
  Node* const there = (remote.host >> 24) == 127 ? &node : world.network.Find(remote.host);
  const auto again = [this, attempt] {
    if (closed() || role != Role::kConnecting) return;
    if (attempt <= static_cast<int>(kSynSeconds.size())) return TrySyn(attempt + 1);
    BreakWith(ETIMEDOUT);
  };
  if (there == nullptr || (!there->up && world.machines().unreachable_hosts)) {
    return world.After(kUnreachableAfter, [this] {
      if (!closed()) BreakWith(EHOSTUNREACH);
    });
  }
  const auto at = static_cast<size_t>(attempt);
  world.After(at < kSynSeconds.size() ? Duration(seconds(kSynSeconds[at])) : kLastSyn, again);
  world.After(world.network.Latency(node, *there), [this, there] {
    if (closed() || role != Role::kConnecting || !world.network.Passes(node, *there)) return;
    const auto& bound = there->ports[remote.port];
    const auto found = std::ranges::find_if(bound, [this](const Socket* one) { return Fits(*one); });
    if (!world.network.Passes(*there, node)) return;
    if (found == bound.end()) {
      return world.After(world.network.Latency(*there, node), [this] { OnRefused(); });
    }
    if ((*found)->backlog_.size() >= kLongestBacklog) return;
    world.After(world.network.Latency(*there, node), [this, listener = *found] { OnEstablished(listener); });
  });
}

void Socket::OnRefused() {
  if (!closed() && role == Role::kConnecting) BreakWith(ECONNREFUSED);
}

void Socket::JoinPeer(Socket* other) {
  role = Role::kConnected;
  peer_ = other;
  peer_pid = other->owner->pid;
  peer_uid = other->owner->uid;
}

// The listener's side exists from here on, and waits in its queue once the last packet of the handshake is there.
void Socket::OnEstablished(Socket* listener) {
  if (closed() || role != Role::kConnecting) return;
  auto* const other = world.Make<Socket>(world, *listener->owner, listener->family, listener->type);
  other->local = {remote.host, remote.port};
  other->remote = local;
  JoinPeer(other);
  other->JoinPeer(this);
  Changed();
  world.After(world.network.Latency(node, other->node), [other, listener] {
    if (listener->closed()) return other->CloseUnaccepted();
    listener->backlog_.push_back(other);
    listener->Changed();
  });
}

int Socket::ConnectUnix(Socket* listener) {
  if (listener->backlog_.size() >= kLongestBacklog) return EAGAIN;
  auto* const other = world.Make<Socket>(world, *World::Caller(), family, type);
  other->path = listener->path;
  JoinPeer(other);
  other->JoinPeer(this);
  peer_pid = listener->owner->pid;
  peer_uid = listener->owner->uid;
  listener->backlog_.push_back(other);
  listener->Changed();
  return 0;
}

// ---- bytes

size_t Socket::Room() const {
  if (peer_ == nullptr) return 0;
  const size_t used = output_bytes_ + peer_->input_bytes_;
  return used >= world.machines().socket_buffer ? 0 : world.machines().socket_buffer - used;
}

ssize_t Socket::Receive(uint8_t* bytes, size_t most, bool peek) {
  if (role != Role::kConnected) {
    errno = role == Role::kConnecting ? EAGAIN : ENOTCONN;
    return -1;
  }
  if (unread()) {
    size_t count = std::min(most, input_bytes_);
    if (!peek && count > 1 && world.random.Chance(world.machines().short_transfers))
      count = 1 + world.random.Below(count);
    Read(bytes, count, peek);
    if (peek) return static_cast<ssize_t>(count);
    if (!peer_->closed()) peer_->Changed();
    return static_cast<ssize_t>(count);
  }
  if (error_ != 0) {
    errno = TakeError();
    return -1;
  }
  if (broken_ || input_ended_) return 0;
  errno = EAGAIN;
  return -1;
}

ssize_t Socket::Send(const uint8_t* bytes, size_t count) {
  if (role == Role::kConnecting) {
    errno = EAGAIN;
    return -1;
  }
  if (role != Role::kConnected || broken_ || output_ended_ || (family == AF_UNIX && peer_->closed())) {
    errno = error_ != 0 ? TakeError() : EPIPE;
    return -1;
  }
  size_t taken = std::min(count, Room());
  if (taken == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (taken > 1 && world.random.Chance(world.machines().short_transfers))
    taken = 1 + world.random.Below(taken);
  Segment segment;
  segment.bytes.assign(reinterpret_cast<const char*>(bytes), taken);
  Transmit(std::move(segment));
  return static_cast<ssize_t>(taken);
}

int Socket::ShutDownWriting() {
  if (role != Role::kConnected || broken_) return ENOTCONN;
  TransmitEnd();
  return 0;
}

bool Socket::passes_to_peer() const { return world.network.Passes(node, peer_->node); }

// In order: a segment arrives after those before it.
void Socket::Transmit(Segment segment) {
  if (family == AF_UNIX) {
    std::list<Segment> arrives{std::move(segment)};
    return peer_->Arrive(arrives);
  }
  const auto on_the_wire = Duration(static_cast<Duration::rep>(static_cast<double>(segment.bytes.size()) *
                                                               1e9 / world.machines().bytes_per_second));
  Time arrives = std::max(last_ready_, world.now() + world.network.Latency(node, peer_->node)) + on_the_wire;
  if (world.machines().metered && &node != &peer_->node) {
    node.wire_free = std::max(node.wire_free, world.now()) + on_the_wire;
    arrives = std::max(arrives, node.wire_free + world.machines().latency);
    owner->sent += segment.bytes.size();
  }
  last_ready_ = arrives;
  segment.ready = last_ready_;
  output_bytes_ += segment.bytes.size();
  output_.push_back(std::move(segment));
  if (!pumping_) PumpAt(output_.front().ready);
}

void Socket::PumpAt(Time when) {
  pumping_ = true;
  world.At(when, [this] { Pump(); });
}

void Socket::Pump() {
  pumping_ = false;
  if (is_lost()) return output_.clear();
  while (!output_.empty() && output_.front().ready <= world.now()) {
    if (!passes_to_peer()) {
      if (retry_ == Duration::zero()) retries_since_ = world.now();
      retry_ = retry_ == Duration::zero() ? kFirstRetry : std::min(2 * retry_, kLongestRetry);
      if (world.now() - retries_since_ > kGivesUpAfter) return BreakWith(ETIMEDOUT);
      return PumpAt(world.now() + retry_);
    }
    retry_ = Duration::zero();
    output_bytes_ -= output_.front().bytes.size();
    if (peer_->closed()) {
      // Its kernel has no such connection, and answers; bytes that it has sent before come first.
      const bool fin = output_.front().fin;
      output_.pop_front();
      if (!fin) peer_->SendReset();
      continue;
    }
    peer_->Arrive(output_);
  }
  if (!output_.empty()) PumpAt(output_.front().ready);
}

void Socket::Arrive(std::list<Segment>& from) {
  if (closed() || broken_) return from.pop_front();
  if (from.front().fin) input_ended_ = true;
  if (const size_t bytes = from.front().bytes.size(); bytes > 0) {
    input_bytes_ += bytes;
    input_.splice(input_.end(), from, from.begin());
  } else {
    from.pop_front();
  }
  Changed();
}

void Socket::Read(uint8_t* bytes, size_t count, bool peek) {
  auto segment = input_.begin();
  size_t start = input_start_;
  for (size_t left = count; left > 0;) {
    const size_t some = std::min(left, segment->bytes.size() - start);
    bytes = std::copy_n(segment->bytes.begin() + static_cast<ptrdiff_t>(start), some, bytes);
    left -= some;
    start += some;
    if (start < segment->bytes.size()) break;
    start = 0;
    ++segment;
  }
  if (peek) return;
  input_.erase(input_.begin(), segment);
  input_start_ = start;
  input_bytes_ -= count;
}

// ---- the end

void Socket::BreakWith(int error) {
  if (broken_) return;
  const bool connecting = role == Role::kConnecting;
  broken_ = true;
  error_ = error;
  output_.clear();
  output_bytes_ = 0;
  if (connecting) {
    role = Role::kConnected;
    peer_ = this;
  }
  if (!closed()) Changed();
}

void Socket::SendReset() {
  const auto arrive = [other = peer_] {
    if (!other->closed()) other->BreakWith(ECONNRESET);
  };
  if (family == AF_UNIX) return arrive();
  // Segments lost on the way are not sent again.
  if (retry_ > Duration::zero() || is_lost()) output_.clear();
  const Time when = output_.empty() ? world.now() + world.network.Latency(node, peer_->node)
                                    : output_.back().ready + Duration(1);
  world.At(when, [this, arrive] {
    if (passes_to_peer()) arrive();
  });
}

void Socket::OnClose() {
  if (role == Role::kListener) return CloseListener();
  if (role == Role::kFresh && local.port != 0) std::erase(node.ports[local.port], this);
  if (role != Role::kConnected || broken_ || peer_ == nullptr) return;
  input_.clear();
  input_start_ = 0;
  if (std::exchange(input_bytes_, 0) > 0 || unaccepted_) return SendReset();
  TransmitEnd();
}

void Socket::TransmitEnd() {
  if (std::exchange(output_ended_, true)) return;
  Segment end;
  end.fin = true;
  Transmit(std::move(end));
}

}  // namespace muster::simulation
