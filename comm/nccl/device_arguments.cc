#include "comm/nccl/device_arguments.h"

#include "comm/socket/arguments.h"

namespace muster {
namespace {

std::string_view Name(Memory memory) { return memory == Memory::kDevice ? "device" : "host"; }

}  // namespace

Status CheckDeviceBuffer(CudaApi& cuda, Operation operation, std::string_view name,
                         const ConstBuffer& buffer) {
  ConstBuffer bare = buffer;
  bare.memory = Memory::kHost;
  MUSTER_CHECK(CheckBuffer(operation, name, bare));
  if (buffer.count == 0) return {};
  bool device = false;
  const CudaResult asked = cuda.IsDevicePointer(buffer.data, &device);
  if (asked == CudaResult::kSuccess && device) return {};
  return WithHint(Fail(Code::kUsage, "{}: {} was given as device memory, but no GPU can use that address",
                       Name(operation), name),
                  "allocate it with cudaMalloc, or pass it as host memory");
}

Status CheckSameMemory(Operation operation, std::string_view one_name, const ConstBuffer& one,
                       std::string_view other_name, const ConstBuffer& other) {
  if (one.memory == other.memory) return {};
  return Fail(Code::kUsage, "{}: {} is {} memory and {} is {} memory; they must be the same", Name(operation),
              one_name, Name(one.memory), other_name, Name(other.memory));
}

}  // namespace muster
