#include "tests/gpu/device.h"

#include "comm/nccl/libraries/libraries.h"
#include "tests/gpu/places.h"

namespace muster {

Result<Device> Device::Open() {
  MUSTER_TRY(std::unique_ptr<nccl::CudaApi> cuda, nccl::LoadCuda(nccl::FindCudaFiles(PlacesOfThisProcess())));
  Device device(std::move(cuda));
  MUSTER_CHECK(device.Check(device.cuda_->CreateStream(&device.stream_), "make a stream"));
  return device;
}

Device::~Device() {
  if (!cuda_ || stream_ == nullptr) return;
  [[maybe_unused]] const nccl::CudaResult result = cuda_->DestroyStream(stream_);
}

Status Device::Check(nccl::CudaResult result, std::string_view what) const {
  if (result == nccl::CudaResult::kSuccess) return {};
  return Fail(Code::kSystem, "CUDA cannot {}: {}", what, cuda_->Explain(result));
}

Result<DeviceArray> DeviceArray::Filled(const Device& device, const Bytes& bytes) {
  void* data = nullptr;
  MUSTER_CHECK(device.Check(device.cuda().Allocate(&data, bytes.size()), "allocate memory"));
  DeviceArray array(device, data, bytes.size());
  MUSTER_CHECK(device.Check(device.cuda().Copy(data, bytes.data(), bytes.size(), device.stream()),
                            "copy to the device"));
  MUSTER_CHECK(device.Wait());
  return array;
}

DeviceArray::~DeviceArray() {
  if (data_ == nullptr) return;
  [[maybe_unused]] const nccl::CudaResult result = device_.cuda().Free(data_);
}

Result<Bytes> DeviceArray::Fetch() const {
  Bytes bytes(bytes_);
  MUSTER_CHECK(device_.Check(device_.cuda().Copy(bytes.data(), data_, bytes_, device_.stream()),
                             "copy from the device"));
  MUSTER_CHECK(device_.Wait());
  return bytes;
}

}  // namespace muster
