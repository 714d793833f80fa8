#include "comm/init/init.h"

#include <utility>

#include "comm/base/fields.h"
#include "comm/log/log.h"
#include "comm/socket/single.h"
#include "comm/socket/socket_communicator.h"

namespace muster {
namespace {

// Every rank's report of its data plane; views into the payloads.
struct Received {
  std::vector<ByteView> endpoints;
  bool gpu = false;            // a rank may have one
  std::vector<int> host_only;  // ranks
};

// A rank's memory, one byte of its payload.
enum : uint8_t { kNoDevice = 0, kMaybeDevice = 1, kHostOnly = 2 };

Result<Received> ReadPayloads(const Roster& roster, std::vector<ByteView> payloads) {
  Received received{std::move(payloads)};
  for (size_t rank = 0; rank < received.endpoints.size(); ++rank) {
    FieldReader reader(received.endpoints[rank]);
    uint8_t memory = 0;
    reader(received.endpoints[rank], memory);
    received.gpu = memory == kMaybeDevice || received.gpu;
    if (memory == kHostOnly) received.host_only.push_back(static_cast<int>(rank));
    if (const Status read = reader.Finish("data endpoint"); !read) {
      return Fail(Code::kDisagreement, "{} sent a {}", DescribeRank(roster, static_cast<int>(rank)),
                  read.error().message);
    }
  }
  return received;
}

// The same on every rank: the hello compares the configuration, and all ranks have the reports.
bool AsksForGpus(const DataOptions& options, bool a_rank_may_have_one) {
  return options.backend == Backend::kNccl || (options.backend == Backend::kAuto && a_rank_may_have_one);
}

void WarnThatNcclIsUnused(int rank) {
  if (rank != 0) return;
  LogWarning(
      "backend: nccl is not used: muster's C and Python interfaces take host memory only, which sockets "
      "carry "
      "(remove backend, or write backend: socket; PyTorch's backend is an argument of init_process_group)");
}

// The same on every rank, because each has the payloads of all.
Result<bool> TakesHostMemoryOnly(const Group& group, const Received& received, Backend backend) {
  if (received.host_only.empty() || backend == Backend::kSocket) return false;
  if (backend == Backend::kAuto) {
    if (group.rank() == 0) {
      LogDebug("backend: socket ({} takes host memory only)",
               DescribeRank(group.roster(), received.host_only.front()));
    }
    return true;
  }
  if (std::cmp_less(received.host_only.size(), group.roster().size())) {
    return WithHint(Fail(Code::kDisagreement,
                         "backend is nccl, but {} takes host memory only (muster's C or Python interface)",
                         DescribeRank(group.roster(), received.host_only.front())),
                    "write backend: socket, or use one interface on all ranks");
  }
  WarnThatNcclIsUnused(group.rank());
  return true;
}

Result<DataPlane> Choose(Group& group, std::unique_ptr<Communicator> host, const DataOptions& options,
                         Deadline deadline) {
  const nccl::NcclRequest request{options.backend,    options.nccl,           options.timeouts,
                                  options.interfaces, options.route_nccl_log, options.nccl_not_blocking,
                                  options.protect};
  MUSTER_TRY(nccl::ChosenBackend chosen,
             nccl::TakeNcclWhereAgreed(group, std::move(host), options.gpu, request, deadline));
  return DataPlane{std::move(chosen.communicator), std::move(chosen.hellos)};
}

Result<DataPlane> Build(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                        std::vector<ByteView> payloads, const DataOptions& options, Deadline deadline) {
  MUSTER_TRY(const Received received, ReadPayloads(group.roster(), std::move(payloads)));
  socket::SocketOptions socket_options;
  socket_options.timeouts = options.timeouts;
  socket_options.protect = options.protect;
  MUSTER_TRY(std::unique_ptr<Communicator> host,
             socket::MakeSocketCommunicator(group, std::move(endpoint), received.endpoints, socket_options));
  MUSTER_TRY(const bool host_only, TakesHostMemoryOnly(group, received, options.backend));
  if (host_only) return DataPlane{std::move(host), {}};
  if (!AsksForGpus(options, received.gpu)) {
    if (options.backend == Backend::kAuto && group.rank() == 0) {
      LogDebug("backend: socket (no rank has an NVIDIA device, by /proc and /dev)");
    }
    return DataPlane{std::move(host), {}};
  }
  return Choose(group, std::move(host), options, deadline);
}

}  // namespace

Bytes DataPayload(const socket::SocketEndpoint& endpoint, const DataOptions& options) {
  const bool asks = !options.host_only && options.backend != Backend::kSocket;
  const uint8_t memory = options.host_only                  ? kHostOnly
                         : asks && options.gpu.has_device() ? kMaybeDevice
                                                            : kNoDevice;
  return EncodeFields(endpoint.payload(), memory);
}

Result<DataPlane> BuildCommunicator(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                                    const DataOptions& options, Deadline deadline) {
  const Bytes mine = DataPayload(*endpoint, options);
  MUSTER_TRY(const std::vector<Bytes> payloads, group.KeyedAllGather("data endpoints", mine, deadline));
  return Build(group, std::move(endpoint), ViewsOf(payloads), options, deadline);
}

Result<DataPlane> BuildCommunicatorFromRoster(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                                              const DataOptions& options, Deadline deadline) {
  std::vector<ByteView> payloads(group.roster().members.size());
  for (size_t rank = 0; rank < payloads.size(); ++rank)
    payloads[rank] = group.roster().PayloadOf(static_cast<int>(rank));
  return Build(group, std::move(endpoint), std::move(payloads), options, deadline);
}

Result<DataPlane> BuildCommunicatorOfOne(Group& group, const DataOptions& options, Deadline deadline) {
  std::unique_ptr<Communicator> host = socket::MakeSingleCommunicator(group.roster());
  if (options.host_only) {
    if (options.backend == Backend::kNccl) WarnThatNcclIsUnused(group.rank());
    return DataPlane{std::move(host), {}};
  }
  // Device memory is taken in a world of one as in any other.
  const bool has_device = options.backend == Backend::kAuto && options.gpu.has_device();
  if (!AsksForGpus(options, has_device)) return DataPlane{std::move(host), {}};
  return Choose(group, std::move(host), options, deadline);
}

}  // namespace muster
