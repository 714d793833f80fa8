#include "bootstrap/run/master_port.h"

#include "bootstrap/run/program_port.h"
#include "comm/net/wire.h"

namespace muster {

Result<MasterPort> ChooseMasterPort(const Config& config, const std::optional<Endpoint>& endpoint,
                                    bool only_this_node) {
  MasterPort chosen;
  uint16_t port = 0;
  if (config.run.store == RunStore::kMuster) {
    const uint16_t taken = endpoint ? endpoint->port : uint16_t{0};
    MUSTER_TRY(StorePort held, StorePort::Hold({config.rendezvous.ports, taken, only_this_node}));
    chosen.store = std::make_shared<StorePort>(std::move(held));
    port = chosen.store->port();
  } else {
    MUSTER_TRY(port, FreeProgramPort(config.rendezvous.ports));
  }
  WireWriter writer;
  writer.U16(port);
  chosen.payload = writer.Take();
  return chosen;
}

uint16_t MasterPortOf(const Roster& roster) {
  WireReader reader(roster.members.front().payload);
  return reader.U16();
}

}  // namespace muster
