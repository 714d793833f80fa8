#include "comm/socket/transport/reception.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/descriptor_room.h"
#include "comm/net/socket.h"

namespace muster {
namespace {

// How long a listener rests after accept(2) has failed.
constexpr Duration kRest = std::chrono::milliseconds(100);

}  // namespace

Reception::Reception(PollSet& poll_set, const GroupMember& self, const SocketEndpoint& endpoint,
                     const ReceptionOptions& options, Arrived arrived)
    : poll_set_(poll_set), self_(self), options_(options), arrived_(std::move(arrived)) {
  const auto add = [&](int fd, bool unix_socket) {
    doors_.emplace_back(fd, unix_socket, options_.half_open_limit);
  };
  for (const int fd : endpoint.unix_fds()) add(fd, /*unix_socket=*/true);
  if (endpoint.tcp_fd() >= 0) add(endpoint.tcp_fd(), /*unix_socket=*/false);
}

Reception::~Reception() {
  while (!newcomers_.empty()) Forget(newcomers_.front().get());
  for (Door& door : doors_) Watch(door, false);
}

Status Reception::Start() {
  for (Door& door : doors_) MUSTER_CHECK(Open(door));
  return {};
}

Status Reception::Open(Door& door) {
  MUSTER_TRY(door.watch, poll_set_.Add(door.fd, EPOLLIN, [&door] { door.ready = true; }));
  door.watched = true;
  return {};
}

void Reception::Watch(Door& door, bool on) {
  if (on) door.again = Deadline::Never();
  if (door.watch == 0 || door.watched == on) return;
  poll_set_.Change(door.watch, door.fd, on ? EPOLLIN : 0U);
  door.watched = on;
}

void Reception::AcceptSome(Door& door) {
  for (int i = 0; i < kAcceptsPerWake; ++i) {
    if (!HasRoom(door)) {
      door.again = door.unix_socket ? Deadline::Never() : door.half_open.NextVictim();
      return Watch(door, false);
    }
    SocketAddress address;
    Result<UniqueFd> fd = Accept(door.fd, &address);
    if (!fd && SaveDescriptors()) fd = Accept(door.fd, &address);
    if (!fd) return Rest(door, fd.error());
    if (!*fd) {
      door.ready = false;  // the kernel says when there is another one
      return;
    }
    complained_ = false;
    if (DescriptorsAreScarce(fd->get())) SaveDescriptors();
    Admit(door, *std::move(fd), address);
  }
}

void Reception::Rest(Door& door, const Error& error) {
  if (!complained_) LogWarning("{}; trying again", error.message);
  complained_ = true;
  door.again = Deadline::After(kRest);
  Watch(door, false);
}

// The other users of this node are closed when they are accepted: a Unix listener has no strangers.
bool Reception::HasRoom(Door& door) {
  while (door.half_open.full()) {
    const auto victim = door.unix_socket ? std::nullopt : door.half_open.Victim(Clock::now());
    if (!victim) return false;
    GiveUpOne(*victim, door, "others need its place and it proves nothing");
  }
  return true;
}

// What it has sent is read first; true when it has gone.
bool Reception::GiveUpOne(HalfOpenTable::Id id, const Door& door, const std::string& reason) {
  Newcomer* newcomer = Find(door, id);
  const bool had_greeted = newcomer->handshake.greeted();
  Advance(newcomer);
  newcomer = Find(door, id);
  if (newcomer == nullptr) return true;
  if (newcomer->handshake.greeted() != had_greeted) return false;
  Dismiss(newcomer, reason);
  return true;
}

// Closes a newcomer when this process has hardly a descriptor left; false when there is none.
bool Reception::SaveDescriptors() {
  for (Door& door : doors_) {
    if (door.unix_socket) continue;  // these are this user's own
    while (const auto victim = door.half_open.AnyVictim()) {
      if (GiveUpOne(*victim, door, "this process has hardly a file descriptor left")) return true;
    }
  }
  return false;
}

Reception::Newcomer* Reception::Find(const Door& door, HalfOpenTable::Id id) const {
  const auto found = std::ranges::find_if(
      newcomers_, [&](const auto& newcomer) { return &newcomer->door == &door && newcomer->id == id; });
  return found == newcomers_.end() ? nullptr : found->get();
}

void Reception::Admit(Door& door, UniqueFd fd, const SocketAddress& address) {
  if (!door.unix_socket) {
    return AdmitFrom(door, std::move(fd), address.ToString(), address.Host());
  }
  const std::optional<PeerCredentials> peer = CredentialsOf(fd.get());
  if (peer && peer->uid == geteuid())
    return AdmitFrom(door, std::move(fd), fmt::format("process {}", peer->pid), "");
  const uid_t uid = peer ? peer->uid : 0;
  rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                  fmt::format("closed a data connection from a Unix socket: it belongs to user {}", uid));
}

void Reception::AdmitFrom(Door& door, UniqueFd fd, std::string address, const std::string& host) {
  // Nothing is set up for it.
  if (PeerHasHungUp(fd.get())) {
    return rejections_.Add(
        LogLevel::kWarning, {{"peer", address}},
        fmt::format("closed a data connection from {}: it closed before it had proven who it is", address));
  }
  auto newcomer = std::make_unique<Newcomer>(door, self_);
  Newcomer* raw = newcomer.get();
  Result<PollSet::Id> watch = poll_set_.Add(fd.get(), EPOLLIN, [this, raw] { Advance(raw); });
  if (!watch) {
    return rejections_.Add(
        LogLevel::kWarning, {{"peer", address}},
        fmt::format("closed a data connection from {}: {}", address, watch.error().message));
  }
  raw->fd = std::move(fd);
  raw->watch = *watch;
  raw->address = std::move(address);
  raw->deadline = Deadline::After(options_.handshake);
  raw->id = door.half_open.Add(host, Clock::now());
  newcomers_.push_back(std::move(newcomer));
  Advance(raw);
}

void Reception::Advance(Newcomer* newcomer) {
  const bool had_greeted = newcomer->handshake.greeted();
  switch (newcomer->handshake.Advance(newcomer->fd.get())) {
    case Shake::kPending:
      if (newcomer->handshake.greeted() && !had_greeted)
        newcomer->door.half_open.SetSilent(newcomer->id, Clock::now());
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
  if (options_.wanted && !options_.wanted(key)) return Dismiss(newcomer, "it is not needed");
  if (newcomer->handshake.Take(newcomer->fd.get()) != Shake::kDone) {
    return Dismiss(newcomer, "it closed before it had proven who it is");
  }
  std::optional<DataKeys> keys = newcomer->handshake.Keys();
  arrived_(key, {Forget(newcomer), std::move(keys)});
}

void Reception::Dismiss(Newcomer* newcomer, const std::string& reason) {
  // A peer that found what it wanted elsewhere (another address, an answer to its question) hangs up in good
  // faith.
  const bool member = newcomer->handshake.greeted() && newcomer->handshake.reason().empty();
  const std::string text = fmt::format("closed a data connection from {}: {}", newcomer->address, reason);
  if (member) {
    LogDebug("{}", text);
  } else {
    rejections_.Add(LogLevel::kWarning, {{"peer", newcomer->address}, {"reason", reason}}, text);
  }
  Forget(newcomer);
}

UniqueFd Reception::Forget(Newcomer* newcomer) {
  poll_set_.Remove(newcomer->watch, newcomer->fd.get());
  UniqueFd fd = std::move(newcomer->fd);
  Door& door = newcomer->door;
  door.half_open.Remove(newcomer->id);
  std::erase_if(newcomers_, [newcomer](const auto& other) { return other.get() == newcomer; });
  Watch(door, true);
  return fd;
}

Deadline Reception::wake() const {
  Deadline wake = newcomers_.empty() ? Deadline::Never() : newcomers_.front()->deadline;
  for (const Door& door : doors_) wake = wake.EarlierOf(door.again);
  return wake;
}

void Reception::OnTime() {
  while (!newcomers_.empty() && newcomers_.front()->deadline.Expired()) {
    Dismiss(newcomers_.front().get(),
            fmt::format("it did not prove who it is within {}", FormatDuration(options_.handshake)));
  }
  for (Door& door : doors_) {
    if (door.again.Expired()) Watch(door, true);
    if (door.ready && door.watched) AcceptSome(door);
  }
}

}  // namespace muster
