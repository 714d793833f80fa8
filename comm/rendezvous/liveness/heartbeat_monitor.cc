#include "comm/rendezvous/liveness/heartbeat_monitor.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

HeartbeatMonitor::HeartbeatMonitor(net::EventLoop& loop, LivenessOptions liveness,
                                   std::function<std::vector<Peer>()> peers, Events events, Now now)
    : loop_(loop),
      liveness_(liveness),
      peers_(std::move(peers)),
      events_(std::move(events)),
      now_(std::move(now)) {
  Schedule();
}

void HeartbeatMonitor::Schedule() {
  timer_ = loop_.After(liveness_.heartbeat, [this] { Tick(); });
}

void HeartbeatMonitor::Tick() {
  const auto now = now_();
  const Duration since_last = now - last_tick_;
  last_tick_ = now;
  Schedule();
  if (since_last > liveness_.heartbeat + liveness_.suspect_after / 2) {
    LogEvent(LogLevel::kWarning, "stalled", {{"seconds", since_last}},
             "this process was stopped for {}; the clocks of its peers start again",
             FormatSeconds(since_last));
    clocks_from_ = now;
  }
  const std::vector<Peer> peers = peers_();
  for (const Peer& peer : peers) peer.stream->Send(EncodeBare(ControlType::kHeartbeat));
  Judge(peers, now);
}

void HeartbeatMonitor::Judge(const std::vector<Peer>& peers, Clock::time_point now) {
  Verdict verdict;
  std::vector<Silence> suspects;
  std::vector<Duration> silences;
  verdict.peers = static_cast<int>(peers.size());
  for (const Peer& peer : peers) {
    const Duration silent = now - std::max(peer.heard, clocks_from_);
    if (silent < liveness_.suspect_after) {
      if (suspects_.erase(peer.ranks.front()) > 0) {
        LogEvent(LogLevel::kInfo, "heard_again",
                 {{"ranks", std::vector<int>(peer.ranks.begin(), peer.ranks.end())}},
                 "{} can be reached again", events_.describe(peer.ranks));
        if (events_.on_heard_again) events_.on_heard_again(*peer.stream);
      }
      continue;
    }
    silences.push_back(silent);
    const Silence silence{peer.stream, {peer.ranks.begin(), peer.ranks.end()}, silent};
    if (suspects_.insert(peer.ranks.front()).second) suspects.push_back(silence);
    if (silent >= liveness_.dead_after) verdict.dead.push_back(silence);
  }
  Suspect(suspects);
  if (!silences.empty()) {
    const Duration together = std::ranges::max(silences) - liveness_.suspect_after;
    verdict.silent = static_cast<int>(
        std::ranges::count_if(silences, [together](Duration silent) { return silent >= together; }));
  }
  // Last: it may destroy the peers' owners.
  if (!verdict.dead.empty()) events_.on_dead(verdict);
}

void HeartbeatMonitor::Suspect(const std::vector<Silence>& suspects) {
  if (suspects.empty()) return;
  const std::string more =
      suspects.size() == 1 ? "" : fmt::format(" and of {} other nodes", suspects.size() - 1);
  std::vector<int> ranks;
  for (const Silence& suspect : suspects)
    ranks.insert(ranks.end(), suspect.ranks.begin(), suspect.ranks.end());
  std::ranges::sort(ranks);
  LogEvent(LogLevel::kWarning, "silent",
           {{"ranks", ranks}, {"seconds", suspects.front().silent}, {"dead_after", liveness_.dead_after}},
           "no message from {}{} for {}; lost after {}", events_.describe(suspects.front().ranks), more,
           FormatSeconds(suspects.front().silent), FormatDuration(liveness_.dead_after));
  if (!events_.on_suspect) return;
  for (const Silence& suspect : suspects) events_.on_suspect(suspect);
}

}  // namespace muster::rendezvous
