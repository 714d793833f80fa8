#include "comm/nccl/nccl_backend.h"

#include <utility>

#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/group/gather_fields.h"
#include "comm/log/log.h"
#include "comm/nccl/backend_choice.h"
#include "comm/nccl/communicator/nccl_communicator.h"
#include "comm/nccl/libraries/libraries.h"
#include "comm/nccl/nccl_environment.h"
#include "comm/nccl/nccl_log.h"
#include "comm/system/bounded_call.h"

namespace muster::nccl {
namespace {

// A rank's findings; owned by the examining thread, which may be abandoned.
struct Examination {
  GpuHello hello;
  std::shared_ptr<CudaApi> cuda;
  std::shared_ptr<NcclApi> nccl;
};

// Before NCCL's library is loaded: some of its parts read the environment then.
void PrepareNccl(const NcclRequest& request, int rank) {
  std::vector<std::pair<std::string, std::string>> variables =
      NcclVariables(request.options, request.interfaces);
  if (request.route_log) {
    if (Result<std::string> file = OpenNcclLog()) {
      variables.emplace_back("NCCL_DEBUG_FILE", *std::move(file));
    } else {
      LogWarning("NCCL's messages go to standard output: {}", file.error().message);
    }
  }
  SetUnsetVariables(variables);
  if (!request.not_blocking) return;
  // Once for all ranks.
  Log(rank == 0 ? LogLevel::kWarning : LogLevel::kDebug,
      "NCCL_COMM_BLOCKING is removed from the ranks' environment: muster needs NCCL's calls to block; unset "
      "it");
  UnsetCommBlocking();
}

void LookForNccl(const GpuSurroundings& surroundings, Examination& found) {
  Result<std::unique_ptr<NcclApi>> nccl = surroundings.load_nccl();
  if (!nccl) {
    found.hello.verdict.problem = ToString(nccl.error());
    return;
  }
  found.nccl = *std::move(nccl);
  found.hello.nccl = ToString(found.nccl->version());
}

void LookForGpu(const GpuSurroundings& surroundings, DeviceQuestion question, Examination& found) {
  GpuHello& hello = found.hello;
  Result<std::unique_ptr<CudaApi>> cuda = surroundings.load_cuda();
  if (!cuda) {
    hello.verdict.problem = ToString(cuda.error());
    return;
  }
  found.cuda = *std::move(cuda);
  hello.cuda = FormatCudaVersion(found.cuda->runtime_version());
  int driver = 0;
  if (found.cuda->DriverVersion(&driver) == CudaResult::kSuccess && driver > 0) {
    hello.driver = FormatCudaVersion(driver);
  }
  Result<GpuVerdict> verdict = ExamineGpu(*found.cuda, std::move(question));
  if (!verdict) {
    hello.refusal = verdict.error().message;
    hello.hint = verdict.error().hint;
    hello.verdict.problem = verdict.error().message;
    return;
  }
  hello.verdict = *std::move(verdict);
  if (hello.verdict.usable()) LookForNccl(surroundings, found);
}

Examination Examine(const Group& group, const GpuSurroundings& surroundings, const NcclRequest& request,
                    Deadline deadline) {
  Examination found;
  if (!surroundings.has_device()) {
    found.hello.verdict.problem =
        "no NVIDIA device (neither /proc/driver/nvidia/version nor /dev/nvidiactl nor /dev/dxg)";
    return found;
  }
  PrepareNccl(request, group.rank());
  const Roster& roster = group.roster();
  DeviceQuestion question;
  question.local_rank = roster.members[static_cast<size_t>(group.rank())].local_rank;
  question.local_size = roster.LocalSize(roster.NodeOf(group.rank()));
  question.share_device = request.options.share_device;
  question.visible_list = surroundings.visible_list;
  const auto asked = std::make_shared<Examination>();
  // The other ranks must receive the report of a driver that hangs, before their own timeout.
  const Duration patience = deadline.Remaining() / 2;
  const Status looked = RunWithin(
      Deadline::After(patience),
      {Code::kDeadline,
       fmt::format("the driver of its GPU did not answer within {}", FormatDuration(patience))},
      [asked, surroundings, question] { LookForGpu(surroundings, question, *asked); }, group.failure_fd());
  if (looked) return std::move(*asked);
  const bool no_thread = looked.error().code == Code::kSystem;
  (no_thread ? found.hello.refusal : found.hello.verdict.problem) = looked.error().message;
  found.hello.hint = looked.error().hint;
  return found;
}

Result<std::vector<GpuHello>> ExchangeHellos(Group& group, const GpuHello& mine, Deadline deadline) {
  MUSTER_TRY(std::vector<GpuHello> hellos, GatherFields(group, "gpus", mine, "GPU hello", deadline));
  for (size_t rank = 0; rank < hellos.size(); ++rank) {
    const GpuHello& hello = hellos[rank];
    if (hello.refusal.empty()) continue;
    const std::string name = DescribeRank(group.roster(), static_cast<int>(rank));
    return WithHint(Fail(Code::kConfiguration, "{}: {}", name, hello.refusal), hello.hint);
  }
  return hellos;
}

// Once for all ranks. GPUs that no rank can use are worth a warning; no GPU at all is not.
void LogChoice(const Group& group, const BackendChoice& choice, const std::vector<GpuHello>& hellos) {
  if (group.rank() != 0) return;
  const bool disappointing = choice.backend == Backend::kSocket && !hellos.front().cuda.empty();
  const LogLevel level = disappointing ? LogLevel::kWarning : LogLevel::kDebug;
  Log(level, "backend: {} ({})", choice.backend == Backend::kNccl ? "nccl" : "socket", choice.why);
}

// Once for all ranks, too.
void AdviseOnHiddenPeers(const Group& group, const std::vector<GpuHello>& hellos) {
  if (group.rank() != 0) return;
  std::vector<int> ranks;
  for (size_t rank = 0; rank < hellos.size(); ++rank) {
    if (hellos[rank].verdict.peers_hidden) ranks.push_back(static_cast<int>(rank));
  }
  if (ranks.empty()) return;
  LogWarning(
      "{} of {} ranks see one GPU only, although their nodes have several ranks ({}; the first: {}): "
      "peer-to-peer and "
      "CUDA IPC between them may not work (srun --gres-flags=allow-task-sharing, or --gpu-bind=none, lets "
      "every "
      "task see all)",
      ranks.size(), hellos.size(), FormatRanges(ranks), DescribeRank(group.roster(), ranks.front()));
}

}  // namespace

GpuSurroundings RealSurroundings(const LibraryPlaces& places, std::string visible_list) {
  return {[] { return HasNvidiaFiles(); }, [places] { return LoadCuda(FindCudaFiles(places)); },
          [places] { return LoadNccl(FindNcclFiles(places)); }, std::move(visible_list)};
}

Result<ChosenBackend> TakeNcclWhereAgreed(Group& group, std::unique_ptr<Communicator> host,
                                          const GpuSurroundings& surroundings, const NcclRequest& request,
                                          Deadline deadline) {
  Examination found = Examine(group, surroundings, request, deadline);
  ChosenBackend chosen;
  MUSTER_TRY(chosen.hellos, ExchangeHellos(group, found.hello, deadline));
  std::vector<GpuVerdict> verdicts;
  for (const GpuHello& hello : chosen.hellos) verdicts.push_back(hello.verdict);
  MUSTER_TRY(const BackendChoice choice,
             AgreeOnBackend(request.configured, group.roster(), verdicts, request.options.share_device));
  LogChoice(group, choice, chosen.hellos);
  if (choice.backend == Backend::kSocket) {
    chosen.communicator = std::move(host);
    return chosen;
  }
  MUSTER_CHECK(CheckNcclProtection(request.protect, group.roster()));
  AdviseOnHiddenPeers(group, chosen.hellos);
  NcclSettings settings;
  settings.device = found.hello.verdict.ordinal;
  settings.gpu = found.hello.verdict.uuid;
  settings.share_device = request.options.share_device;
  settings.timeouts = request.timeouts;
  settings.abort_within = request.options.abort_timeout;
  MUSTER_TRY(chosen.communicator,
             MakeNcclCommunicator(group, {std::move(found.nccl), std::move(found.cuda), std::move(host)},
                                  settings, deadline));
  return chosen;
}

}  // namespace muster::nccl
