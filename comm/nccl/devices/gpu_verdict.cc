#include "comm/nccl/devices/gpu_verdict.h"

namespace muster::nccl {
namespace {

GpuVerdict None(std::string problem) {
  GpuVerdict verdict;
  verdict.problem = std::move(problem);
  return verdict;
}

// Empty if the driver is there and not older than the runtime.
std::string DriverProblem(CudaApi& cuda) {
  int driver = 0;
  if (const CudaResult result = cuda.DriverVersion(&driver); result != CudaResult::kSuccess) {
    return fmt::format("the CUDA driver cannot be queried: {}", cuda.Explain(result));
  }
  if (driver == 0) return "no CUDA driver (libcuda.so.1)";
  // Within one major version any driver of it will do.
  if (driver / 1000 >= cuda.runtime_version() / 1000) return "";
  return fmt::format("the driver is for CUDA {}, {} for CUDA {}", FormatCudaVersion(driver), cuda.path(),
                     FormatCudaVersion(cuda.runtime_version()));
}

}  // namespace

Result<GpuVerdict> ExamineGpu(CudaApi& cuda, DeviceQuestion question) {
  if (std::string problem = DriverProblem(cuda); !problem.empty()) return None(std::move(problem));
  const CudaResult counted = cuda.DeviceCount(&question.visible);
  if (counted == CudaResult::kNoDevice || (counted == CudaResult::kSuccess && question.visible == 0)) {
    return None(question.visible_list.empty()
                    ? "no GPU"
                    : fmt::format("no GPU (CUDA_VISIBLE_DEVICES={})", question.visible_list));
  }
  if (counted != CudaResult::kSuccess) {
    return None(fmt::format("the GPUs cannot be counted: {}", cuda.Explain(counted)));
  }
  MUSTER_TRY(const DeviceChoice choice, ChooseDevice(question));
  CudaDevice device;
  if (const CudaResult result = cuda.Describe(choice.ordinal, &device); result != CudaResult::kSuccess) {
    return None(fmt::format("GPU {} does not answer: {}", choice.ordinal, cuda.Explain(result)));
  }
  return GpuVerdict{"", choice.ordinal, FormatGpuUuid(device.uuid, device.name), device.name,
                    choice.peers_hidden};
}

}  // namespace muster::nccl
