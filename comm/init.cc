#include "comm/init.h"

#include "comm/base/log.h"
#include "comm/net/wire.h"
#include "comm/socket/single.h"
#include "comm/socket/socket_communicator.h"

namespace muster {
namespace {

// What every rank told of its data plane; views into the payloads.
struct Told {
  std::vector<ByteView> endpoints;
  bool gpu = false;  // somebody may have one
};

Result<Told> ReadPayloads(const Roster& roster, const std::vector<ByteView>& payloads) {
  Told told;
  told.endpoints.reserve(payloads.size());
  for (size_t rank = 0; rank < payloads.size(); ++rank) {
    WireReader reader(payloads[rank]);
    told.endpoints.push_back(reader.Blob());
    told.gpu = reader.U8() != 0 || told.gpu;
    if (const Status read = reader.Finish("data endpoint"); !read) {
      return Fail(Code::kDisagreement, "{} sent a {}", DescribeRank(roster, static_cast<int>(rank)),
                  read.error().message);
    }
  }
  return told;
}

// The same on every rank: what is configured is compared in the hello, and what was told is known to all.
bool AsksForGpus(const DataOptions& options, bool somebody_may_have_one) {
  return options.backend == Backend::kNccl || (options.backend == Backend::kAuto && somebody_may_have_one);
}

Result<DataPlane> Choose(Group& group, std::unique_ptr<Communicator> host, const DataOptions& options,
                         Deadline deadline) {
  const NcclRequest request{options.backend,    options.nccl,           options.timeouts,
                            options.interfaces, options.route_nccl_log, options.nccl_calls_block,
                            options.protect};
  MUSTER_TRY(ChosenBackend chosen,
             TakeNcclWhereAgreed(group, std::move(host), options.gpu, request, deadline));
  return DataPlane{std::move(chosen.communicator), std::move(chosen.hellos)};
}

Result<DataPlane> Build(Group& group, std::unique_ptr<SocketEndpoint> endpoint,
                        const std::vector<ByteView>& payloads, const DataOptions& options,
                        Deadline deadline) {
  MUSTER_TRY(const Told told, ReadPayloads(group.roster(), payloads));
  SocketOptions socket_options;
  socket_options.timeouts = options.timeouts;
  socket_options.protect = options.protect;
  MUSTER_TRY(std::unique_ptr<Communicator> host,
             MakeSocketCommunicator(group, std::move(endpoint), told.endpoints, socket_options));
  if (!AsksForGpus(options, told.gpu)) {
    if (options.backend == Backend::kAuto && group.rank() == 0) {
      LogDebug("backend: socket (no rank has an NVIDIA device, as far as /proc and /dev say it)");
    }
    return DataPlane{std::move(host), {}};
  }
  return Choose(group, std::move(host), options, deadline);
}

}  // namespace

Bytes DataPayload(const SocketEndpoint& endpoint, const DataOptions& options) {
  WireWriter writer;
  writer.Blob(endpoint.payload());
  writer.U8(options.backend != Backend::kSocket && options.gpu.has_device() ? 1 : 0);
  return writer.Take();
}

Result<DataPlane> BuildCommunicator(Group& group, std::unique_ptr<SocketEndpoint> endpoint,
                                    const DataOptions& options, Deadline deadline) {
  const Bytes mine = DataPayload(*endpoint, options);
  MUSTER_TRY(const std::vector<Bytes> payloads, group.Exchange("data endpoints", mine, deadline));
  return Build(group, std::move(endpoint), ViewsOf(payloads), options, deadline);
}

Result<DataPlane> BuildCommunicatorFromRoster(Group& group, std::unique_ptr<SocketEndpoint> endpoint,
                                              const DataOptions& options, Deadline deadline) {
  std::vector<ByteView> payloads;
  for (const Roster::Member& member : group.roster().members) payloads.push_back(member.payload.view());
  return Build(group, std::move(endpoint), payloads, options, deadline);
}

Result<DataPlane> BuildCommunicatorOfOne(Group& group, const DataOptions& options, Deadline deadline) {
  std::unique_ptr<Communicator> host = MakeSingleCommunicator(group.roster());
  // Device memory is taken in a world of one as in any other.
  const bool has_device = options.backend == Backend::kAuto && options.gpu.has_device();
  if (!AsksForGpus(options, has_device)) return DataPlane{std::move(host), {}};
  return Choose(group, std::move(host), options, deadline);
}

}  // namespace muster
