#include "comm/socket/reception.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/log.h"
#include "comm/base/parse.h"
#include "comm/net/socket.h"

namespace muster {
namespace {

// A scanner must not fill the log.
constexpr size_t kStrangersLogged = 20;

}  // namespace

Reception::Reception(PollSet& poll_set, const GroupMember& self, const SocketEndpoint& endpoint,
                     const ReceptionOptions& options, Arrived arrived)
    : poll_set_(poll_set), self_(self), options_(options), arrived_(std::move(arrived)) {
  for (const int fd : endpoint.unix_fds()) doors_.push_back({fd, /*unix_socket=*/true});
  if (endpoint.tcp_fd() >= 0) doors_.push_back({endpoint.tcp_fd(), /*unix_socket=*/false});
}

Reception::~Reception() {
  while (!newcomers_.empty()) Forget(newcomers_.front().get());
  for (Door& door : doors_) Watch(door, false);
  if (strangers_ > kStrangersLogged)
    LogWarning("closed {} data connections of strangers altogether", strangers_);
}

Status Reception::Start() {
  for (Door& door : doors_) MUSTER_CHECK(Open(door));
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
  while (door.half_open < options_.half_open_limit || MakeRoom(door)) {
    SocketAddress address;
    Result<UniqueFd> fd = Accept(door.fd, &address);
    if (!fd) {
      status_ = tl::unexpected<Error>(std::move(fd).error());
      return;
    }
    if (!*fd) return;
    Admit(door, *std::move(fd), address);
  }
  Watch(door, false);
}

void Reception::Admit(Door& door, UniqueFd fd, const SocketAddress& address) {
  if (!door.unix_socket) {
    return AdmitFrom(door, std::move(fd), address.ToString(), address.Host());
  }
  const std::optional<PeerCredentials> peer = CredentialsOf(fd.get());
  if (peer && peer->uid == geteuid())
    return AdmitFrom(door, std::move(fd), fmt::format("process {}", peer->pid), "");
  const uid_t uid = peer ? peer->uid : 0;
  LogEvent(LogLevel::kWarning, "stranger", {{"uid", uid}},
           "closed a data connection from a Unix socket: it belongs to user {}", uid);
}

// Only where there is no room, and never who has greeted as a member does: the ranks of a large node may all
// have come while this one computed.
bool Reception::MakeRoom(const Door& door) {
  if (door.unix_socket) return false;
  std::map<std::string_view, std::vector<Newcomer*>> silent;  // by address, the oldest first
  for (const auto& newcomer : newcomers_) {
    if (&newcomer->door == &door && !newcomer->handshake.greeted())
      silent[newcomer->host].push_back(newcomer.get());
  }
  const auto most =
      std::ranges::max_element(silent, {}, [](const auto& address) { return address.second.size(); });
  if (most == silent.end() || most->second.size() <= options_.most_from_one_address) return false;
  Dismiss(most->second.front(),
          fmt::format("its address has more than {} that prove nothing", options_.most_from_one_address));
  return true;
}

void Reception::AdmitFrom(Door& door, UniqueFd fd, std::string address, std::string host) {
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
  raw->host = std::move(host);
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
  if (options_.wanted && !options_.wanted(key)) return Dismiss(newcomer, "it is not needed");
  if (newcomer->handshake.Take(newcomer->fd.get()) != Shake::kDone) {
    return Dismiss(newcomer, "it closed before it had proven who it is");
  }
  arrived_(key, Forget(newcomer));
}

void Reception::Dismiss(Newcomer* newcomer, const std::string& reason) {
  // A peer that found what it wanted elsewhere (another address, an answer to its question) hangs up in good
  // faith.
  const bool member = newcomer->handshake.greeted() && newcomer->handshake.reason().empty();
  strangers_ += member ? 0 : 1;
  if (strangers_ <= kStrangersLogged) {
    Log(member ? LogLevel::kDebug : LogLevel::kWarning, "closed a data connection from {}: {}",
        newcomer->address, reason);
  } else if (!member && strangers_ == kStrangersLogged + 1) {
    LogWarning("more than {} data connections of strangers closed; the rest are not logged",
               kStrangersLogged);
  }
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
