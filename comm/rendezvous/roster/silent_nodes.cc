#include "comm/rendezvous/roster/silent_nodes.h"

#include <algorithm>

#include "comm/net/hosts.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

// More are not named one by one in a line either.
constexpr size_t kMostNodes = 16;
constexpr Duration kLookAgain = seconds(10);

// BLOCKS: runs on the worker. Addresses of this machine prove nothing about another.
std::vector<net::SocketAddress> Resolve(const std::string& node, uint16_t port) {
  auto addresses = net::ResolveHost(node, port).value_or(std::vector<net::SocketAddress>{});
  std::erase_if(addresses, [](const net::SocketAddress& address) { return address.IsLoopback(); });
  return addresses;
}

}  // namespace

SilentNodes::SilentNodes(net::EventLoop& loop, Duration patience, uint16_t port, Which which, Report report)
    : loop_(loop), port_(port), which_(std::move(which)), report_(std::move(report)), names_(loop.mailbox()) {
  timer_ = loop_.After(patience, [this] { Look(); });
}

void SilentNodes::Look() {
  std::vector<std::string> nodes = which_();
  nodes.resize(std::min(nodes.size(), kMostNodes));
  const auto found = std::make_shared<Addresses>();
  names_.Run(
      [found, nodes, port = port_] {
        for (const std::string& node : nodes) (*found)[node] = Resolve(node, port);
      },
      [this, found] { Probe(*found); });
}

void SilentNodes::Probe(const Addresses& addresses) {
  for (const auto& [node, where] : addresses) {
    if (!where.empty()) probes_[node] = std::make_unique<net::ReachProbe>(loop_, where);
  }
  timer_ = loop_.After(net::ReachProbe::kAnswerWithin, [this] { Conclude(); });
}

void SilentNodes::Conclude() {
  for (const auto& [node, probe] : probes_) report_(node, probe->answered() > 0);
  probes_.clear();
  timer_ = loop_.After(kLookAgain, [this] { Look(); });
}

}  // namespace muster::rendezvous
