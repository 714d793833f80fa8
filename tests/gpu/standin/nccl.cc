// ComputingNccl as a library, in the place of NCCL on a machine without a GPU (tests/gpu/run). Processes meet
// in a SocketFabric; work is queued on streams of the stand-in for CUDA. It has the functions of NCCL 2.28,
// without those that may be missing.
//
//   STANDIN_NCCL_VERSION   the version that it claims (22809)
//   NCCL_HOSTID, NCCL_MULTI_RANK_GPU_ENABLE   as NCCL: two ranks on one GPU are refused without
#include <dlfcn.h>
#include <nccl.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "tests/comm/nccl/computing_nccl.h"
#include "tests/comm/nccl/socket_fabric.h"

namespace muster::nccl {
namespace {

// In NCCL's order; none of muster's types is a uint32.
constexpr std::array kTypes = {DataType::kI8,  DataType::kU8,  DataType::kI32, DataType::kI32,
                               DataType::kI64, DataType::kU64, DataType::kF16, DataType::kF32,
                               DataType::kF64, DataType::kBF16};
constexpr std::array kOperations = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin,
                                    ReduceOp::kAvg};
static_assert(ncclUint64 == 5 && ncclBfloat16 == 9 && ncclMax == 2 && ncclAvg == 4);

DataType Of(ncclDataType_t type) { return kTypes.at(static_cast<size_t>(type)); }
ReduceOp Of(ncclRedOp_t operation) { return kOperations.at(static_cast<size_t>(operation)); }
ncclResult_t Of(NcclResult result) { return static_cast<ncclResult_t>(result); }
ConstBuffer From(const void* data, size_t count, ncclDataType_t type) {
  return {data, count, Of(type), Memory::kDevice};
}
Buffer To(void* data, size_t count, ncclDataType_t type) { return {data, count, Of(type), Memory::kDevice}; }

std::string ValueOf(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

int Version() { return std::atoi(ValueOf("STANDIN_NCCL_VERSION", "22809").c_str()); }

// In the runtime that the program has loaded.
template <typename Function>
Function FindInRuntime(const char* name) {
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(runtime, name));
}

// Different for ranks that may share a GPU.
std::string GpuOf(int rank) {
  static const auto get = FindInRuntime<int (*)(int*)>("cudaGetDevice");
  int device = 0;
  get(&device);
  const bool may_share = ValueOf("NCCL_MULTI_RANK_GPU_ENABLE") == "1" && Version() >= 23'003;
  return ValueOf("NCCL_HOSTID") + "/" + std::to_string(device) +
         (may_share ? "/" + std::to_string(rank) : "");
}

void Enqueue(CudaStream stream, std::function<void()> work) {
  using Work = std::function<void()>;
  static const auto launch = FindInRuntime<int (*)(CudaStream, void (*)(void*), void*)>("cudaLaunchHostFunc");
  const auto run = [](void* data) { (*std::unique_ptr<Work>(static_cast<Work*>(data)))(); };
  launch(stream, run, new Work(std::move(work)));
}

ComputingNccl& Nccl() {
  static auto& nccl = []() -> ComputingNccl& {
    auto fabric = std::make_shared<SocketFabric>();
    fabric->connects = true;
    return *new ComputingNccl(std::move(fabric), ComputingNccl::Gpu{Enqueue, GpuOf}, 0);
  }();
  return nccl;
}

ncclResult_t Start(ncclComm_t* comm, int size, const ncclUniqueId& id, int rank) {
  if (FindInRuntime<void*>("cudaGetDevice") == nullptr) return ncclUnhandledCudaError;
  std::vector<NcclId> ids(1);
  std::memcpy(ids.front().data(), id.internal, sizeof id.internal);
  return Of(Nccl().Init(comm, size, rank, ids));
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = Version(), ncclSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  NcclId drawn = {};
  const NcclResult result = Nccl().GetUniqueId(&drawn);
  std::memcpy(id->internal, drawn.data(), sizeof id->internal);
  return Of(result);
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return Start(comm, size, id, rank);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t*) {
  return Start(comm, size, id, rank);
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t*) {
  *part = nullptr;
  return Of(Nccl().Split(comm, color, key, part));
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  NcclResult found = NcclResult::kSuccess;
  const NcclResult result = Nccl().AsyncError(comm, &found);
  *state = Of(found);
  return Of(result);
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) { return Of(Nccl().Finalize(comm)); }
// As NCCL: it is finalized here, unless that is done.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const NcclResult finalized = Nccl().Finalize(comm);
  const NcclResult destroyed = Nccl().Destroy(comm);
  return Of(finalized == NcclResult::kRemoteError ? finalized : destroyed);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return Of(Nccl().Abort(comm)); }

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return Of(Nccl().Launch(
      {Operation::kBroadcast, From(send, count, type), To(receive, count, type), {}, root}, comm, stream));
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t comm, cudaStream_t stream) {
  return Of(Nccl().Launch(
      {Operation::kReduce, From(send, count, type), To(receive, count, type), Of(operation), root}, comm,
      stream));
}
ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return Of(
      Nccl().Launch({Operation::kAllReduce, From(send, count, type), To(receive, count, type), Of(operation)},
                    comm, stream));
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return Of(
      Nccl().Launch({Operation::kAllGather, From(send, count, type), To(receive, 0, type)}, comm, stream));
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return Of(
      Nccl().Launch({Operation::kReduceScatter, From(send, 0, type), To(receive, count, type), Of(operation)},
                    comm, stream));
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  return Of(Nccl().Launch({Operation::kSend, From(send, count, type), {}, {}, to}, comm, stream));
}
ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  return Of(Nccl().Launch({Operation::kRecv, {}, To(receive, count, type), {}, from}, comm, stream));
}
ncclResult_t ncclGroupStart() { return Of(Nccl().GroupStart()); }
ncclResult_t ncclGroupEnd() { return Of(Nccl().GroupEnd()); }

const char* ncclGetErrorString(ncclResult_t result) {
  thread_local std::string text;
  return (text = Nccl().Describe(static_cast<NcclResult>(result))).c_str();
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

}  // extern "C"

}  // namespace muster::nccl
