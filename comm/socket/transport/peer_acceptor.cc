#include "comm/socket/transport/peer_acceptor.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/system/descriptor_room.h"

namespace muster::socket {

PeerAcceptor::PeerAcceptor(net::EventLoop& loop, const GroupMember& self, const SocketEndpoint& endpoint,
                           const PeerAcceptorOptions& options, Arrived arrived)
    : loop_(loop), self_(self), options_(options), arrived_(std::move(arrived)) {
  const auto add = [&](int fd, bool unix_socket) {
    listeners_.emplace_back(fd, unix_socket, options_.half_open_limit);
  };
  for (const int fd : endpoint.unix_fds()) add(fd, /*unix_socket=*/true);
  if (endpoint.tcp_fd() >= 0) add(endpoint.tcp_fd(), /*unix_socket=*/false);
}

PeerAcceptor::~PeerAcceptor() {
  while (!newcomers_.empty()) Forget(newcomers_.front().get());
  for (const ListeningSocket& listener : listeners_) loop_.Forget(listener.fd);
}

Status PeerAcceptor::Start() {
  for (ListeningSocket& listener : listeners_) MUSTER_CHECK(Open(listener));
  return {};
}

Status PeerAcceptor::Open(ListeningSocket& listener) {
  MUSTER_CHECK(loop_.Watch(listener.fd, EPOLLIN, [&listener](uint32_t) { listener.ready = true; }));
  listener.watched = true;
  return {};
}

void PeerAcceptor::Watch(ListeningSocket& listener, bool on) {
  if (on) listener.again = Deadline::Never();
  loop_.Change(listener.fd, on ? EPOLLIN : 0U);
  listener.watched = on;
}

void PeerAcceptor::AcceptSome(ListeningSocket& listener) {
  for (int i = 0; i < kAcceptsPerWake; ++i) {
    if (!MayAccept(listener)) {
      listener.again = listener.unix_socket ? Deadline::Never() : listener.half_open.NextVictim();
      return Watch(listener, false);
    }
    net::SocketAddress address;
    Result<UniqueFd> fd = net::Accept(listener.fd, &address);
    if (!fd && SaveDescriptors()) fd = net::Accept(listener.fd, &address);
    if (!fd) return Rest(listener, fd.error());
    if (!*fd) {
      listener.ready = false;  // the kernel reports the next one
      return;
    }
    if (DescriptorsAreScarce(fd->get()) && SaveDescriptors()) fd = WithLowestNumber(*std::move(fd));
    Admit(listener, *std::move(fd), address);
  }
}

void PeerAcceptor::Rest(ListeningSocket& listener, const Error& error) {
  failures_.Warn(error);
  listener.again = Deadline::After(net::AcceptFailures::kPause);
  Watch(listener, false);
}

// The other users of this node are closed when they are accepted: a Unix listener has no foreign peers.
bool PeerAcceptor::MayAccept(ListeningSocket& listener) {
  net::HalfOpenTable& table = listener.half_open;
  const auto now = Clock::now();
  return !table.full() || (!listener.unix_socket && (table.Crowded(now) || table.Victim(now)));
}

bool PeerAcceptor::MakeRoom(ListeningSocket& listener, const std::string& source) {
  while (listener.half_open.full()) {
    const auto now = Clock::now();
    const auto victim = listener.half_open.VictimFor(source, now);
    // The one that was to give way may have answered meanwhile: one more, then.
    if (!victim) return !listener.half_open.Crowded(now);
    GiveUpOne(*victim, listener, "its place was needed, and it had not proven its identity");
  }
  return true;
}

// Its received bytes are read first; true when it has gone.
bool PeerAcceptor::GiveUpOne(net::HalfOpenTable::Id id, const ListeningSocket& listener,
                             const std::string& reason) {
  Newcomer* newcomer = Find(listener, id);
  const bool had_greeted = newcomer->handshake.greeted();
  Advance(newcomer);
  newcomer = Find(listener, id);
  if (newcomer == nullptr) return true;
  if (newcomer->handshake.greeted() != had_greeted) return false;
  Dismiss(newcomer, reason);
  return true;
}

// Closes a newcomer when this process has almost no file descriptors left; false when there is none.
bool PeerAcceptor::SaveDescriptors() {
  for (ListeningSocket& listener : listeners_) {
    if (listener.unix_socket) continue;  // these are this user's own
    while (const auto victim = listener.half_open.AnyVictim()) {
      if (GiveUpOne(*victim, listener, "this process has almost no file descriptors left")) return true;
    }
  }
  return false;
}

PeerAcceptor::Newcomer* PeerAcceptor::Find(const ListeningSocket& listener, net::HalfOpenTable::Id id) const {
  const auto found = std::ranges::find_if(newcomers_, [&](const auto& newcomer) {
    return &newcomer->listener == &listener && newcomer->id == id;
  });
  return found == newcomers_.end() ? nullptr : found->get();
}

void PeerAcceptor::Admit(ListeningSocket& listener, UniqueFd fd, const net::SocketAddress& address) {
  if (!listener.unix_socket) {
    return AdmitFrom(listener, std::move(fd), address.ToString(), net::SourceOf(address));
  }
  const std::optional<net::PeerCredentials> peer = net::CredentialsOf(fd.get());
  if (peer && peer->uid == geteuid())
    return AdmitFrom(listener, std::move(fd), fmt::format("process {}", peer->pid), "");
  const uid_t uid = peer ? peer->uid : 0;
  rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                  fmt::format("closed a data connection from a Unix socket: it belongs to user {}", uid));
}

void PeerAcceptor::AdmitFrom(ListeningSocket& listener, UniqueFd fd, std::string address,
                             const std::string& source) {
  // Nothing is set up for it.
  if (net::PeerHasHungUp(fd.get())) {
    return rejections_.Add(
        LogLevel::kWarning, {{"peer", address}},
        fmt::format("closed a data connection from {}: it closed before it had proven its identity",
                    address));
  }
  if (!MakeRoom(listener, source)) {
    return rejections_.Add(
        LogLevel::kWarning, {{"peer", address}},
        fmt::format("closed a data connection from {}: too many connections have not proven their identity",
                    address));
  }
  auto newcomer = std::make_unique<Newcomer>(listener, self_);
  Newcomer* raw = newcomer.get();
  const Status watched = loop_.Watch(fd.get(), EPOLLIN, [this, raw](uint32_t) { Advance(raw); });
  if (!watched) {
    return rejections_.Add(
        LogLevel::kWarning, {{"peer", address}},
        fmt::format("closed a data connection from {}: {}", address, watched.error().message));
  }
  raw->fd = std::move(fd);
  raw->address = std::move(address);
  raw->deadline = Deadline::After(options_.handshake);
  raw->id = listener.half_open.Add(source, Clock::now());
  newcomers_.push_back(std::move(newcomer));
  Advance(raw);
}

void PeerAcceptor::Advance(Newcomer* newcomer) {
  const bool had_greeted = newcomer->handshake.greeted();
  switch (newcomer->handshake.Advance(newcomer->fd.get())) {
    case Shake::kPending:
      if (newcomer->handshake.greeted() && !had_greeted)
        newcomer->listener.half_open.SetSilent(newcomer->id, Clock::now());
      return;
    case Shake::kDone:
      return Finish(newcomer);
    case Shake::kClosed:
      return Dismiss(newcomer, "it closed before it had proven its identity");
    case Shake::kRejected:
      return Dismiss(newcomer, newcomer->handshake.reason());
  }
}

void PeerAcceptor::Finish(Newcomer* newcomer) {
  const LinkKey key = newcomer->handshake.key();
  if (options_.wanted && !options_.wanted(key)) return Dismiss(newcomer, "it is not needed");
  if (newcomer->handshake.Take(newcomer->fd.get()) != Shake::kDone) {
    return Dismiss(newcomer, "it closed before it had proven its identity");
  }
  newcomer->listener.half_open.SetProven(Clock::now());
  std::optional<auth::DataKeys> keys = newcomer->handshake.Keys();
  arrived_(key, {Forget(newcomer), std::move(keys)});
}

void PeerAcceptor::Dismiss(Newcomer* newcomer, const std::string& reason) {
  // A member that used another address, or has its answer already, closes the connection in the normal course.
  const bool may_be_member = newcomer->handshake.greeted() && newcomer->handshake.reason().empty();
  rejections_.Add(may_be_member ? LogLevel::kDebug : LogLevel::kWarning,
                  {{"peer", newcomer->address}, {"reason", reason}},
                  fmt::format("closed a data connection from {}: {}", newcomer->address, reason));
  Forget(newcomer);
}

UniqueFd PeerAcceptor::Forget(Newcomer* newcomer) {
  loop_.Forget(newcomer->fd.get());
  UniqueFd fd = std::move(newcomer->fd);
  ListeningSocket& listener = newcomer->listener;
  listener.half_open.Remove(newcomer->id);
  std::erase_if(newcomers_, [newcomer](const auto& other) { return other.get() == newcomer; });
  Watch(listener, true);
  return fd;
}

Deadline PeerAcceptor::wake() const {
  Deadline wake = newcomers_.empty() ? Deadline::Never() : newcomers_.front()->deadline;
  for (const ListeningSocket& listener : listeners_) wake = wake.EarlierOf(listener.again);
  return wake;
}

void PeerAcceptor::OnTime() {
  while (!newcomers_.empty() && newcomers_.front()->deadline.Expired()) {
    Dismiss(newcomers_.front().get(),
            fmt::format("it did not prove its identity within {}", FormatDuration(options_.handshake)));
  }
  for (ListeningSocket& listener : listeners_) {
    if (listener.again.Expired()) Watch(listener, true);
    if (listener.ready && listener.watched) AcceptSome(listener);
  }
}

}  // namespace muster::socket
