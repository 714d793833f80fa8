#include "tests/comm/nccl/through_device.h"

#include <list>
#include <utility>

namespace muster::nccl {
namespace {

// The caller's buffers on the device, for one call.
class Mirror {
 public:
  explicit Mirror(ComputingCuda& cuda) : cuda_(cuda) { Check(cuda_.CreateStream(&stream_)); }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror() {
    // Waits, also after a failure, for what still uses the memory.
    Check(cuda_.DestroyStream(stream_));
    for (const Copy& copy : copies_) Check(cuda_.Free(copy.device));
  }

  // The larger buffer first: one that lies in it lies there on the device as well.
  Buffer Of(const Buffer& host) {
    return {Place(static_cast<uint8_t*>(host.data), host.bytes()), host.count, host.type, Memory::kDevice};
  }
  ConstBuffer Of(const ConstBuffer& host) {
    auto* data = const_cast<uint8_t*>(static_cast<const uint8_t*>(host.data));
    return {Place(data, host.bytes()), host.count, host.type, Memory::kDevice};
  }
  CallOptions With(const CallOptions& options) const { return {options.timeout, stream_}; }

  // Waits, and gives the caller what is on the device now.
  Status Finish(Communicator& inner, const Status& queued) {
    MUSTER_CHECK(queued);
    MUSTER_CHECK(inner.Synchronize());
    for (const Copy& copy : copies_) Check(cuda_.Copy(copy.host, copy.device, copy.bytes, stream_));
    Check(cuda_.Synchronize(stream_));
    return result_;
  }

 private:
  struct Copy {
    uint8_t* host = nullptr;
    void* device = nullptr;
    size_t bytes = 0;
  };

  void* Place(uint8_t* host, size_t bytes) {
    for (const Copy& copy : copies_) {
      if (host >= copy.host && host + bytes <= copy.host + copy.bytes) {
        return static_cast<uint8_t*>(copy.device) + (host - copy.host);
      }
    }
    Copy& copy = copies_.emplace_back();
    copy = {host, nullptr, bytes};
    Check(cuda_.Allocate(&copy.device, bytes));
    if (bytes > 0) Check(cuda_.Copy(copy.device, host, bytes, stream_));
    return copy.device;
  }
  void Check(CudaResult result) {
    if (result != CudaResult::kSuccess && result_)
      result_ = Fail(Code::kInternal, "{}", cuda_.Explain(result));
  }

  ComputingCuda& cuda_;
  CudaStream stream_ = nullptr;
  std::list<Copy> copies_;
  Status result_;
};

class ThroughDevice final : public Communicator {
 public:
  ThroughDevice(std::unique_ptr<Communicator> inner, std::shared_ptr<ComputingCuda> cuda)
      : inner_(std::move(inner)), cuda_(std::move(cuda)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const Roster& roster() const override { return inner_->roster(); }
  std::string_view backend() const override { return inner_->backend(); }

  Status Perform(const OperationRequest& request, const CallOptions& options) override {
    if (request.operation == Operation::kBarrier) return inner_->Barrier(options);
    Mirror mirror(*cuda_);
    // If one contains the other, the larger one is placed first.
    if (request.send.bytes() > request.receive.bytes()) mirror.Of(request.send);
    OperationRequest on_device = request;
    on_device.receive = mirror.Of(request.receive);
    on_device.send = mirror.Of(request.send);
    return mirror.Finish(*inner_, inner_->Perform(on_device, mirror.With(options)));
  }
  Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView mine, int root,
                                          const CallOptions& options) override {
    return inner_->PerformBytes(operation, mine, root, options);
  }
  Result<std::unique_ptr<Communicator>> Split(int color, int key, const CallOptions& options) override {
    MUSTER_TRY(std::unique_ptr<Communicator> part, inner_->Split(color, key, options));
    if (!part) return nullptr;
    return MakeThroughDevice(std::move(part), cuda_);
  }
  Status Synchronize(const CallOptions& options) override { return inner_->Synchronize(options); }

 private:
  const std::unique_ptr<Communicator> inner_;
  const std::shared_ptr<ComputingCuda> cuda_;
};

}  // namespace

std::unique_ptr<Communicator> MakeThroughDevice(std::unique_ptr<Communicator> inner,
                                                std::shared_ptr<ComputingCuda> cuda) {
  return std::make_unique<ThroughDevice>(std::move(inner), std::move(cuda));
}

}  // namespace muster::nccl
