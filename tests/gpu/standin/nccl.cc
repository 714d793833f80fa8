// An NCCL that computes in host memory, as a library: what a machine without a GPU loads in its place
// (tests/gpu/run). Processes of one machine meet at a hub in the one that has drawn the id; work is queued on
// streams of the stand-in for CUDA. The functions are those of NCCL 2.28, without those that may be missing.
//
//   STANDIN_NCCL_VERSION   the version that it claims (22809)
//   NCCL_HOSTID, NCCL_MULTI_RANK_GPU_ENABLE   as NCCL: two ranks on one GPU are refused without
#include <dlfcn.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/data_type.h"
#include "tests/comm/nccl/fake_fabric.h"
#include "tests/gpu/standin/hub.h"
#include "tests/gpu/standin/line.h"

using muster::nccl::FakeKernel;
using muster::standin::Hub;
using muster::standin::Kind;
using muster::standin::Line;
using muster::standin::Work;

struct ncclComm {
  std::string hub;
  std::string ring;
  int size = 0;
  int rank = 0;
  int device = 0;
  bool blocking = true;
  std::shared_ptr<Line> line;
  std::atomic<int> state = ncclSuccess;
  std::thread worker;  // a call that waits for other ranks
  int splits = 0;
  bool finalized = false;
};

namespace {

using LaunchHostFunction = int (*)(cudaStream_t, void (*)(void*), void*);

int Version() {
  const char* said = std::getenv("STANDIN_NCCL_VERSION");
  return said == nullptr ? 22'809 : std::atoi(said);
}

std::string ValueOf(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The runtime that the program has loaded.
template <typename Function>
Function FindInRuntime(const char* name) {
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(runtime, name));
}

int CurrentDevice() {
  static const auto get = FindInRuntime<int (*)(int*)>("cudaGetDevice");
  int device = 0;
  if (get != nullptr) get(&device);
  return device;
}

// Different for ranks that may share a GPU.
std::string GpuOf(const ncclComm& comm) {
  const bool may_share = ValueOf("NCCL_MULTI_RANK_GPU_ENABLE") == "1" && Version() >= 23'003;
  return ValueOf("NCCL_HOSTID") + "/" + std::to_string(comm.device) +
         (may_share ? "/" + std::to_string(comm.rank) : "");
}

muster::DataType TypeOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return muster::DataType::kI8;
    case ncclUint8:
      return muster::DataType::kU8;
    case ncclInt32:
      return muster::DataType::kI32;
    case ncclInt64:
      return muster::DataType::kI64;
    case ncclUint64:
      return muster::DataType::kU64;
    case ncclFloat16:
      return muster::DataType::kF16;
    case ncclBfloat16:
      return muster::DataType::kBF16;
    case ncclFloat32:
      return muster::DataType::kF32;
    default:
      return muster::DataType::kF64;
  }
}

muster::ReduceOp OperationOf(ncclRedOp_t operation) {
  switch (operation) {
    case ncclSum:
      return muster::ReduceOp::kSum;
    case ncclProd:
      return muster::ReduceOp::kProd;
    case ncclMin:
      return muster::ReduceOp::kMin;
    case ncclMax:
      return muster::ReduceOp::kMax;
    default:
      return muster::ReduceOp::kAvg;
  }
}

// What one launch puts on a stream.
struct Batch {
  std::shared_ptr<Line> line;
  uint64_t ticket = 0;
  std::vector<Work> works;
};

void RunBatch(void* data) {
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(data));
  batch->line->Run(batch->ticket, std::move(batch->works));
}

struct Task {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  Work work;
};

// What this thread has called since ncclGroupStart.
struct Grouped {
  int depth = 0;
  std::vector<Task> tasks;
};
thread_local Grouped grouped;

ncclResult_t Launch(std::vector<Task> tasks) {
  static const auto launch = FindInRuntime<LaunchHostFunction>("cudaLaunchHostFunc");
  if (launch == nullptr) return ncclUnhandledCudaError;
  while (!tasks.empty()) {
    const Task first = tasks.front();
    auto* batch = new Batch{first.comm->line, first.comm->line->Draw(), {}};
    std::erase_if(tasks, [&](const Task& task) {
      const bool mine = task.comm == first.comm && task.stream == first.stream;
      if (mine) batch->works.push_back(task.work);
      return mine;
    });
    if (launch(first.stream, RunBatch, batch) != 0) return ncclUnhandledCudaError;
  }
  return ncclSuccess;
}

ncclResult_t Add(const Task& task) {
  if (grouped.depth == 0) return Launch({task});
  grouped.tasks.push_back(task);
  return ncclSuccess;
}

Work Collective(FakeKernel::Kind kind, const void* send, size_t bytes, void* receive) {
  Work work;
  work.request.kind = Kind::kCollective;
  work.request.collective = static_cast<uint32_t>(kind);
  work.request.payload = bytes;
  work.send = send;
  work.receive = receive;
  return work;
}

// `blocks`: how many times `count` this rank sends.
ncclResult_t AddCollective(FakeKernel::Kind kind, const void* send, void* receive, size_t count,
                           size_t blocks, ncclDataType_t type, ncclRedOp_t operation, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  Work work = Collective(kind, send, blocks * count * muster::SizeOf(TypeOf(type)), receive);
  work.request.type = static_cast<uint32_t>(TypeOf(type));
  work.request.operation = static_cast<uint32_t>(OperationOf(operation));
  work.request.peer = root;
  work.request.count = count;
  return Add({comm, stream, work});
}

ncclResult_t AddTransfer(Kind kind, const void* send, void* receive, size_t bytes, int peer, ncclComm_t comm,
                         cudaStream_t stream) {
  Work work;
  work.request.kind = kind;
  work.request.peer = peer;
  work.request.payload = kind == Kind::kSend ? bytes : 0;
  work.send = send;
  work.receive = receive;
  return Add({comm, stream, work});
}

int JoinRing(ncclComm& comm) {
  const std::string payload = comm.ring + "\n" + GpuOf(comm);
  Work work;
  work.request.kind = Kind::kJoin;
  work.request.peer = comm.rank;
  work.request.size = static_cast<uint32_t>(comm.size);
  work.request.payload = payload.size();
  work.send = payload.data();
  return comm.line->Run(comm.line->Draw(), {work});
}

// `call` waits for other ranks: here, or behind the caller's back.
template <typename Call>
ncclResult_t Begin(ncclComm& comm, Call call) {
  if (comm.worker.joinable()) comm.worker.join();
  if (comm.blocking) {
    comm.state = call();
    return static_cast<ncclResult_t>(comm.state.load());
  }
  comm.state = ncclInProgress;
  comm.worker = std::thread([&comm, call] { comm.state = call(); });
  return ncclInProgress;
}

ncclResult_t Start(ncclComm_t* out, const std::string& hub, const std::string& ring, int size, int rank,
                   int device, bool blocking) {
  auto comm = std::make_unique<ncclComm>();
  comm->hub = hub;
  comm->ring = ring;
  comm->size = size;
  comm->rank = rank;
  comm->device = device;
  comm->blocking = blocking;
  comm->line = Line::Open(hub);
  if (!comm->line) return ncclSystemError;
  *out = comm.release();
  ncclComm& made = **out;
  return Begin(made, [&made] { return JoinRing(made); });
}

bool Blocking(const ncclConfig_t* config) { return config == nullptr || config->blocking != 0; }

// Colour, key.
using Choice = std::pair<int32_t, int32_t>;

// All ranks' choices become this rank's part.
int MakePart(ncclComm& whole, int color, int key, bool blocking, ncclComm_t* part) {
  const Choice mine{color, key};
  std::vector<Choice> all(static_cast<size_t>(whole.size));
  Work work = Collective(FakeKernel::Kind::kAllGather, &mine, sizeof mine, all.data());
  work.request.type = static_cast<uint32_t>(muster::DataType::kU8);
  work.request.count = sizeof mine;
  const int split = whole.splits++;
  if (const int result = whole.line->Run(whole.line->Draw(), {work}); result != ncclSuccess) return result;
  if (color < 0) return ncclSuccess;
  int size = 0;
  int before = 0;
  for (int rank = 0; rank < whole.size; ++rank) {
    const Choice& other = all[static_cast<size_t>(rank)];
    if (other.first != color) continue;
    ++size;
    if (std::pair(other.second, rank) < std::pair(key, whole.rank)) ++before;
  }
  const std::string ring = whole.ring + "/" + std::to_string(split) + "." + std::to_string(color);
  const ncclResult_t started = Start(part, whole.hub, ring, size, before, whole.device, blocking);
  return started == ncclInProgress ? ncclSuccess : started;
}

// Behind all that is under way, on every rank.
int Meet(ncclComm& comm) {
  const Work work = Collective(FakeKernel::Kind::kAllGather, nullptr, 0, nullptr);
  return comm.line->Run(comm.line->Draw(), {work});
}

void Free(ncclComm_t comm) {
  if (comm->worker.joinable()) comm->worker.join();
  delete comm;
}

std::string HubOf(const ncclUniqueId& id) { return {id.internal, strnlen(id.internal, sizeof id.internal)}; }

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = Version(), ncclSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  const std::string name = "standin-nccl-" + std::to_string(getpid()) + "-" + std::to_string(random());
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, name.data(), name.size());
  return Hub::Start(name) ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return Start(comm, HubOf(id), "world", size, rank, CurrentDevice(), true);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return Start(comm, HubOf(id), "world", size, rank, CurrentDevice(), Blocking(config));
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config) {
  const bool blocking = Blocking(config);
  *part = nullptr;
  return Begin(*comm, [=] { return MakePart(*comm, color, key, blocking, part); });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const int broken = comm->line->error();
  *state = static_cast<ncclResult_t>(broken != 0 ? broken : comm->state.load());
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->finalized = true;
  return Begin(*comm, [comm] { return Meet(*comm); });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  int result = ncclSuccess;
  if (!comm->finalized) result = Meet(*comm);
  Free(comm);
  return static_cast<ncclResult_t>(result);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->line->Cut();
  Free(comm);
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const size_t blocks = comm->rank == root ? 1 : 0;
  return AddCollective(FakeKernel::Kind::kBroadcast, send, receive, count, blocks, type, ncclSum, root, comm,
                       stream);
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t comm, cudaStream_t stream) {
  return AddCollective(FakeKernel::Kind::kReduce, send, receive, count, 1, type, operation, root, comm,
                       stream);
}
ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return AddCollective(FakeKernel::Kind::kAllReduce, send, receive, count, 1, type, operation, 0, comm,
                       stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return AddCollective(FakeKernel::Kind::kAllGather, send, receive, count, 1, type, ncclSum, 0, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return AddCollective(FakeKernel::Kind::kReduceScatter, send, receive, count,
                       static_cast<size_t>(comm->size), type, operation, 0, comm, stream);
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  return AddTransfer(Kind::kSend, send, nullptr, count * muster::SizeOf(TypeOf(type)), to, comm, stream);
}
ncclResult_t ncclRecv(void* receive, size_t, ncclDataType_t, int from, ncclComm_t comm, cudaStream_t stream) {
  return AddTransfer(Kind::kReceive, nullptr, receive, 0, from, comm, stream);
}

ncclResult_t ncclGroupStart() {
  ++grouped.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--grouped.depth > 0) return ncclSuccess;
  return Launch(std::exchange(grouped.tasks, {}));
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "an error of the stand-in";
  }
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

}  // extern "C"
