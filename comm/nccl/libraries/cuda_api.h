// The part of the CUDA runtime that the NCCL backend uses, as an interface: libraries.h makes one of the
// real library, tests/comm/nccl has a fake. No header of CUDA is needed to use it.
//
// Threads: any; the current device is each thread's own. No call waits for a stream.
//
// Protocol source: CUDA runtime API, 11.4 to 13.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// CUDA's own.
struct CUstream_st;
struct CUevent_st;

namespace muster::nccl {

// The values of cudaError_t that muster distinguishes; every other one is passed on unchanged.
enum class CudaResult : int {
  kSuccess = 0,
  kUnloading = 4,            // the process is ending
  kInsufficientDriver = 35,  // also: no driver
  kNoDevice = 100,
  kNotReady = 600,
};

// cudaStreamCaptureMode.
enum class CudaCaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

using CudaStream = ::CUstream_st*;
using CudaEvent = ::CUevent_st*;

struct CudaDevice {
  std::string name;
  std::array<uint8_t, 16> uuid = {};  // of the GPU, or of its part (MIG)

  friend bool operator==(const CudaDevice&, const CudaDevice&) = default;
};

// The kind of memory at an address: of one GPU, memory that moves to its user (managed), or neither.
struct CudaMemory {
  bool on_device = false;
  std::optional<int> device;  // of which GPU; absent: of any

  friend bool operator==(const CudaMemory&, const CudaMemory&) = default;
};

// "GPU-3b8f...", as nvidia-smi has it; "MIG-3b8f..." for a part of a GPU, which only its name shows.
std::string FormatGpuUuid(const std::array<uint8_t, 16>& uuid, std::string_view name);

// 13000 is "13.0".
std::string FormatCudaVersion(int code);

class CudaApi {
 public:
  CudaApi() = default;
  CudaApi(const CudaApi&) = delete;
  CudaApi& operator=(const CudaApi&) = delete;
  virtual ~CudaApi() = default;

  virtual int runtime_version() const = 0;  // 13000
  virtual std::string path() const = 0;     // of the file that was loaded

  [[nodiscard]] virtual CudaResult DriverVersion(int* version) = 0;  // 0: no driver
  [[nodiscard]] virtual CudaResult DeviceCount(int* count) = 0;      // of the visible ones
  [[nodiscard]] virtual CudaResult Describe(int ordinal, CudaDevice* device) = 0;
  [[nodiscard]] virtual CudaResult SetDevice(int ordinal) = 0;
  [[nodiscard]] virtual CudaResult CurrentDevice(int* ordinal) = 0;
  [[nodiscard]] virtual CudaResult Locate(const void* pointer, CudaMemory* memory) = 0;

  [[nodiscard]] virtual CudaResult CreateEvent(CudaEvent* event) = 0;  // without timing
  [[nodiscard]] virtual CudaResult DestroyEvent(CudaEvent event) = 0;
  [[nodiscard]] virtual CudaResult RecordEvent(CudaEvent event, CudaStream stream) = 0;
  [[nodiscard]] virtual CudaResult QueryEvent(CudaEvent event) = 0;  // kSuccess or kNotReady

  // Of a graph. With kRelaxed this thread's other calls disturb no capture, in any thread; a thread begins with kGlobal.
  // Returns the mode before in *mode.
  [[nodiscard]] virtual CudaResult ExchangeCaptureMode(CudaCaptureMode* mode) = 0;
  [[nodiscard]] virtual CudaResult IsCapturing(CudaStream stream, bool* capturing) = 0;

  // Between any two kinds of memory, in the stream; of pageable host memory also the caller may wait.
  [[nodiscard]] virtual CudaResult Copy(void* to, const void* from, size_t bytes, CudaStream stream) = 0;
  // In the order of the stream, without waiting for the device.
  [[nodiscard]] virtual CudaResult AllocateOn(void** memory, size_t bytes, CudaStream stream) = 0;
  [[nodiscard]] virtual CudaResult FreeOn(void* memory, CudaStream stream) = 0;

  virtual std::string Explain(CudaResult result) const = 0;
};

}  // namespace muster::nccl
