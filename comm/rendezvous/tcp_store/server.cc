#include "comm/rendezvous/tcp_store/server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::tcp_store {
namespace {

constexpr size_t kReadAtOnce = 64 * 1024;

Entrance::Limits EntranceLimits(const ServerOptions& options) {
  Entrance::Limits limits = options.entrance;
  limits.clients = std::min(limits.clients, std::max<size_t>(1, options.most_clients / 4));
  return limits;
}

}  // namespace

Server::Server(net::EventLoop& loop, UniqueFd listener, ServerOptions options)
    : loop_(loop),
      options_(std::move(options)),
      address_(net::LocalAddress(listener.get())),
      memory_("the store's keys and values", options_.memory),
      buffers_("the buffers of the store's clients", options_.buffers),
      host_{.loop = loop,
            .limits = options_.limits,
            .buffers = buffers_,
            .greeted = [this](ClientId id) { OnGreeted(id); },
            .wake =
                [this](ClientId id) {
                  if (const auto found = sessions_.find(id); found != sessions_.end())
                    found->second.session->Wake();
                },
            .closed = [this](ClientId id, const Error& reason) { OnClosed(id, reason); },
            .received = Bytes(kReadAtOnce)},
      entrance_(EntranceLimits(options_)),
      acceptor_(loop, std::move(listener),
                [this](UniqueFd fd, const net::SocketAddress& peer) { OnAccept(std::move(fd), peer); }) {}

Server::~Server() { Clear(); }

Status Server::Start() { return acceptor_.Start(); }

void Server::OnAccept(UniqueFd fd, const net::SocketAddress& peer) {
  if (options_.screen) {
    const Status passed = options_.screen(peer, net::LocalAddress(fd.get()));
    if (!passed) return Refuse(peer, passed.error());
  }
  const ClientId id = next_id_++;
  const std::optional<ClientId> silent =
      sessions_.size() >= options_.most_clients ? entrance_.OldestSilent() : std::nullopt;
  const Entrance::Arrival arrival = entrance_.Arrive(id, peer.Host(), Clock::now());
  if (arrival.refused)
    return Refuse(peer, {Code::kAuthentication, "its host did not identify earlier connections"});
  for (const auto& gives_way : {silent, arrival.evicted}) {
    if (gives_way)
      CloseClient(*gives_way, {Code::kDeadline, "it had sent nothing, and its place was needed"});
  }
  const auto session = std::make_shared<Session>(host_, id, std::move(fd), peer);
  sessions_.emplace(
      id, Client{session, loop_.After(options_.handshake, [this, id] { Expire(id); }), spaces_.end()});
  UpdatePaused();
  if (const Status watched = session->AwaitGreeting(); !watched) session->Close(watched.error());
}

void Server::UpdatePaused() {
  const bool all = sessions_.size() >= options_.most_clients;
  acceptor_.SetPaused((all && !entrance_.OldestSilent()) || entrance_.full());
  if (!all || full_said_) return;
  full_said_ = true;
  LogWarning("store {}: {} clients are connected, the limit; further ones wait until one leaves",
             address_.ToString(), sessions_.size());
}

void Server::OnGreeted(ClientId id) {
  sessions_.at(id).handshake.Cancel();
  if (!options_.gate) return Admit(id, Member{});
  entrance_.Greeted(id);
  AskNext();
  UpdatePaused();
}

void Server::AskNext() {
  while (const auto question = entrance_.NextQuestion(Clock::now())) {
    const auto on_verdict = [this, question = *question,
                             alive = std::weak_ptr<bool>(alive_)](const auto& verdict) {
      if (!alive.expired()) OnVerdict(question, verdict);
    };
    const auto found = sessions_.find(question->client);
    if (found != sessions_.end()) options_.gate(found->second.session->peer(), on_verdict);
  }
}

void Server::OnVerdict(const Entrance::Question& question, const Result<std::optional<Member>>& verdict) {
  if (verdict && !*verdict) {
    entrance_.Unanswered(question);
  } else {
    entrance_.Answered(question.host, Clock::now());
    if (verdict) Admit(question.client, **verdict);
    if (!verdict) CloseClient(question.client, verdict.error());
  }
  AskNext();
}

void Server::Admit(ClientId id, const Member& member) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const std::shared_ptr<Session> session = found->second.session;
  entrance_.Leave(id);
  const auto space = spaces_.try_emplace(member.space, options_.limits, memory_, options_.ranks).first;
  found->second.space = space;
  session->Start(space->second, member.rank);
  UpdatePaused();
}

// The loop serves some of the connections before its timers, so a greeting may wait.
void Server::Expire(ClientId id) {
  const std::shared_ptr<Session> session = sessions_.at(id).session;
  session->ReadGreeting();
  if (session->greeted()) return;
  session->Close({Code::kDeadline, fmt::format("it sent nothing for {}", FormatSeconds(options_.handshake))});
}

void Server::CloseClient(ClientId id, const Error& reason) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const std::shared_ptr<Session> session = found->second.session;
  session->Close(reason);
}

void Server::Refuse(const net::SocketAddress& peer, const Error& reason) {
  std::string message = fmt::format("store {}: closed the connection from {}: {}", address_.ToString(),
                                    peer.ToString(), reason.message);
  if (reason.code == Code::kDisagreement && !options_.advice.empty()) message += "; " + options_.advice;
  rejections_.Add(LogLevel::kWarning, {{"peer", peer.ToString()}}, message);
}

void Server::OnClosed(ClientId id, const Error& reason) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const auto space = found->second.space;
  const bool was_admitted = space != spaces_.end();
  const net::SocketAddress peer = found->second.session->peer();
  entrance_.Leave(id);
  sessions_.erase(found);
  // The end of a client's connection, even if sudden, is not logged; a refusal by the store itself is.
  if (reason.code != Code::kSystem && !was_admitted) Refuse(peer, reason);
  if (was_admitted && !reason.message.empty()) {
    const LogLevel level = reason.code == Code::kSystem ? LogLevel::kDebug : LogLevel::kWarning;
    const std::string text = fmt::format("store {}: closed the connection from {}: {}", address_.ToString(),
                                         peer.ToString(), reason.message);
    // Without a gate a stranger is a client too. With one, no flood of strangers may hide a member's failure.
    if (options_.gate) {
      Log(level, "{}", text);
    } else {
      rejections_.Add(level, {{"peer", peer.ToString()}}, text);
    }
  }
  if (was_admitted && space->second.clients() == 0 && space->first < first_space_) spaces_.erase(space);
  UpdatePaused();
}

void Server::Clear() {
  while (!sessions_.empty()) {
    const std::shared_ptr<Session> session = sessions_.begin()->second.session;
    session->Close({Code::kSystem, ""});
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
