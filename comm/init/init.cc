#include "comm/init/init.h"

#include <utility>

#include "comm/base/fields.h"
#include "comm/log/log.h"
#include "comm/socket/single.h"
#include "comm/socket/socket_communicator.h"

namespace muster {
namespace {

// A rank's memory, one byte of its payload.
enum : uint8_t { kNoDevice = 0, kMaybeDevice = 1, kHostOnly = 2 };

// Every rank's report of its data plane.
class Reports {
 public:
  Reports(const Roster& roster, size_t ranks) : roster_(roster), addresses_(ranks) {}

  Status Read(int rank, ByteView payload) {
    FieldReader reader(payload);
    ByteView endpoint;
    uint8_t memory = 0;
    reader(endpoint, memory);
    if (const Status read = reader.Finish("data endpoint"); !read)
      return Fail(Code::kDisagreement, "{} sent a {}", DescribeRank(roster_, rank), read.error().message);
    MUSTER_CHECK(addresses_.Read(roster_, rank, endpoint));
    gpu_ = memory == kMaybeDevice || gpu_;
    if (memory == kHostOnly) host_only_.push_back(rank);
    return {};
  }

  socket::PeerAddresses TakeAddresses() { return std::move(addresses_); }
  bool gpu() const { return gpu_; }  // a rank may have one
  const std::vector<int>& host_only() const { return host_only_; }

 private:
  const Roster& roster_;
  socket::PeerAddresses addresses_;
  bool gpu_ = false;
  std::vector<int> host_only_;
};

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
Result<bool> TakesHostMemoryOnly(const Group& group, const Reports& reports, Backend backend) {
  if (reports.host_only().empty() || backend == Backend::kSocket) return false;
  if (backend == Backend::kAuto) {
    if (group.rank() == 0) {
      LogDebug("backend: socket ({} takes host memory only)",
               DescribeRank(group.roster(), reports.host_only().front()));
    }
    return true;
  }
  if (std::cmp_less(reports.host_only().size(), group.roster().size())) {
    return WithHint(Fail(Code::kDisagreement,
                         "backend is nccl, but {} takes host memory only (muster's C or Python interface)",
                         DescribeRank(group.roster(), reports.host_only().front())),
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

Result<DataPlane> Build(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint, Reports reports,
                        const DataOptions& options, Deadline deadline) {
  socket::SocketOptions socket_options;
  socket_options.timeouts = options.timeouts;
  socket_options.protect = options.protect;
  MUSTER_TRY(
      std::unique_ptr<Communicator> host,
      socket::MakeSocketCommunicator(group, std::move(endpoint), reports.TakeAddresses(), socket_options));
  MUSTER_TRY(const bool host_only, TakesHostMemoryOnly(group, reports, options.backend));
  if (host_only) return DataPlane{std::move(host), {}};
  if (!AsksForGpus(options, reports.gpu())) {
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
  Reports reports(group.roster(), payloads.size());
  for (size_t rank = 0; rank < payloads.size(); ++rank)
    MUSTER_CHECK(reports.Read(static_cast<int>(rank), payloads[rank]));
  return Build(group, std::move(endpoint), std::move(reports), options, deadline);
}

Result<DataPlane> BuildCommunicatorFromRoster(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                                              const DataOptions& options, Deadline deadline) {
  Reports reports(group.roster(), group.roster().members.size());
  Status read;
  group.roster().ForEachPayload([&](int rank, ByteView payload) {
    if (read) read = reports.Read(rank, payload);
  });
  MUSTER_CHECK(std::move(read));
  return Build(group, std::move(endpoint), std::move(reports), options, deadline);
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
