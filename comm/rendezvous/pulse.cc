#include "comm/rendezvous/pulse.h"

#include <algorithm>

#include "comm/base/log.h"
#include "comm/base/parse.h"
#include "comm/rendezvous/messages.h"

namespace muster {

Pulse::Pulse(EventLoop& loop, LivenessOptions liveness, std::function<std::vector<Peer>()> peers,
             std::function<void(const Peer&, Duration)> on_dead)
    : loop_(loop), liveness_(liveness), peers_(std::move(peers)), on_dead_(std::move(on_dead)) {
  Schedule();
}

Pulse::~Pulse() { loop_.Cancel(timer_); }

void Pulse::Schedule() {
  timer_ = loop_.After(liveness_.heartbeat, [this] { Tick(); });
}

void Pulse::Tick() {
  const auto now = Clock::now();
  const Duration since_last = now - last_tick_;
  last_tick_ = now;
  Schedule();
  if (since_last > liveness_.heartbeat + liveness_.suspect_after / 2) {
    LogWarning("this process stood still for {}; the clocks of its peers start anew",
               FormatSeconds(since_last));
    clocks_from_ = now;
  }
  const std::vector<Peer> peers = peers_();
  for (const Peer& peer : peers) peer.stream->Send(EncodeBare(ControlType::kHeartbeat));
  for (const Peer& peer : peers) Check(peer, now);
}

void Pulse::Check(const Peer& peer, Clock::time_point now) {
  const Duration silent = now - std::max(peer.stream->last_received(), clocks_from_);
  if (silent >= liveness_.dead_after) return on_dead_(peer, silent);
  if (silent < liveness_.suspect_after) {
    if (suspects_.erase(peer.name) > 0) LogInfo("{} can be heard again", peer.name);
  } else if (suspects_.insert(peer.name).second) {
    LogWarning("nothing was heard of {} for {}; given up after {}", peer.name, FormatSeconds(silent),
               FormatDuration(liveness_.dead_after));
  }
}

}  // namespace muster
