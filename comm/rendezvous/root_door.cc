#include "comm/rendezvous/root_door.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

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
  if (strangers_ > kStrangersLogged && !listeners_.empty()) {
    LogWarning("{} connections were turned away altogether", strangers_);
  }
  listeners_.clear();
  for (const HalfOpen& entry : half_open_) loop_.Cancel(entry.timer);
  half_open_.clear();
}

void RootDoor::Admit(UniqueFd fd, const SocketAddress& peer) {
  MakeRoom();
  half_open_.push_back({std::make_unique<FrameStream>(loop_, std::move(fd), kMaxHandshakeMessage), nullptr,
                        peer, peer.Host(), 0});
  const Entry entry = std::prev(half_open_.end());
  FrameStream* stream = entry->stream.get();
  entry->handshake = std::make_unique<Handshake>(
      Handshake::Params{Role::kServer, params_.meeting, peer.ToString(), params_.self}, prover_,
      [stream](Bytes message) { stream->Send(message); },
      [this, entry](HandshakeResult result) { Finish(entry, std::move(result)); });
  entry->timer = loop_.After(params_.handshake_timeout, [this, entry] { OnHandshakeTimeout(entry); });
  stream->Start([entry](ByteView frame) { entry->handshake->OnMessage(frame); },
                [this, entry](const Error& error) {
                  TurnAway(entry, error.message.empty() ? "it closed the connection" : error.message);
                });
  UpdateListening();
  entry->handshake->Start();
}

// The oldest silent one from the address that has the most of them, where that is more than an honest node
// has.
RootDoor::Entry RootDoor::WhoGivesWay() {
  std::map<std::string_view, std::vector<Entry>> silent;
  for (Entry entry = half_open_.begin(); entry != half_open_.end(); ++entry) {
    if (!entry->handshake->WaitsForProver()) silent[entry->host].push_back(entry);
  }
  const auto most =
      std::ranges::max_element(silent, {}, [](const auto& address) { return address.second.size(); });
  if (most == silent.end() || most->second.size() <= params_.most_from_one_address) return half_open_.end();
  return most->second.front();
}

// Only where there is no room at all: a thousand leaders may come from one address, as from behind a gateway.
void RootDoor::MakeRoom() {
  if (half_open_.size() < params_.most_half_open) return;
  const Entry entry = WhoGivesWay();
  if (entry == half_open_.end()) return;
  TurnAway(entry, fmt::format("its address has more than {} connections that prove nothing",
                              params_.most_from_one_address));
}

void RootDoor::OnHandshakeTimeout(Entry entry) {
  const std::string limit = FormatDuration(params_.handshake_timeout);
  if (!entry->handshake->WaitsForProver()) {
    return TurnAway(entry, fmt::format("it proved nothing within {}", limit));
  }
  last_refusal_ = fmt::format("{}: auth {} of {} itself did not answer within {}", entry->peer.ToString(),
                              AuthMethodName(prover_.method()), params_.self, limit);
  TurnAway(entry, last_refusal_);
}

// Those who wait in the kernel's queue come in when others have proven themselves or timed out.
void RootDoor::UpdateListening() {
  const bool full = half_open_.size() >= params_.most_half_open && WhoGivesWay() == half_open_.end();
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
    LogEvent(LogLevel::kInfo, "stranger", {{"peer", peer}, {"reason", reason}},
             "turned away a connection: {}{}{}", named ? "" : peer, named ? "" : ": ", reason);
  } else if (strangers_ == kStrangersLogged + 1) {
    LogEvent(LogLevel::kWarning, "strangers", {{"count", strangers_}},
             "more than {} connections turned away; the rest are not logged", kStrangersLogged);
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
