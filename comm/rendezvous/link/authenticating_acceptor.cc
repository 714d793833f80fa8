#include "comm/rendezvous/link/authenticating_acceptor.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/system/descriptor_room.h"

namespace muster::rendezvous {
namespace {

// Before other work of the loop has its turn.
constexpr int kAnswersPerWake = 4;

}  // namespace

AuthenticatingAcceptor::AuthenticatingAcceptor(net::EventLoop& loop, Params params, auth::Prover& prover,
                                               OnLink on_link)
    : loop_(loop),
      params_(std::move(params)),
      prover_(prover),
      on_link_(std::move(on_link)),
      table_(params_.most_half_open) {}

AuthenticatingAcceptor::~AuthenticatingAcceptor() { Close(); }

Result<uint16_t> AuthenticatingAcceptor::Open(net::SocketAddress address, const std::vector<uint16_t>& ports,
                                              bool* forbidden) {
  std::string problem;
  size_t denied = 0;
  for (const uint16_t port : ports) {
    address.set_port(port);
    int error_number = 0;
    Result<UniqueFd> bound = net::Listen(address, &error_number);
    if (!bound) {
      problem = bound.error().message;
      if (error_number == EACCES) ++denied;
      continue;
    }
    listeners_.push_back(std::make_unique<net::Acceptor>(
        loop_, *std::move(bound),
        [this](UniqueFd fd, const net::SocketAddress& peer) { Admit(std::move(fd), peer); }));
    MUSTER_CHECK(listeners_.back()->Start());
    return port;
  }
  std::vector<int> tried(ports.begin(), ports.end());
  std::ranges::sort(tried);
  auto failure = Fail(Code::kSystem, "no port to listen on among {}: {}", FormatRanges(tried), problem);
  if (denied < ports.size()) return failure;
  if (forbidden != nullptr) *forbidden = true;
  return WithHint(std::move(failure), "choose a port from 1024 on; lower ones are for root");
}

void AuthenticatingAcceptor::Close() {
  listeners_.clear();
  room_timer_.Cancel();
  answer_timer_.Cancel();
  first_messages_ = {};
  for (const auto& [id, entry] : half_open_) table_.Remove(id);
  half_open_.clear();
  key_.Wipe();
}

void AuthenticatingAcceptor::Admit(UniqueFd fd, const net::SocketAddress& peer) {
  // Nothing is set up for a connection that will not stay.
  if (net::PeerHasHungUp(fd.get())) return LogStranger(peer, "it closed the connection");
  const std::string source = params_.source(peer);
  const bool scarce = DescriptorsAreScarce(fd.get());
  if (!MakeRoom(fd.get(), source))
    return LogStranger(peer, "too many connections have not proven their identity");
  if (scarce) fd = WithLowestNumber(std::move(fd));
  const Id id = table_.Add(source, Clock::now());
  HalfOpen& entry = half_open_[id];
  entry.peer = peer;
  entry.source = source;
  entry.stream = std::make_unique<net::FrameStream>(loop_, std::move(fd), auth::kMaxHandshakeMessage);
  entry.handshake = std::make_unique<auth::Handshake>(
      auth::Handshake::Params{auth::Role::kServer, params_.meeting, peer.ToString(), params_.self, source},
      prover_, key_, [this, id](const Bytes& message) { Transmit(id, message); },
      [this, id](auth::HandshakeResult result) { Finish(id, std::move(result)); });
  entry.clock = std::make_unique<HandshakeClock>(
      loop_, params_.handshake_timeout, [this, id](bool own_prover) { OnHandshakeTimeout(id, own_prover); });
  entry.stream->Start([this, id](ByteView frame) { OnFrame(id, frame); },
                      [this, id](const Error& error) { OnClosed(id, error); });
  UpdateListening();
  entry.handshake->Start();
}

void AuthenticatingAcceptor::OnFrame(Id id, ByteView frame) {
  HalfOpen& entry = half_open_.at(id);
  if (!entry.first.empty()) return TurnAway(id, "it sent a second message before it had an answer");
  if (entry.heard) return Continue(id, frame);
  entry.heard = true;
  entry.first.assign(frame.begin(), frame.end());
  table_.SetActive(id);
  UpdateListening();
  entry.clock->SetOwnTurn(true);
  first_messages_.Push(entry.source, id);
  if (!answer_timer_.pending()) answer_timer_ = loop_.After(Duration::zero(), [this] { AnswerFirst(); });
}

void AuthenticatingAcceptor::AnswerFirst() {
  for (int answered = 0; answered < kAnswersPerWake;) {
    const std::optional<Id> id = first_messages_.Pop();
    if (!id) return UpdateListening();
    // The peer may have closed its connection meanwhile.
    if (const auto found = half_open_.find(*id); found != half_open_.end()) found->second.stream->ReadNow();
    const auto found = half_open_.find(*id);
    if (found == half_open_.end()) continue;
    Continue(*id, std::exchange(found->second.first, {}));
    ++answered;
  }
  answer_timer_ = loop_.After(Duration::zero(), [this] { AnswerFirst(); });
}

void AuthenticatingAcceptor::Continue(Id id, ByteView message) {
  half_open_.at(id).handshake->OnMessage(message);
  // The message may have ended it.
  const auto found = half_open_.find(id);
  if (found == half_open_.end() || !found->second.handshake->WaitsForProver()) return;
  found->second.own_turn = true;
  table_.SetActive(id);
  found->second.clock->SetOwnTurn(true);
}

// With an answer of this side it is the peer's turn.
void AuthenticatingAcceptor::Transmit(Id id, ByteView message) {
  HalfOpen& entry = half_open_.at(id);
  const auto now = Clock::now();
  if (std::exchange(entry.own_turn, false)) prover_answered_ = now;
  entry.heard = true;
  table_.SetSilent(id, now);
  UpdateListening();
  entry.clock->SetOwnTurn(false);
  entry.stream->Send(message);
}

bool AuthenticatingAcceptor::MakeRoom(int newest, const std::string& source) {
  if (DescriptorsAreScarce(newest)) {
    if (const auto victim = table_.AnyVictim())
      GiveUp(*victim, "this process has almost no file descriptors left");
  }
  while (table_.full()) {
    const auto now = Clock::now();
    const auto victim = table_.VictimFor(source, now);
    // The one that was to give way may have proven itself meanwhile: one more, then.
    if (!victim) return !table_.Crowded(now) && table_.size() < Ceiling();
    GiveUp(*victim, "its place was needed, and it had not proven its identity");
  }
  return true;
}

// Received data is read first: the peer may have proven itself meanwhile.
void AuthenticatingAcceptor::GiveUp(Id id, const std::string& reason) {
  const auto state = [](const HalfOpen& entry) { return std::pair(entry.heard, entry.own_turn); };
  const auto before = state(half_open_.at(id));
  half_open_.at(id).stream->ReadNow();
  const auto found = half_open_.find(id);
  if (found == half_open_.end() || state(found->second) != before) return;
  TurnAway(id, reason);
}

// The loop serves some of the connections before its timers, so a message may wait. While the own prover works on other
// peers' proofs, or the first message waits for its turn, this peer waits without a limit.
void AuthenticatingAcceptor::OnHandshakeTimeout(Id id, bool own_prover) {
  const std::string limit = FormatDuration(params_.handshake_timeout);
  if (!own_prover) return GiveUp(id, fmt::format("it did not prove its identity within {}", limit));
  if (!half_open_.at(id).first.empty()) return;
  if (Clock::now() - prover_answered_ < params_.handshake_timeout) return;
  last_refusal_ =
      fmt::format("{}: auth {} of {} itself did not answer within {}", half_open_.at(id).peer.ToString(),
                  auth::AuthMethodName(prover_.method()), params_.self, limit);
  TurnAway(id, last_refusal_);
}

// Peers in the kernel's queue are accepted when earlier ones have proven themselves or give way; immediately, if a
// single address has most places.
void AuthenticatingAcceptor::UpdateListening() {
  const auto now = Clock::now();
  const bool answers_first = table_.size() >= Ceiling() && !first_messages_.empty();
  const bool full = table_.full() && !table_.Crowded(now) && !table_.Victim(now);
  for (const auto& listener : listeners_) listener->SetPaused(answers_first || full);
  room_timer_.Cancel();
  const Deadline next = full ? table_.NextVictim() : Deadline::Never();
  if (!next.IsNever()) room_timer_ = loop_.At(next.when(), [this] { UpdateListening(); });
}

void AuthenticatingAcceptor::Finish(Id id, auth::HandshakeResult result) {
  if (result.outcome != auth::Outcome::kDone) {
    const bool ours = result.outcome == auth::Outcome::kRejected;
    if (ours) last_refusal_ = result.error.message;
    return TurnAway(id, ours ? result.error.message : result.reason);
  }
  const net::SocketAddress peer = half_open_.at(id).peer;
  table_.SetProven(Clock::now());
  std::unique_ptr<net::FrameStream> stream = Remove(id);
  if (!stream->open()) return;
  stream->set_longest_frame(kLongestMessage);
  stream->Seal(std::move(result.channel->sealer), std::move(result.channel->opener));
  on_link_(std::move(stream), peer);
}

// A leader tries all addresses of the root, some of them again, and keeps one connection.
void AuthenticatingAcceptor::OnClosed(Id id, const Error& error) {
  const HalfOpen& entry = half_open_.at(id);
  const bool answered = entry.heard && entry.first.empty();
  if (!answered && !AsText(entry.first).starts_with(auth::kHandshakeMagic))
    return TurnAway(id, error.message.empty() ? "it closed the connection" : error.message);
  const std::string name = entry.peer.ToString();
  rejections_.Add(LogLevel::kDebug, {{"peer", name}}, fmt::format("{} gave up an attempt to connect", name));
  Remove(id);
}

void AuthenticatingAcceptor::LogStranger(const net::SocketAddress& peer, const std::string& reason) {
  // The handshake's message names its peer already.
  const std::string name = peer.ToString();
  const bool named = reason.starts_with(name);
  rejections_.Add(LogLevel::kInfo, {{"peer", name}, {"reason", reason}},
                  fmt::format("rejected a connection: {}{}{}", named ? "" : name, named ? "" : ": ", reason));
}

void AuthenticatingAcceptor::TurnAway(Id id, const std::string& reason) {
  const auto found = half_open_.find(id);
  if (found == half_open_.end()) return;
  LogStranger(found->second.peer, reason);
  Remove(id);
}

std::unique_ptr<net::FrameStream> AuthenticatingAcceptor::Remove(Id id) {
  const auto node = half_open_.extract(id);
  table_.Remove(id);
  UpdateListening();
  return std::move(node.mapped().stream);
}

}  // namespace muster::rendezvous
