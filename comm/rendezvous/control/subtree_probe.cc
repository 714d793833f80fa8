#include "comm/rendezvous/control/subtree_probe.h"

#include <algorithm>
#include <utility>

namespace muster::rendezvous {
namespace {

// Of a node that is lost.
constexpr int kAttempts = 2;
// Descriptors. With the defaults of liveness, a full subtree of 112 nodes has two attempts before its leader is lost.
constexpr size_t kAtATime = 16;

}  // namespace

SubtreeProbe::SubtreeProbe(net::EventLoop& loop, const std::vector<net::SocketAddress>& living,
                           OnSilent on_silent, Duration answer_within)
    : loop_(loop), on_silent_(std::move(on_silent)), answer_within_(answer_within), living_(loop, living) {}

void SubtreeProbe::Begin(Source leader, std::vector<Node> behind) {
  for (Node& node : behind) nodes_.push_back({leader, std::move(node)});
  if (!timer_.pending()) Step();
}

void SubtreeProbe::Forget(Source leader) {
  std::erase_if(nodes_, [leader](const Asked& asked) { return asked.leader == leader; });
}

void SubtreeProbe::Lose(Source leader) {
  lost_.insert(leader);
  Report();
}

void SubtreeProbe::Step() {
  for (Asked& asked : nodes_) {
    const auto attempt = std::move(asked.attempt);
    if (!attempt) continue;
    if (attempt->answered() > 0) {
      asked.unanswered = -1;
    } else if (attempt->not_asked() == 0 || attempt->not_asked() < attempt->asked()) {  // e.g. no IPv6 route
      ++asked.unanswered;
    }
  }
  std::erase_if(nodes_, [](const Asked& asked) { return asked.unanswered < 0; });
  Report();
  std::ranges::stable_sort(nodes_, {}, &Asked::unanswered);
  for (size_t i = 0; i < std::min(nodes_.size(), kAtATime); ++i)
    nodes_[i].attempt = std::make_unique<net::ReachProbe>(loop_, nodes_[i].node.addresses);
  if (!nodes_.empty()) timer_ = loop_.After(answer_within_, [this] { Step(); });
}

void SubtreeProbe::Report() {
  if (living_.answered() == 0) return;
  std::vector<int> silent;
  std::erase_if(nodes_, [&](const Asked& asked) {
    const bool answers = asked.attempt && asked.attempt->answered() > 0;
    if (answers || asked.unanswered < kAttempts || !lost_.contains(asked.leader)) return false;
    silent.push_back(asked.node.number);
    return true;
  });
  if (!silent.empty()) on_silent_(silent);
}

}  // namespace muster::rendezvous
