// An NCCL on a machine without a GPU: ids can be drawn, and are different each time; everything that needs a
// device fails as the real library does. Threads: any.
#pragma once

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

class FakeNccl final : public NcclApi {
 public:
  explicit FakeNccl(NcclVersion version = {2, 32, 3}) : version_(version) {}

  // From now on no id can be drawn, and these are NCCL's last words.
  void BreakIds(std::string last_error) { last_error_ = std::move(last_error); }

  NcclVersion version() const override { return version_; }
  std::string path() const override { return "/fake/libnccl.so.2"; }
  NcclResult GetUniqueId(NcclId* id) override {
    static std::atomic<uint64_t> drawn = 0;
    if (!last_error_.empty()) return NcclResult::kSystemError;
    const uint64_t number = ++drawn;
    std::memcpy(id->data(), &number, sizeof number);
    return NcclResult::kSuccess;
  }
  bool HasInitScalable() const override { return version_.AtLeast({2, 23, 0}); }
  bool HasShrink() const override { return version_.AtLeast({2, 27, 0}); }
  bool HasRevoke() const override { return version_.AtLeast({2, 28, 7}); }
  std::string Describe(NcclResult result) const override {
    return result == NcclResult::kSystemError ? "unhandled system error" : "unhandled cuda error";
  }
  std::string LastError() const override { return last_error_; }

  NcclResult Init(NcclComm*, int, int, std::vector<NcclId>&) override { return kNoDriver; }
  NcclResult Split(NcclComm, int, int, NcclComm*) override { return kNoDriver; }
  NcclResult AsyncError(NcclComm, NcclResult*) override { return kNoDriver; }
  NcclResult Finalize(NcclComm) override { return kNoDriver; }
  NcclResult Destroy(NcclComm) override { return kNoDriver; }
  NcclResult Abort(NcclComm) override { return kNoDriver; }
  NcclResult Broadcast(const void*, void*, size_t, DataType, int, NcclComm, CudaStream) override {
    return kNoDriver;
  }
  NcclResult Reduce(const void*, void*, size_t, DataType, ReduceOp, int, NcclComm, CudaStream) override {
    return kNoDriver;
  }
  NcclResult AllReduce(const void*, void*, size_t, DataType, ReduceOp, NcclComm, CudaStream) override {
    return kNoDriver;
  }
  NcclResult AllGather(const void*, void*, size_t, DataType, NcclComm, CudaStream) override {
    return kNoDriver;
  }
  NcclResult ReduceScatter(const void*, void*, size_t, DataType, ReduceOp, NcclComm, CudaStream) override {
    return kNoDriver;
  }
  NcclResult Send(const void*, size_t, DataType, int, NcclComm, CudaStream) override { return kNoDriver; }
  NcclResult Recv(void*, size_t, DataType, int, NcclComm, CudaStream) override { return kNoDriver; }
  NcclResult GroupStart() override { return kNoDriver; }
  NcclResult GroupEnd() override { return kNoDriver; }

 private:
  static constexpr NcclResult kNoDriver = NcclResult::kUnhandledCudaError;

  const NcclVersion version_;
  std::string last_error_;
};

}  // namespace muster::nccl
