// Heartbeats between nodes: sends them, and notices who has fallen silent. A process that was itself stalled
// (suspended, in a debugger, a machine that stood still) notices that its own clock jumped and gives
// everybody a fresh start.
//
// Lives on one EventLoop; costs a timer a heartbeat.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "comm/net/frame_stream.h"
#include "comm/options.h"

namespace muster {

class Pulse {
 public:
  struct Peer {
    FrameStream* stream = nullptr;
    std::string name;  // "ranks 4-7 on gpu03"
    std::vector<int> ranks;
  };
  // `peers` is asked at each heartbeat. `on_dead` is called for a peer silent for liveness.dead_after, at
  // each heartbeat.
  Pulse(EventLoop& loop, LivenessOptions liveness, std::function<std::vector<Peer>()> peers,
        std::function<void(const Peer& peer, Duration silent)> on_dead);
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;
  ~Pulse();

 private:
  void Schedule();
  void Tick();
  void Check(const Peer& peer, Clock::time_point now);

  EventLoop& loop_;
  LivenessOptions liveness_;
  std::function<std::vector<Peer>()> peers_;
  std::function<void(const Peer&, Duration)> on_dead_;
  Clock::time_point last_tick_ = Clock::now();
  Clock::time_point clocks_from_ = Clock::now();
  std::set<std::string> suspects_;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace muster
