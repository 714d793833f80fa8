#include <fmt/core.h>

#include <functional>
#include <memory>

#include "bootstrap/doctor/findings.h"
#include "comm/nccl/libraries/libraries.h"
#include "comm/system/bounded_call.h"

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
Result<std::string> Within(Duration limit, const char* what, std::function<Result<std::string>()> call) {
  const auto answer = std::make_shared<Result<std::string>>();
  MUSTER_CHECK(RunWithin(Deadline::After(limit), {Code::kDeadline, fmt::format("{} does not return", what)},
                         [answer, call = std::move(call)] { *answer = call(); }));
  return *answer;
}

}  // namespace

GpuFacts LookAtGpus(const nccl::LibraryPlaces& places, uint32_t nvidia, const GpuCount& count,
                    Duration each) {
  GpuFacts facts;
  if (!nccl::HasNvidiaFiles()) {
    if (count.vendor == "NVIDIA") return facts;  // without its driver
    facts.vendor = count.vendor;
    facts.devices = static_cast<uint32_t>(count.gpus);
    return facts;
  }
  facts.vendor = "NVIDIA";
  facts.devices = nvidia;
  facts.cuda = Within(each, "CUDA", [places] { return Cuda(places); });
  facts.nccl = Within(each, "loading NCCL", [places] { return Nccl(places); });
  return facts;
}

Finding JudgeGpus(const GpuFacts& facts) {
  Finding finding{.subject = "gpus"};
  const bool nvidia = facts.vendor == "NVIDIA";
  finding.facts = {{"vendor", facts.vendor},
                   {"devices", std::to_string(facts.devices)},
                   {"backend", nvidia && facts.cuda && facts.nccl ? "nccl" : "socket"}};
  if (facts.vendor.empty()) {
    finding.found = "none: collectives of muster go over sockets";
    return finding;
  }
  if (!nvidia) {
    finding.found =
        fmt::format("{} of {}: collectives of muster go over sockets; PyTorch's {} is the program's own",
                    facts.devices, facts.vendor, facts.vendor == "AMD" ? "RCCL" : "oneCCL");
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
  if (finding.health == Health::kOk) return finding;
  finding.cost = "muster's own collectives go over sockets; PyTorch's NCCL is the program's own";
  if (finding.remedy.empty()) finding.remedy = "run nvidia-smi: it must list the GPUs";
  return finding;
}

}  // namespace muster::doctor
