// While a group forms: can the root reach the nodes that it has heard nothing of? One that it reaches, and
// that does not come, may not reach the root (a firewall, a route that leads one way only), or nothing runs
// there; one that it does not reach is down or cut off.
//
// Looks after some seconds, at a few nodes, and again from time to time. Lives on one EventLoop; names are
// resolved off it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/reach_probe.h"
#include "comm/net/thread_worker.h"

namespace muster::rendezvous {

class SilentNodes {
 public:
  using Which = std::function<std::vector<std::string>()>;
  using Tell = std::function<void(const std::string& node, bool reached)>;

  // Looks first after `patience`. `port`: any; that nobody listens there is an answer.
  SilentNodes(net::EventLoop& loop, Duration patience, uint16_t port, Which which, Tell tell);
  SilentNodes(const SilentNodes&) = delete;
  SilentNodes& operator=(const SilentNodes&) = delete;
  ~SilentNodes();

 private:
  using Addresses = std::map<std::string, std::vector<net::SocketAddress>>;

  void Look();
  void Probe(const Addresses& addresses);
  void Conclude();

  net::EventLoop& loop_;
  const uint16_t port_;
  Which which_;
  Tell tell_;
  net::ThreadWorker names_;
  net::EventLoop::TimerId timer_ = 0;
  std::map<std::string, std::unique_ptr<net::ReachProbe>> probes_;
};

}  // namespace muster::rendezvous
