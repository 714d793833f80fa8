// An NCCL that computes, for one rank of a test's process; as a library: tests/gpu/standin. Its communicators
// meet those of the other ranks in a FakeFabric; their operations run on the streams of a ComputingCuda.
//
// Its calls block, as the real one's. It fails as the fabric is set, and counts calls that the real one
// forbids (FakeFabric::misuses).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/nccl/libraries/nccl_api.h"
#include "tests/comm/nccl/computing_cuda.h"
#include "tests/comm/nccl/fake_fabric.h"

namespace muster::nccl {

class ComputingNccl final : public NcclApi {
 public:
  // Its part of CUDA.
  struct Gpu {
    std::function<void(CudaStream, std::function<void()>)> enqueue;
    // The calling thread's GPU. Ranks with equal names are refused, as on one GPU of one host.
    std::function<std::string(int rank)> name;
  };

  NcclVersion claimed = {2, 32, 3};

  // `rank`: of the first communicator. Without `cuda` it can only draw ids.
  explicit ComputingNccl(std::shared_ptr<FakeFabric> fabric, std::shared_ptr<ComputingCuda> cuda = nullptr,
                         int rank = 0);
  ComputingNccl(std::shared_ptr<FakeFabric> fabric, Gpu gpu, int rank)
      : fabric_(std::move(fabric)), gpu_(std::move(gpu)), rank_(rank) {}

  NcclVersion version() const override { return claimed; }
  NcclResult GetUniqueId(NcclId* id) override;
  NcclResult Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) override;
  NcclResult Split(NcclComm comm, int color, int key, NcclComm* part) override;
  bool HasInitScalable() const override { return claimed.AtLeast({2, 23, 0}); }
  NcclResult AsyncError(NcclComm comm, NcclResult* state) override;
  NcclResult Finalize(NcclComm comm) override;
  NcclResult Destroy(NcclComm comm) override;
  NcclResult Abort(NcclComm comm) override;
  NcclResult Launch(const OperationRequest& request, NcclComm comm, CudaStream stream) override;
  NcclResult GroupStart() override;
  NcclResult GroupEnd() override;
  std::string Describe(NcclResult result) const override;
  std::string LastError() const override;

 private:
  struct Task {
    NcclComm comm = nullptr;
    CudaStream stream = nullptr;
    FakeCall call;
    bool collective = false;
  };
  using Tasks = std::vector<Task>;
  // The calls of a thread since GroupStart.
  struct Grouped;
  static Grouped& OfThisThread();

  // One call on `comm`. BLOCKS, without the fabric's mutex.
  NcclResult Perform(NcclComm comm, const std::function<NcclResult()>& call);
  NcclResult WaitForAbort(NcclComm comm);
  // It is kept while the fabric lives: a use after its end does no harm, and is counted.
  NcclComm Make(ncclComm&& made);
  NcclResult Start(NcclComm comm, bool joins, bool ends);
  void StartsPart(NcclComm whole, NcclComm part);
  // Before the first collective.
  NcclResult Connect(NcclComm comm);

  // The next operation of this kind; `rank` of `ranks` in it.
  NcclResult Add(NcclComm comm, CudaStream stream, std::string_view kind, size_t ranks, int rank,
                 const FakeKernel& kernel);
  NcclResult LaunchAll(const Tasks& tasks);
  void Enqueue(NcclComm comm, CudaStream stream, std::vector<FakeCall> calls);
  NcclResult Free(const std::vector<NcclComm>& aborted);

  const std::shared_ptr<FakeFabric> fabric_;
  const Gpu gpu_;
  const int rank_;
};

}  // namespace muster::nccl
