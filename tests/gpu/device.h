// Memory of this rank's GPU, for tests: through the same narrow interface to CUDA that muster uses, and the functions
// that a program needs beside it.
#pragma once

#include <memory>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/system/shared_library.h"

namespace muster {

// The CUDA runtime that this process uses, and a stream on its current device. Move-only; one thread.
class Device {
 public:
  // Loads the runtime as muster does, or takes the one that it has loaded.
  static Result<Device> Open();
  Device(Device&& other) noexcept = default;
  Device& operator=(Device&&) = delete;
  ~Device();

  nccl::CudaApi& cuda() const { return *cuda_; }
  nccl::CudaStream stream() const { return stream_; }
  CallOptions options() const { return {{}, stream_}; }
  // kSystem with CUDA's words, unless it is success.
  Status Check(nccl::CudaResult result, std::string_view what) const;
  // BLOCKS until the stream is empty.
  Status Wait() const { return Check(f_.synchronize(stream_), "wait for a stream"); }
  nccl::CudaResult Allocate(void** memory, size_t bytes) const { return f_.allocate(memory, bytes); }
  void Free(void* memory) const { f_.free(memory); }

 private:
  struct Functions {
    Symbols symbols;
    nccl::CudaResult (*create_stream)(nccl::CudaStream*,
                                      unsigned) = symbols.Need("cudaStreamCreateWithFlags");
    nccl::CudaResult (*destroy_stream)(nccl::CudaStream) = symbols.Need("cudaStreamDestroy");
    nccl::CudaResult (*synchronize)(nccl::CudaStream) = symbols.Need("cudaStreamSynchronize");
    nccl::CudaResult (*allocate)(void**, size_t) = symbols.Need("cudaMalloc");
    nccl::CudaResult (*free)(void*) = symbols.Need("cudaFree");
  };
  Device(std::unique_ptr<nccl::CudaApi> cuda, const Functions& functions)
      : cuda_(std::move(cuda)), f_(functions) {}

  std::unique_ptr<nccl::CudaApi> cuda_;
  Functions f_;
  nccl::CudaStream stream_ = nullptr;
};

// An array on the device. Move-only; the Device outlives it.
class DeviceArray {
 public:
  static Result<DeviceArray> Filled(const Device& device, const Bytes& bytes);
  DeviceArray(DeviceArray&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  DeviceArray& operator=(DeviceArray&&) = delete;
  ~DeviceArray();

  // BLOCKS until all before it in the stream is done.
  Result<Bytes> Fetch() const;
  // In the stream; both have the same size.
  Status CopyTo(const DeviceArray& other) const {
    return device_.Check(device_.cuda().Copy(other.data_, data_, bytes_, device_.stream()),
                         "copy on the device");
  }
  Buffer As(DataType type) const { return {data_, bytes_ / SizeOf(type), type, Memory::kDevice}; }

 private:
  DeviceArray(const Device& device, void* data, size_t bytes) : device_(device), data_(data), bytes_(bytes) {}

  const Device& device_;
  void* data_;
  size_t bytes_;
};

}  // namespace muster
