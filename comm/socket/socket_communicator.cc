#include "comm/socket/socket_communicator.h"

#include <numeric>
#include <utility>

#include "comm/auth/data_seal.h"
#include "comm/log/log.h"
#include "comm/socket/communicator_impl.h"
#include "comm/socket/core.h"
#include "comm/socket/transport/mesh.h"
#include "comm/system/cpus.h"
#include "comm/system/descriptor_room.h"

namespace muster::socket {
namespace {

// A rank that spins takes the processor from the rank that it waits for, unless there is one for each.
// (MPICH, which spins, is 600 times slower with more ranks than cores.) Ranks bound to disjoint processors
// count as crowded here; they only do not spin.
bool MaySpin(const Roster& roster, int rank) {
  const auto processors = CpusOf();
  return processors && std::cmp_less_equal(roster.LocalSize(roster.NodeOf(rank)), processors->size());
}

}  // namespace

Result<std::unique_ptr<Communicator>> MakeSocketCommunicator(Group& group,
                                                             std::unique_ptr<SocketEndpoint> endpoint,
                                                             PeerAddresses addresses,
                                                             const SocketOptions& options) {
  const Roster& roster = group.roster();
  if (addresses.size() != static_cast<size_t>(roster.size())) {
    return Fail(Code::kUsage, "there are {} data endpoints for {} ranks", addresses.size(), roster.size());
  }
  // A connection to each other rank, in the worst case. Without room for that, the first failing connection
  // reports it.
  if (const Status room = MakeRoomForDescriptors(static_cast<size_t>(roster.size()), "the data plane");
      !room) {
    LogDebug("{}", room.error().message);
  }
  MeshOptions mesh_options{options.timeouts.connect,
                           options.call_back_after,
                           options.called_back_within,
                           {options.timeouts.handshake, options.half_open_limit}};
  if (options.protect == Protect::kAll) {
    MUSTER_CHECK(auth::CryptoReady());
    mesh_options.ciphers = auth::OwnCiphers();
  }
  MUSTER_TRY(std::shared_ptr<Mesh> mesh,
             Mesh::Create(group, std::move(endpoint), std::move(addresses), mesh_options));
  // The group outlives its communicators: 2048 ranks need not copy 2048 members each.
  Members members{kWorldCommunicator, group.rank(),
                  std::shared_ptr<const Roster>(std::shared_ptr<void>(), &roster),
                  std::vector<int>(static_cast<size_t>(roster.size()))};
  std::iota(members.world_ranks.begin(), members.world_ranks.end(), 0);
  std::optional<auth::BytesMac> mac;
  if (options.protect != Protect::kAll) mac.emplace(group.key(), roster.group_id);
  auto core = std::make_shared<const SocketCore>(SocketCore{
      group, std::move(mesh), options, options.spin.value_or(MaySpin(roster, group.rank())), std::move(mac)});
  return SocketCommunicator::Create(std::move(core), std::move(members));
}

}  // namespace muster::socket
