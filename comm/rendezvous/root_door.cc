#include "comm/rendezvous/root_door.h"

#include <algorithm>

#include "comm/base/log.h"
#include "comm/base/parse.h"
#include "comm/rendezvous/messages.h"

namespace muster {
namespace {

// A scanner must not fill the log.
constexpr uint64_t kStrangersLogged = 20;

}  // namespace

RootDoor::RootDoor(EventLoop& loop, Params params, Prover& prover, OnLink on_link)
    : loop_(loop), params_(std::move(params)), prover_(prover), on_link_(std::move(on_link)) {}

RootDoor::~RootDoor() { Close(); }

Result<uint16_t> RootDoor::Open(const std::vector<SocketAddress>& addresses,
                                const std::vector<uint16_t>& ports) {
  std::string problem;
  listeners_.clear();
  for (const uint16_t port : ports) {
    Result<std::vector<UniqueFd>> bound = BindAll(addresses, port);
    if (!bound) {
      problem = bound.error().message;
      continue;
    }
    for (UniqueFd& listener : *bound) {
      listeners_.push_back(std::make_unique<Acceptor>(
          loop_, std::move(listener),
          [this](UniqueFd fd, const SocketAddress& peer) { Admit(std::move(fd), peer); }));
      MUSTER_CHECK(listeners_.back()->Start());
    }
    return port;
  }
  std::vector<int> tried(ports.begin(), ports.end());
  std::ranges::sort(tried);
  return Fail(Code::kSystem, "no port to listen on among {}: {}", FormatRanges(tried), problem);
}

Result<std::vector<UniqueFd>> RootDoor::BindAll(const std::vector<SocketAddress>& addresses, uint16_t port) {
  std::vector<UniqueFd> bound;
  for (SocketAddress address : addresses) {
    address.set_port(port);
    MUSTER_TRY(UniqueFd listener, Listen(address));
    bound.push_back(std::move(listener));
  }
  return bound;
}

void RootDoor::Close() {
  listeners_.clear();
  for (const HalfOpen& entry : half_open_) loop_.Cancel(entry.timer);
  half_open_.clear();
}

void RootDoor::Admit(UniqueFd fd, const SocketAddress& peer) {
  half_open_.push_back(
      {std::make_unique<FrameStream>(loop_, std::move(fd), kMaxHandshakeMessage), nullptr, peer, 0});
  const Entry entry = std::prev(half_open_.end());
  FrameStream* stream = entry->stream.get();
  entry->handshake = std::make_unique<Handshake>(
      Handshake::Params{Role::kServer, params_.meeting, peer.ToString(), params_.self}, prover_,
      [stream](Bytes message) { stream->Send(message); },
      [this, entry](HandshakeResult result) { Finish(entry, std::move(result)); });
  entry->timer = loop_.After(params_.handshake_timeout, [this, entry] {
    TurnAway(entry, fmt::format("it proved nothing within {}", FormatDuration(params_.handshake_timeout)));
  });
  stream->Start([entry](ByteView frame) { entry->handshake->OnMessage(frame); },
                [this, entry](const Error& error) {
                  TurnAway(entry, error.message.empty() ? "it closed the connection" : error.message);
                });
  UpdateListening();
  entry->handshake->Start();
}

// Those who wait in the kernel's queue come in when others have proven themselves or timed out.
void RootDoor::UpdateListening() {
  const bool full = half_open_.size() >= params_.most_half_open;
  for (const auto& listener : listeners_) listener->SetPaused(full);
}

void RootDoor::Finish(Entry entry, HandshakeResult result) {
  if (result.outcome != Outcome::kDone) {
    const bool ours = result.outcome == Outcome::kRejected;
    if (ours) last_refusal_ = result.error.message;
    return TurnAway(entry, ours ? result.error.message : result.reason);
  }
  const SocketAddress peer = entry->peer;
  std::unique_ptr<FrameStream> stream = Remove(entry);
  if (!stream->open()) return;
  stream->set_longest_frame(kLongestMessage);
  stream->Seal(std::move(result.channel->sealer), std::move(result.channel->opener));
  on_link_(std::move(stream), peer);
}

void RootDoor::TurnAway(Entry entry, const std::string& reason) {
  if (++strangers_ <= kStrangersLogged) {
    // What the handshake says names its peer already.
    const std::string peer = entry->peer.ToString();
    const bool named = reason.starts_with(peer);
    LogInfo("turned away a connection: {}{}{}", named ? "" : peer, named ? "" : ": ", reason);
  } else if (strangers_ == kStrangersLogged + 1) {
    LogWarning("more than {} connections turned away; the rest are not logged", kStrangersLogged);
  }
  Remove(entry);
}

std::unique_ptr<FrameStream> RootDoor::Remove(Entry entry) {
  loop_.Cancel(entry->timer);
  std::unique_ptr<FrameStream> stream = std::move(entry->stream);
  half_open_.erase(entry);
  UpdateListening();
  return stream;
}

}  // namespace muster
