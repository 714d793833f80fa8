#include "tests/gpu/device.h"

#include "comm/nccl/libraries/libraries.h"
#include "tests/gpu/places.h"

namespace muster {

Result<Device> Device::Open() {
  MUSTER_TRY(std::unique_ptr<nccl::CudaApi> cuda, nccl::LoadCuda(nccl::FindCudaFiles(PlacesOfThisProcess())));
  MUSTER_TRY(const SharedLibrary library, SharedLibrary::Open({cuda->path()}, {}));
  MUSTER_TRY(const Functions functions, FindFunctions<Functions>(library));
  Device device(std::move(cuda), functions);
  constexpr unsigned kNonBlocking = 1;  // cudaStreamNonBlocking
  MUSTER_CHECK(device.Check(device.f_.create_stream(&device.stream_, kNonBlocking), "make a stream"));
  return device;
}

Device::~Device() {
  if (!cuda_ || stream_ == nullptr) return;
  f_.destroy_stream(stream_);
}

Status Device::Check(nccl::CudaResult result, std::string_view what) const {
  if (result == nccl::CudaResult::kSuccess) return {};
  return Fail(Code::kSystem, "CUDA cannot {}: {}", what, cuda_->Explain(result));
}

Result<DeviceArray> DeviceArray::Filled(const Device& device, const Bytes& bytes) {
  void* data = nullptr;
  MUSTER_CHECK(device.Check(device.Allocate(&data, bytes.size()), "allocate memory"));
  DeviceArray array(device, data, bytes.size());
  MUSTER_CHECK(device.Check(device.cuda().Copy(data, bytes.data(), bytes.size(), device.stream()),
                            "copy to the device"));
  MUSTER_CHECK(device.Wait());
  return array;
}

DeviceArray::~DeviceArray() {
  if (data_ != nullptr) device_.Free(data_);
}

Result<Bytes> DeviceArray::Fetch() const {
  Bytes bytes(bytes_);
  MUSTER_CHECK(device_.Check(device_.cuda().Copy(bytes.data(), data_, bytes_, device_.stream()),
                             "copy from the device"));
  MUSTER_CHECK(device_.Wait());
  return bytes;
}

}  // namespace muster
