#include "comm/nccl/devices/device_arguments.h"

#include "comm/ops/arguments.h"

namespace muster::nccl {
namespace {

std::string_view Name(Memory memory) { return memory == Memory::kDevice ? "device" : "host"; }

}  // namespace

Status CheckDeviceBuffer(CudaApi& cuda, int device, Operation operation, std::string_view name,
                         const ConstBuffer& buffer) {
  ConstBuffer bare = buffer;
  bare.memory = Memory::kHost;
  MUSTER_CHECK(CheckBuffer(operation, name, bare));
  if (buffer.count == 0) return {};
  CudaMemory memory;
  if (cuda.Locate(buffer.data, &memory) != CudaResult::kSuccess || !memory.on_device) {
    return WithHint(Fail(Code::kUsage, "{}: {} was given as device memory, but no GPU can use that address",
                         Name(operation), name),
                    "allocate it with cudaMalloc, or pass it as host memory");
  }
  if (memory.device.value_or(device) == device) return {};
  return WithHint(Fail(Code::kUsage, "{}: {} is memory of GPU {}, and this rank's is GPU {}", Name(operation),
                       name, *memory.device, device),
                  "call cudaSetDevice in this thread: Init selects the rank's GPU in its own thread only");
}

Status CheckSameMemory(Operation operation, std::string_view one_name, const ConstBuffer& one,
                       std::string_view other_name, const ConstBuffer& other) {
  if (one.memory == other.memory) return {};
  return Fail(Code::kUsage, "{}: {} is {} memory and {} is {} memory; they must be the same", Name(operation),
              one_name, Name(one.memory), other_name, Name(other.memory));
}

}  // namespace muster::nccl
