#include "bootstrap/doctor/gpus.h"

#include <fmt/core.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "comm/nccl/libraries/cuda_library.h"
#include "comm/nccl/libraries/nccl_library.h"
#include "comm/nccl/libraries/nvidia_presence.h"
#include "comm/system/abandonable_calls.h"

namespace muster::doctor {
namespace {

Result<std::string> Cuda(const nccl::LibraryPlaces& places) {
  MUSTER_TRY(const std::unique_ptr<nccl::CudaApi> cuda, nccl::LoadCuda(nccl::FindCudaFiles(places)));
  int driver = 0;
  int devices = 0;
  if (const nccl::CudaResult result = cuda->DriverVersion(&driver);
      result != nccl::CudaResult::kSuccess || driver == 0) {
    return Fail(Code::kSystem, "CUDA finds no driver");
  }
  if (cuda->DeviceCount(&devices) != nccl::CudaResult::kSuccess)
    return Fail(Code::kSystem, "CUDA finds no device");
  return fmt::format("driver for CUDA {}, {} visible", nccl::FormatCudaVersion(driver), devices);
}

Result<std::string> Nccl(const nccl::LibraryPlaces& places) {
  MUSTER_TRY(const std::unique_ptr<nccl::NcclApi> nccl, nccl::LoadNccl(nccl::FindNcclFiles(places)));
  return ToString(nccl->version());
}

// The call may be left behind in a library that hangs: it owns all that it touches.
Result<std::string> Within(Deadline deadline, const char* what, std::function<Result<std::string>()> call) {
  const auto answer = std::make_shared<Result<std::string>>();
  if (!AbandonableCalls().Run([answer, call = std::move(call)] { *answer = call(); }, deadline)) {
    return Fail(Code::kDeadline, "{} does not return", what);
  }
  return *answer;
}

}  // namespace

GpuFacts LookAtGpus(const nccl::LibraryPlaces& places, uint32_t devices, Deadline deadline) {
  GpuFacts facts;
  facts.nvidia = nccl::HasNvidiaFiles();
  facts.devices = devices;
  facts.amd = access("/dev/kfd", F_OK) == 0;
  if (!facts.nvidia) return facts;
  facts.cuda = Within(deadline, "CUDA", [places] { return Cuda(places); });
  facts.nccl = Within(deadline, "loading NCCL", [places] { return Nccl(places); });
  return facts;
}

Finding JudgeGpus(const GpuFacts& facts) {
  Finding finding{.subject = "gpus"};
  finding.facts = {{"nvidia_devices", std::to_string(facts.devices)},
                   {"amd", facts.amd ? "yes" : "no"},
                   {"backend", facts.nvidia && facts.cuda && facts.nccl ? "nccl" : "socket"}};
  if (!facts.nvidia) {
    finding.found = facts.amd
                        ? "AMD: collectives of muster go over sockets; PyTorch's RCCL is the program's own"
                        : "none of NVIDIA: collectives of muster go over sockets";
    return finding;
  }
  finding.found = fmt::format("{} of NVIDIA", facts.devices);
  for (const auto* part : {&facts.cuda, &facts.nccl}) {
    const std::string name = part == &facts.nccl && *part ? "NCCL " : "";
    finding.found += fmt::format("; {}{}", name, *part ? **part : part->error().message);
    if (*part) continue;
    finding.health = Health::kNote;
    if (finding.remedy.empty()) finding.remedy = part->error().hint;
  }
  if (finding.health == Health::kNote)
    finding.cost = "muster's own collectives go over sockets; PyTorch's NCCL is the program's own";
  return finding;
}

}  // namespace muster::doctor
