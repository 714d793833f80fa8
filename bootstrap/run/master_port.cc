#include "bootstrap/run/master_port.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bootstrap/run/program_port.h"
#include "comm/net/wire.h"
#include "comm/rendezvous/names.h"

namespace muster {

Result<std::shared_ptr<StorePort>> ChooseMasterPort(const Config& config,
                                                    const std::optional<Endpoint>& endpoint,
                                                    bool only_this_node, JoinRequest& request) {
  Claim& claim = request.self.claims.front();
  if (claim.rank != 0) return nullptr;
  std::shared_ptr<StorePort> store;
  uint16_t port = 0;
  if (config.run.store == RunStore::kMuster) {
    const PortRange ports = config.rendezvous.ports;
    std::vector<uint16_t> ladders;
    for (const std::string& seed : LadderSeeds(request.meeting.key, request.secret)) {
      std::ranges::copy(PortLadder(seed, ports), std::back_inserter(ladders));
    }
    MUSTER_TRY(StorePort held, StorePort::Hold({ports, endpoint ? endpoint->port : uint16_t{0},
                                                only_this_node, std::move(ladders)}));
    store = std::make_shared<StorePort>(std::move(held));
    port = store->port();
  } else {
    MUSTER_TRY(port, FreeProgramPort(config.rendezvous.ports));
  }
  WireWriter writer;
  writer.U16(port);
  claim.payload = writer.Take();
  return store;
}

uint16_t MasterPortOf(const Roster& roster) {
  WireReader reader(roster.members.front().payload.view());
  return reader.U16();
}

}  // namespace muster
