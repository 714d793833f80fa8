#include "comm/rendezvous/tcp_store/server.h"

#include <algorithm>

#include "comm/base/log.h"
#include "comm/base/parse.h"

namespace muster::tcp_store {
namespace {

constexpr size_t kReadAtOnce = 64 * 1024;

}  // namespace

Server::Server(EventLoop& loop, UniqueFd listener, ServerOptions options)
    : loop_(loop),
      options_(std::move(options)),
      address_(LocalAddress(listener.get())),
      memory_("the store's keys and values", options_.memory),
      buffers_("the buffers of the store's clients", options_.buffers),
      host_{.loop = loop,
            .limits = options_.limits,
            .buffers = buffers_,
            .wake =
                [this](ClientId id) {
                  if (const auto found = sessions_.find(id); found != sessions_.end())
                    found->second.session->Wake();
                },
            .closed = [this](ClientId id, const Error& reason) { OnClosed(id, reason); },
            .received = Bytes(kReadAtOnce)},
      acceptor_(loop, std::move(listener),
                [this](UniqueFd fd, const SocketAddress& peer) { OnAccept(std::move(fd), peer); }) {}

Server::~Server() { Clear(); }

Status Server::Start() { return acceptor_.Start(); }

void Server::OnAccept(UniqueFd fd, const SocketAddress& peer) {
  const ClientId id = next_id_++;
  Client client{std::make_shared<Session>(host_, id, std::move(fd), peer), 0, spaces_.end()};
  client.handshake = loop_.After(options_.handshake, [this, id] { Expire(id); });
  sessions_.emplace(id, std::move(client));
  if (sessions_.size() >= options_.most_clients) {
    acceptor_.SetPaused(true);
    if (!full_said_) {
      LogWarning("store {}: {} clients are connected, which is the most; others wait until one leaves",
                 address_.ToString(), sessions_.size());
    }
    full_said_ = true;
  }
  if (!options_.gate) return Admit(id, Member{});
  options_.gate(peer, [this, id, alive = std::weak_ptr<bool>(alive_)](const Result<Member>& verdict) {
    if (!alive.expired()) Admit(id, verdict);
  });
}

void Server::Admit(ClientId id, const Result<Member>& verdict) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const std::shared_ptr<Session> session = found->second.session;
  if (!verdict) return session->Close(verdict.error());
  const auto space = spaces_.try_emplace(verdict->space, options_.limits, memory_, options_.ranks).first;
  found->second.space = space;
  if (const Status started = session->Start(space->second, verdict->rank); !started)
    session->Close(started.error());
}

void Server::Expire(ClientId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.session->validated()) return;
  const std::shared_ptr<Session> session = found->second.session;
  session->Close(
      {Code::kDeadline, fmt::format("it said nothing for {}", FormatSeconds(options_.handshake)), {}});
}

void Server::OnClosed(ClientId id, const Error& reason) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  // A client's end, however sudden, is no event of the store's; what the store itself objects to is.
  const LogLevel level = reason.code == Code::kSystem ? LogLevel::kDebug : LogLevel::kWarning;
  if (!reason.message.empty()) {
    Log(level, "store {}: closed the connection from {}: {}", address_.ToString(),
        found->second.session->peer().ToString(), reason.message);
  }
  loop_.Cancel(found->second.handshake);
  const auto space = found->second.space;
  sessions_.erase(found);
  if (space != spaces_.end() && space->second.clients() == 0 && space->first < first_space_)
    spaces_.erase(space);
  if (sessions_.size() < options_.most_clients) acceptor_.SetPaused(false);
}

void Server::Clear() {
  while (!sessions_.empty()) {
    const std::shared_ptr<Session> session = sessions_.begin()->second.session;
    session->Close({Code::kSystem, "", {}});
  }
  spaces_.clear();
}

void Server::DropBelow(Space first) {
  first_space_ = std::max(first_space_, first);
  std::erase_if(spaces_, [this](const auto& entry) {
    return entry.first < first_space_ && entry.second.clients() == 0;
  });
}

size_t Server::keys() const {
  size_t keys = 0;
  for (const auto& [number, space] : spaces_) keys += space.keys();
  return keys;
}

}  // namespace muster::tcp_store
