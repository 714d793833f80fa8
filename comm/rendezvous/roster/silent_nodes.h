// Checks, while a group forms, whether the root can reach the nodes that are silent. A reachable node without
// ranks: they cannot reach the root (a firewall, a one-way route), or none runs there. An unreachable node is
// down or cut off.
//
// Checks after some seconds, at a few nodes, and repeats from time to time. Runs on one EventLoop; names are
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
  using Report = std::function<void(const std::string& node, bool reached)>;

  // First check after `patience`. `port`: any; a refused connection is an answer.
  SilentNodes(net::EventLoop& loop, Duration patience, uint16_t port, Which which, Report report);
  SilentNodes(const SilentNodes&) = delete;
  SilentNodes& operator=(const SilentNodes&) = delete;

 private:
  using Addresses = std::map<std::string, std::vector<net::SocketAddress>>;

  void Look();
  void Probe(const Addresses& addresses);
  void Conclude();

  net::EventLoop& loop_;
  const uint16_t port_;
  Which which_;
  Report report_;
  net::ThreadWorker names_;
  net::Timer timer_;
  std::map<std::string, std::unique_ptr<net::ReachProbe>> probes_;
};

}  // namespace muster::rendezvous
