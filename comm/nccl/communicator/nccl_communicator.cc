#include "comm/nccl/communicator/nccl_communicator.h"

#include <numeric>
#include <utility>

#include "comm/nccl/communicator/abort.h"
#include "comm/nccl/communicator/communicator_impl.h"
#include "comm/nccl/communicator/start.h"

namespace muster::nccl {
namespace {

// The whole group's, beside kWorldCommunicator of the sockets.
constexpr uint64_t kNcclWorldCommunicator = kWorldCommunicator + 1;

}  // namespace

Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Group& group, NcclParts parts,
                                                           const NcclSettings& settings, Deadline deadline) {
  const std::shared_ptr<NcclCore> core(
      new NcclCore{group, std::move(parts.nccl), std::move(parts.cuda), settings});
  auto live = std::make_shared<LiveComm>(core->nccl, core->cuda, group.rank(), kNcclWorldCommunicator);
  MUSTER_CHECK(StartNccl(*core, live, deadline));
  Result<std::shared_ptr<Watchdog>> watchdog = Watchdog::Start(core);
  if (!watchdog || !(*watchdog)->Add(live)) {
    const Error error = watchdog ? group.failure().value_or(Error{}) : watchdog.error();
    AbortAll(*core, {live}, error);
    return Fail(error);
  }
  std::vector<int> world_ranks(static_cast<size_t>(group.roster().size()));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  return std::make_unique<NcclCommunicator>(NcclCommunicator::Shared{core, *std::move(watchdog)},
                                            std::move(parts.host), std::move(live), std::move(world_ranks));
}

}  // namespace muster::nccl
