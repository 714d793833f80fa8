#include "comm/socket/reception.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <utility>

#include "comm/base/log.h"
#include "comm/base/parse.h"
#include "comm/net/socket.h"

namespace muster {

Reception::Reception(PollSet& poll_set, const Membership& self, const SocketEndpoint& endpoint,
                     const ReceptionOptions& options, Arrived arrived)
    : poll_set_(poll_set), self_(self), options_(options), arrived_(std::move(arrived)) {
  tcp_.fd = endpoint.tcp_fd();
  unix_.fd = endpoint.unix_fd();
  unix_.unix_socket = true;
}

Reception::~Reception() {
  while (!newcomers_.empty()) Forget(newcomers_.front().get());
  Watch(tcp_, false);
  Watch(unix_, false);
}

Status Reception::Start() {
  MUSTER_CHECK(Open(unix_));
  if (tcp_.fd >= 0) MUSTER_CHECK(Open(tcp_));
  return {};
}

Status Reception::Open(Door& door) {
  MUSTER_TRY(door.watch, poll_set_.Add(door.fd, EPOLLIN, [this, &door] { OnDoor(door); }));
  door.watched = true;
  return {};
}

void Reception::Watch(Door& door, bool on) {
  if (door.watch == 0 || door.watched == on) return;
  poll_set_.Change(door.watch, door.fd, on ? EPOLLIN : 0U);
  door.watched = on;
}

void Reception::OnDoor(Door& door) {
  while (door.half_open < options_.half_open_limit) {
    SocketAddress address;
    Result<UniqueFd> fd = Accept(door.fd, &address);
    if (!fd) {
      status_ = tl::unexpected<Error>(std::move(fd).error());
      return;
    }
    if (!*fd) return;
    Admit(door, *std::move(fd), door.unix_socket ? "a Unix socket" : address.ToString());
  }
  Watch(door, false);
}

void Reception::Admit(Door& door, UniqueFd fd, std::string address) {
  if (door.unix_socket) {
    const std::optional<PeerCredentials> peer = CredentialsOf(fd.get());
    if (!peer || peer->uid != geteuid()) {
      LogWarning("closed a data connection from {}: it belongs to user {}", address, peer ? peer->uid : 0);
      return;
    }
    address = fmt::format("process {}", peer->pid);
  }
  auto newcomer = std::make_unique<Newcomer>(door, self_);
  Newcomer* raw = newcomer.get();
  Result<PollSet::Id> watch = poll_set_.Add(fd.get(), EPOLLIN, [this, raw] { Advance(raw); });
  if (!watch) {
    status_ = tl::unexpected<Error>(std::move(watch).error());
    return;
  }
  raw->fd = std::move(fd);
  raw->watch = *watch;
  raw->address = std::move(address);
  raw->deadline = Deadline::After(options_.handshake);
  ++door.half_open;
  newcomers_.push_back(std::move(newcomer));
  Advance(raw);
}

void Reception::Advance(Newcomer* newcomer) {
  switch (newcomer->handshake.Advance(newcomer->fd.get())) {
    case Shake::kPending:
      return;
    case Shake::kDone:
      return Finish(newcomer);
    case Shake::kClosed:
      return Dismiss(newcomer, "it closed before it had proven who it is");
    case Shake::kRejected:
      return Dismiss(newcomer, newcomer->handshake.reason());
  }
}

void Reception::Finish(Newcomer* newcomer) {
  const LinkKey key = newcomer->handshake.key();
  if (newcomer->handshake.Take(newcomer->fd.get()) != Shake::kDone) {
    return Dismiss(newcomer, "it closed before it had proven who it is");
  }
  arrived_(key, Forget(newcomer));
}

void Reception::Dismiss(Newcomer* newcomer, const std::string& reason) {
  // A peer that found what it wanted elsewhere (another address, an answer to its question) hangs up in good
  // faith.
  const bool member = newcomer->handshake.greeted() && newcomer->handshake.reason().empty();
  Log(member ? LogLevel::kDebug : LogLevel::kWarning, "closed a data connection from {}: {}",
      newcomer->address, reason);
  Forget(newcomer);
}

UniqueFd Reception::Forget(Newcomer* newcomer) {
  poll_set_.Remove(newcomer->watch, newcomer->fd.get());
  UniqueFd fd = std::move(newcomer->fd);
  Door& door = newcomer->door;
  --door.half_open;
  std::erase_if(newcomers_, [newcomer](const auto& other) { return other.get() == newcomer; });
  Watch(door, true);
  return fd;
}

Deadline Reception::wake() const {
  return newcomers_.empty() ? Deadline::Never() : newcomers_.front()->deadline;
}

void Reception::OnTime() {
  while (!newcomers_.empty() && newcomers_.front()->deadline.Expired()) {
    Dismiss(newcomers_.front().get(),
            fmt::format("it did not prove who it is within {}", FormatDuration(options_.handshake)));
  }
}

}  // namespace muster
