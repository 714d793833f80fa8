#include "comm/nccl/communicator/abort.h"

#include <unistd.h>

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/system/bounded_call.h"

namespace muster::nccl {
namespace {

using Comms = std::vector<std::shared_ptr<LiveComm>>;

void AwaitReach(const Comms& comms) {
  for (const std::shared_ptr<LiveComm>& live : comms) {
    const auto ask = [&] { return live->out_of_reach() ? NcclResult::kInProgress : NcclResult::kSuccess; };
    [[maybe_unused]] const NcclResult reached = Settle(ask, Deadline::Never(), -1);
  }
}

std::vector<NcclComm> TakeAll(const Comms& comms) {
  std::vector<NcclComm> taken;
  for (const std::shared_ptr<LiveComm>& live : comms) {
    if (NcclComm comm = live->Take()) taken.push_back(comm);
  }
  return taken;
}

// An abort ends all calls on a communicator, and frees it at the end of the group: by then they must have returned.
void AbortInOneGroup(NcclApi& nccl, const std::vector<NcclComm>& taken, const Comms& comms) {
  // The result of an abort changes nothing: there is no alternative.
  [[maybe_unused]] NcclResult result = nccl.GroupStart();
  for (NcclComm comm : taken) result = nccl.Abort(comm);
  for (const std::shared_ptr<LiveComm>& live : comms) live->AwaitCall();
  result = nccl.GroupEnd();
}

}  // namespace

void EndProcess(const Error& error) {
  LogEvent(LogLevel::kError, "error", {{"code", CodeName(error.code)}, {"hint", error.hint}}, "{}",
           ToString(error));
  FlushLog(Deadline::After(kLastLinesWithin));
  _exit(ExitStatus(error.code));
}

bool AbortAll(const NcclCore& core, const Comms& comms, const Error& cause) {
  const Duration limit = core.settings.abort_within;
  const auto began = Clock::now();
  const auto abort = [nccl = core.nccl, cuda = core.cuda, device = core.settings.device, comms,
                      taken = TakeAll(comms)]() mutable {
    [[maybe_unused]] const CudaResult set = cuda->SetDevice(device);
    do {
      if (!taken.empty()) AbortInOneGroup(*nccl, taken, comms);
      AwaitReach(comms);
      // A split under way may have made its part meanwhile.
      taken = TakeAll(comms);
    } while (!taken.empty());
  };
  const bool leaves = std::ranges::any_of(comms, [](const auto& live) { return live->out_of_reach(); });
  const Error late{Code::kDeadline,
                   fmt::format("NCCL did not return from an abort within {}", FormatDuration(limit))};
  const Status back = RunWithin(Deadline::After(leaves ? Duration::zero() : limit), late, abort);
  // Before any call of CUDA, which may hang as well.
  if (!back && !leaves) {
    const bool no_thread = back.error().code == Code::kSystem;
    core.settings.end_process(
        {Code::kPeerLost,
         fmt::format("{}{}, so this process ends; why it was aborted: {}",
                     no_thread ? "NCCL cannot be aborted: " : "", back.error().message, cause.message),
         cause.hint});
  }
  for (const std::shared_ptr<LiveComm>& live : comms) live->operations()->Close();
  if (back) LogDebug("NCCL was aborted within {}", FormatSeconds(Clock::now() - began));
  return back.has_value() || leaves;
}

}  // namespace muster::nccl
