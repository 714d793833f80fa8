#include "bootstrap/store/master_port.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "comm/base/fields.h"
#include "comm/base/wire.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/link/names.h"

namespace muster::store {

namespace {

// All addresses of this machine that can lead to another node.
std::vector<std::string> AddressesHere() {
  std::vector<std::string> addresses;
  const auto interfaces = net::LocalInterfaces();
  if (!interfaces) return addresses;
  for (const net::LocalInterface& interface : *interfaces) {
    if (interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    if (!net::IsNodeLocalInterface(interface.name)) addresses.push_back(interface.address.Host());
  }
  return addresses;
}

Result<std::shared_ptr<StorePort>> HoldPort(const config::Config& config,
                                            const std::optional<Endpoint>& endpoint, bool only_this_node,
                                            const rendezvous::JoinRequest& request) {
  const PortRange ports = config.rendezvous.ports;
  const std::vector<uint16_t>& others = request.meeting.ports_of_others;
  std::vector<uint16_t> ladders;
  for (const std::string& seed : rendezvous::LadderSeeds(request.meeting.key, request.secret)) {
    std::ranges::copy(rendezvous::PortLadder(seed, ports, others), std::back_inserter(ladders));
  }
  auto held = StorePort::Hold(
      {ports, endpoint ? endpoint->port : uint16_t{0}, only_this_node, std::move(ladders), others});
  if (held) return std::make_shared<StorePort>(*std::move(held));
  Error error = std::move(held).error();
  error.message = fmt::format("rank 0 on {}: {}", request.self.node, error.message);
  return Fail(std::move(error));
}

}  // namespace

Result<std::shared_ptr<StorePort>> ChooseMasterPort(const config::Config& config,
                                                    const std::optional<Endpoint>& endpoint,
                                                    bool only_this_node, rendezvous::JoinRequest& request) {
  rendezvous::RankClaim& claim = request.self.claims.front();
  const bool serves = config.run.store == config::RunStore::kMuster;
  std::vector<std::string> addresses;
  if (serves && !only_this_node && claim.local_rank <= 0) addresses = AddressesHere();
  if (claim.rank != 0) {
    if (!addresses.empty()) claim.payload = EncodeFields(uint16_t{0}, addresses);
    return nullptr;
  }
  std::shared_ptr<StorePort> store;
  uint16_t port = 0;
  if (serves) {
    MUSTER_TRY(store, HoldPort(config, endpoint, only_this_node, request));
    port = store->port();
  } else {
    MUSTER_TRY(port, FreeProgramPort(config.rendezvous.ports, request.meeting.ports_of_others));
  }
  claim.payload = EncodeFields(port, addresses);
  return store;
}

std::vector<std::string> AddressesInClaim(const Roster::Member& member) {
  if (member.payload.view().empty()) return {};
  FieldReader reader(member.payload.view());
  uint16_t port = 0;
  std::vector<std::string> addresses;
  reader(port, addresses);
  return reader.Finish("claim") ? addresses : std::vector<std::string>();
}

uint16_t MasterPortOf(const Roster& roster) {
  WireReader reader(roster.PayloadOf(0));
  return reader.U16();
}

}  // namespace muster::store
