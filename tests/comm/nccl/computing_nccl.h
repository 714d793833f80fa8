// An NCCL that computes, for one rank of a test's process: its communicators meet those of the other ranks in
// a FakeFabric, and what they launch runs on the streams of a ComputingCuda. It does not block, as the real
// one with `blocking` off: calls are under way until AsyncError was asked a few times, and nothing is
// launched before that. It fails as the fabric says. The rules of the real one are checked
// (FakeFabric::misuses).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "comm/nccl/libraries/nccl_api.h"
#include "tests/comm/nccl/computing_cuda.h"
#include "tests/comm/nccl/fake_fabric.h"

namespace muster::nccl {

class ComputingNccl final : public NcclApi {
 public:
  ComputingNccl(std::shared_ptr<FakeFabric> fabric, std::shared_ptr<ComputingCuda> cuda, int rank)
      : fabric_(std::move(fabric)), cuda_(std::move(cuda)), rank_(rank) {}

  NcclVersion version() const override { return {2, 32, 3}; }
  std::string path() const override { return "/fake/libnccl.so.2"; }
  NcclResult GetUniqueId(NcclId* id) override;
  NcclResult Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) override;
  NcclResult Split(NcclComm comm, int color, int key, NcclComm* part) override;
  bool HasInitScalable() const override { return true; }
  bool HasShrink() const override { return true; }
  bool HasRevoke() const override { return true; }
  NcclResult AsyncError(NcclComm comm, NcclResult* state) override;
  NcclResult Finalize(NcclComm comm) override;
  NcclResult Destroy(NcclComm comm) override;
  NcclResult Abort(NcclComm comm) override;
  NcclResult Broadcast(const void* send, void* receive, size_t count, DataType type, int root, NcclComm comm,
                       CudaStream stream) override;
  NcclResult Reduce(const void* send, void* receive, size_t count, DataType type, ReduceOp operation,
                    int root, NcclComm comm, CudaStream stream) override;
  NcclResult AllReduce(const void* send, void* receive, size_t count, DataType type, ReduceOp operation,
                       NcclComm comm, CudaStream stream) override;
  NcclResult AllGather(const void* send, void* receive, size_t count, DataType type, NcclComm comm,
                       CudaStream stream) override;
  NcclResult ReduceScatter(const void* send, void* receive, size_t count, DataType type, ReduceOp operation,
                           NcclComm comm, CudaStream stream) override;
  NcclResult Send(const void* send, size_t count, DataType type, int to, NcclComm comm,
                  CudaStream stream) override;
  NcclResult Recv(void* receive, size_t count, DataType type, int from, NcclComm comm,
                  CudaStream stream) override;
  NcclResult GroupStart() override;
  NcclResult GroupEnd() override;
  std::string Describe(NcclResult result) const override;
  std::string LastError() const override;

 private:
  struct Task {
    NcclComm comm = nullptr;
    CudaStream stream = nullptr;
    std::variant<FakeKernel, FakeTransfer> work;
  };
  using Tasks = std::vector<Task>;
  // What a thread has called since GroupStart.
  struct Grouped;
  static Grouped& OfThisThread();

  // With the fabric's mutex held.
  NcclResult Begin(NcclComm comm, std::function<bool()> done, std::function<void()> finish);
  NcclComm NewComm(std::shared_ptr<FakeRing> ring, int rank);
  void EnqueueKernel(NcclComm comm, CudaStream stream, const FakeKernel& kernel, uint64_t number);
  void EnqueueTransfers(NcclComm comm, CudaStream stream, std::vector<FakeTransfer> transfers);

  NcclResult Add(Task task);
  NcclResult Launch(const Tasks& tasks);
  NcclResult AbortAll(const std::vector<NcclComm>& comms);

  const std::shared_ptr<FakeFabric> fabric_;
  const std::shared_ptr<ComputingCuda> cuda_;
  const int rank_;
};

}  // namespace muster::nccl
