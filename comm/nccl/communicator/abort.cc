#include "comm/nccl/communicator/abort.h"

#include <unistd.h>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/system/bounded_call.h"

namespace muster::nccl {
namespace {

void AbortInOneGroup(NcclApi& nccl, const std::vector<NcclComm>& comms) {
  // The result of an abort changes nothing: there is no alternative.
  [[maybe_unused]] NcclResult result = nccl.GroupStart();
  for (NcclComm comm : comms) result = nccl.Abort(comm);
  result = nccl.GroupEnd();
}

bool AbortWithin(const NcclCore& core, const std::vector<NcclComm>& comms, const Error& cause) {
  if (comms.empty()) return true;
  const Duration limit = core.settings.abort_within;
  const auto began = Clock::now();
  const auto abort = [nccl = core.nccl, cuda = core.cuda, device = core.settings.device, comms] {
    [[maybe_unused]] const CudaResult set = cuda->SetDevice(device);
    AbortInOneGroup(*nccl, comms);
  };
  if (RunWithin(Deadline::After(limit), abort)) {
    LogDebug("NCCL was aborted within {}", FormatSeconds(Clock::now() - began));
    return true;
  }
  core.settings.end_process(
      {Code::kPeerLost,
       fmt::format(
           "NCCL did not return from an abort within {}, so this process ends; why it was aborted: {}",
           FormatDuration(limit), cause.message),
       cause.hint});
  return false;
}

}  // namespace

void EndProcess(const Error& error) {
  LogEvent(LogLevel::kError, "error", {{"code", CodeName(error.code)}, {"hint", error.hint}}, "{}",
           ToString(error));
  _exit(ExitStatus(error.code));
}

bool AbortAll(const NcclCore& core, const std::vector<std::shared_ptr<LiveComm>>& comms, const Error& cause) {
  std::vector<NcclComm> taken;
  for (const std::shared_ptr<LiveComm>& live : comms) {
    if (NcclComm comm = live->Take()) taken.push_back(comm);
  }
  bool back = AbortWithin(core, taken, cause);
  if (back) {
    // Parts that a split had not returned: NCCL may have made them during the abort.
    std::vector<NcclComm> parts;
    for (const std::shared_ptr<LiveComm>& live : comms) {
      for (NcclComm part : live->TakeParts()) parts.push_back(part);
    }
    back = AbortWithin(core, parts, cause);
  }
  for (const std::shared_ptr<LiveComm>& live : comms) live->operations()->Close();
  return back;
}

bool AbortComm(const NcclCore& core, NcclComm comm, const Error& cause) {
  return comm == nullptr || AbortWithin(core, {comm}, cause);
}

}  // namespace muster::nccl
