// Heartbeats between nodes: sends them, and detects silent peers. A process that was itself stalled
// (suspended, in a debugger, on a halted machine) detects the jump of its own clock. It then restarts the
// timers of all peers.
//
// Runs on one EventLoop; costs a timer a heartbeat.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/net/frame_stream.h"
#include "comm/options.h"

namespace muster::rendezvous {

class HeartbeatMonitor {
 public:
  // Used within one heartbeat: it owns nothing, and is cheap to make.
  struct Peer {
    net::FrameStream* stream = nullptr;
    std::span<const int> ranks;  // at least one, and no other peer's
    Clock::time_point heard{};   // when something came from there
  };
  struct Silence {
    const net::FrameStream* stream = nullptr;
    std::vector<int> ranks;
    Duration silent{};
  };
  struct Verdict {
    std::vector<Silence> dead;  // silent for liveness.dead_after; never empty
    int silent = 0;  // peers that fell silent at the same time, within suspect_after; including failed ones
    int peers = 0;
  };
  struct Events {
    // "ranks 4-7 on gpu03". Called for peers that fall silent or return, not for each heartbeat.
    std::function<std::string(std::span<const int> ranks)> describe;
    std::function<void(const Silence& peer)> on_suspect;  // silent for suspect_after, once; may be empty
    std::function<void(const Verdict& verdict)> on_dead;  // at each heartbeat while a peer is lost
    // After on_suspect. May be empty.
    std::function<void(const net::FrameStream& stream)> on_heard_again{};
  };
  using Now = std::function<Clock::time_point()>;
  // `peers` is called at each heartbeat, `now` once before it; the timer is the loop's.
  HeartbeatMonitor(
      net::EventLoop& loop, LivenessOptions liveness, std::function<std::vector<Peer>()> peers, Events events,
      Now now = [] { return Clock::now(); });
  HeartbeatMonitor(const HeartbeatMonitor&) = delete;
  HeartbeatMonitor& operator=(const HeartbeatMonitor&) = delete;

 private:
  void Schedule();
  void Tick();
  void Judge(const std::vector<Peer>& peers, Clock::time_point now);
  void Suspect(const std::vector<Silence>& suspects);

  net::EventLoop& loop_;
  LivenessOptions liveness_;
  std::function<std::vector<Peer>()> peers_;
  Events events_;
  Now now_;
  Clock::time_point last_tick_ = now_();
  Clock::time_point clocks_from_ = last_tick_;
  std::set<int> suspects_;  // the first rank of each: a stream's address may be used again
  net::Timer timer_;
};

}  // namespace muster::rendezvous
