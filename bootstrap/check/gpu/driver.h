// The part of NVIDIA's driver that checks a GPU: memory, kernels, times. The only wrapper of libcuda.so.1, which
// is opened at run time; no header of CUDA is needed.
//
// Threads: one, which has the GPU's primary context from Open on. BLOCKS without a deadline, also for ever if
// the GPU hangs: call it through comm/system/bounded_call.h.
//
// Protocol source: CUDA driver API, 11.4 to 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::check {

struct DriverFunctions;

// The driver's CUDA_ERROR_OUT_OF_MEMORY.
bool IsOutOfMemory(const Error& error);

// Memory of the GPU; freed at the end. Must not outlive its driver.
class GpuMemory {
 public:
  GpuMemory(const DriverFunctions& functions, uint64_t address, size_t bytes)
      : functions_(&functions), address_(address), bytes_(bytes) {}
  GpuMemory(GpuMemory&& other) noexcept
      : functions_(other.functions_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
  GpuMemory& operator=(GpuMemory&&) = delete;
  ~GpuMemory();

  uint64_t address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  const DriverFunctions* functions_;
  uint64_t address_;
  size_t bytes_;
};

// How many threads run a kernel: their number is blocks * threads.
struct Grid {
  unsigned blocks = 1;
  unsigned threads = 256;

  unsigned size() const { return blocks * threads; }
};

class GpuDriver {
 public:
  // `uuid`: "GPU-3b8f...", "MIG-3b8f...". `kernels`: text for the driver's compiler. Error: kConfiguration: no
  // driver, or it lacks a function; kSystem: no such GPU, or the driver's own text.
  static Result<std::unique_ptr<GpuDriver>> Open(const std::string& uuid, const char* kernels);
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;
  ~GpuDriver();

  const std::string& pci() const { return pci_; }      // "0000:1b:00.0"
  unsigned processors() const { return processors_; }  // multiprocessors; at least 1
  Result<size_t> FreeBytes() const;

  Result<GpuMemory> Allocate(size_t bytes) const;
  Status ToGpu(const GpuMemory& to, std::span<const std::byte> from) const;
  Status FromGpu(std::span<std::byte> to, const GpuMemory& from) const;
  // Runs a kernel to its end. `arguments[i]` points to the i-th argument. Returns the GPU's time for it.
  Result<Duration> Run(const char* kernel, Grid grid, std::span<void*> arguments) const;

 private:
  GpuDriver() = default;
  Status UseDevice(const std::string& uuid);
  Status Load(const char* kernels);

  std::unique_ptr<const DriverFunctions> functions_;
  int device_ = 0;
  void* context_ = nullptr;  // retained; null: not retained
  void* module_ = nullptr;
  void* begin_ = nullptr;  // events
  void* end_ = nullptr;
  std::string pci_;
  unsigned processors_ = 1;
};

}  // namespace muster::check
