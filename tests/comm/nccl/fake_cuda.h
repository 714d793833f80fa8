// A CUDA runtime whose driver and GPUs are what a test says. Nothing that computes: events and memory fail as
// without a device.
#pragma once

#include <string>
#include <vector>

#include "comm/nccl/libraries/cuda_api.h"

namespace muster::nccl {

class FakeCuda final : public CudaApi {
 public:
  // As on a healthy node with these GPUs, unless a test changes it.
  explicit FakeCuda(std::vector<CudaDevice> gpus) : devices(std::move(gpus)) {}

  int driver = 13'000;
  CudaResult driver_answer = CudaResult::kSuccess;
  CudaResult count_answer = CudaResult::kSuccess;
  CudaResult device_answer = CudaResult::kSuccess;
  std::vector<CudaDevice> devices;

  int runtime_version() const override { return 13'000; }
  std::string path() const override { return "/fake/libcudart.so.13"; }
  CudaResult DriverVersion(int* version) override {
    *version = driver;
    return driver_answer;
  }
  CudaResult DeviceCount(int* count) override {
    *count = static_cast<int>(devices.size());
    return count_answer;
  }
  CudaResult Describe(int ordinal, CudaDevice* device) override {
    *device = devices.at(static_cast<size_t>(ordinal));
    return device_answer;
  }
  CudaResult SetDevice(int) override { return CudaResult::kNoDevice; }
  CudaResult CurrentDevice(int*) override { return CudaResult::kNoDevice; }
  CudaResult Locate(const void*, CudaMemory*) override { return CudaResult::kNoDevice; }
  CudaResult CreateEvent(CudaEvent*) override { return CudaResult::kNoDevice; }
  CudaResult DestroyEvent(CudaEvent) override { return CudaResult::kNoDevice; }
  CudaResult RecordEvent(CudaEvent, CudaStream) override { return CudaResult::kNoDevice; }
  CudaResult QueryEvent(CudaEvent) override { return CudaResult::kNoDevice; }
  CudaResult CreateStream(CudaStream*) override { return CudaResult::kNoDevice; }
  CudaResult DestroyStream(CudaStream) override { return CudaResult::kNoDevice; }
  CudaResult Synchronize(CudaStream) override { return CudaResult::kNoDevice; }
  CudaResult Copy(void*, const void*, size_t, CudaStream) override { return CudaResult::kNoDevice; }
  CudaResult AllocateOn(void**, size_t, CudaStream) override { return CudaResult::kNoDevice; }
  CudaResult FreeOn(void*, CudaStream) override { return CudaResult::kNoDevice; }
  CudaResult Allocate(void**, size_t) override { return CudaResult::kNoDevice; }
  CudaResult Free(void*) override { return CudaResult::kNoDevice; }
  std::string Explain(CudaResult result) const override {
    return result == CudaResult{802} ? "system not yet initialized" : "some error";
  }
};

}  // namespace muster::nccl
