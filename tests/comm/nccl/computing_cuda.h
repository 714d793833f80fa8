// A CUDA runtime that computes: one GPU for each rank of a test's process, whose memory is the process's own,
// also of a rank that sees several; with streams that are threads and events that are reached when the stream
// gets there. Work that is queued on a stream runs later, in order, as on a GPU; so a result that is used too
// early is wrong here as well.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "comm/nccl/libraries/cuda_api.h"

namespace muster::nccl {

class ComputingCuda final : public CudaApi {
 public:
  // Before they are used: the GPU, how many there are (the last byte of each UUID is its number), the driver.
  CudaDevice device = {"Computing GPU", {1}};
  int count = 1;
  int driver = 13'010;
  // The answers of calls.
  CudaResult driver_answer = CudaResult::kSuccess;
  CudaResult count_answer = CudaResult::kSuccess;
  CudaResult device_answer = CudaResult::kSuccess;

  ComputingCuda();
  ~ComputingCuda() override;  // waits for what is queued

  // Work in the stream's order; null: the default stream. For the fake NCCL.
  void Enqueue(CudaStream stream, std::function<void()> work);
  // From now on the GPU reports this for every event.
  void Break(CudaResult result) { broken_ = static_cast<int>(result); }
  // From now on queries and ends of events do not return before `open`.
  void BlockEvents(std::shared_future<void> open);
  // Events and memory that were not freed.
  int events() const { return events_; }
  size_t allocations() const;

  int runtime_version() const override { return 13'000; }
  std::string path() const override { return "/fake/libcudart.so.13"; }
  CudaResult DriverVersion(int* version) override;
  CudaResult DeviceCount(int* there) override;
  CudaResult Describe(int ordinal, CudaDevice* its) override;
  CudaResult SetDevice(int ordinal) override;
  CudaResult CurrentDevice(int* ordinal) override;
  CudaResult Locate(const void* pointer, CudaMemory* memory) override;
  CudaResult CreateEvent(CudaEvent* event) override;
  CudaResult DestroyEvent(CudaEvent event) override;
  CudaResult RecordEvent(CudaEvent event, CudaStream stream) override;
  CudaResult QueryEvent(CudaEvent event) override;
  CudaResult ExchangeCaptureMode(CudaCaptureMode* mode) override;
  CudaResult IsCapturing(CudaStream stream, bool* capturing) override;
  CudaResult Copy(void* to, const void* from, size_t bytes, CudaStream stream) override;
  CudaResult AllocateOn(void** memory, size_t bytes, CudaStream stream) override;
  CudaResult FreeOn(void* memory, CudaStream stream) override;
  std::string Explain(CudaResult result) const override;
  // For the programs of tests: muster calls none of these.
  CudaResult CreateStream(CudaStream* stream);
  CudaResult DestroyStream(CudaStream stream);
  CudaResult Synchronize(CudaStream stream);  // BLOCKS
  // In the global mode. Work that is queued meanwhile runs, other than on a GPU; events are captured.
  void BeginCapture(CudaStream stream);
  // False: a call, in any thread, has broken the capture.
  bool EndCapture(CudaStream stream);
  CudaResult Allocate(void** memory, size_t bytes);
  CudaResult Free(void* memory);

 private:
  mutable std::mutex mutex_;
  // Of each thread, as CUDA's: 0 until it is set.
  int& current() const;
  void AwaitOpen() const;
  CudaStream StreamOf(CudaStream stream);
  CudaCaptureMode& capture_mode() const;

  struct Block {
    size_t bytes = 0;
    int device = 0;
  };
  std::map<const uint8_t*, Block> memory_;
  const uint64_t number_;
  std::shared_future<void> events_open_;
  std::map<int, CudaStream> default_streams_;
  std::atomic<int> events_ = 0;
  std::atomic<int> broken_ = 0;
  std::atomic<CudaStream> capturing_ = nullptr;
  std::atomic<bool> capture_broken_ = false;
};

}  // namespace muster::nccl
