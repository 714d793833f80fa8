// Checks, while a leader above others is silent, whether the nodes behind it answer. Nodes that do not are lost with it:
// no process waits for their exit reports (../tree.md).
//
// It connects to them, a few at a time, from the suspicion on. Any answer counts, also a refused connection; a node that has
// answered once is not lost. If no living node answers at the same port, a firewall drops such packets, and silence proves
// nothing.
//
// Runs on one EventLoop.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/reach_probe.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/messages/child_links.h"

namespace muster::rendezvous {

class SubtreeProbe {
 public:
  using Source = ChildLinks::Source;
  struct Node {
    int number = 0;  // in the roster
    std::vector<net::SocketAddress> addresses;
  };
  // Called for each node once, after its leader is lost. Must not destroy the SubtreeProbe.
  using OnSilent = std::function<void(const std::vector<int>& nodes)>;

  // `living`: one address of each of some nodes that are not silent.
  SubtreeProbe(net::EventLoop& loop, const std::vector<net::SocketAddress>& living, OnSilent on_silent,
               Duration answer_within = net::ReachProbe::kAnswerWithin);
  SubtreeProbe(const SubtreeProbe&) = delete;
  SubtreeProbe& operator=(const SubtreeProbe&) = delete;

  void Begin(Source leader, std::vector<Node> behind);
  // It is no longer silent.
  void Forget(Source leader);
  void Lose(Source leader);
  // Checks no node.
  bool idle() const { return nodes_.empty(); }

 private:
  struct Asked {
    Source leader = ChildLinks::kSelf;
    Node node;
    int unanswered = 0;                          // attempts
    std::unique_ptr<net::ReachProbe> attempt{};  // the present one
  };

  void Step();
  void Report();

  net::EventLoop& loop_;
  const OnSilent on_silent_;
  const Duration answer_within_;
  net::ReachProbe living_;
  std::vector<Asked> nodes_;  // that have not answered
  std::set<Source> lost_;
  net::Timer timer_;
};

}  // namespace muster::rendezvous
