#include "tests/comm/nccl/computing_nccl.h"

#include <algorithm>
#include <array>
#include <map>
#include <thread>
#include <utility>

// The inside of NCCL. Guarded by the fabric's mutex.
struct ncclComm {
  std::string ring;  // begins the names of its meetings
  size_t size = 0;
  int rank = 0;
  std::string gpu;
  std::map<std::pair<std::string, int>, uint64_t>
      met;  // how often, by the kind of meeting and the rank in it
  muster::nccl::FakeCut cut;
  int under_way = 0;             // launches
  int calls = 0;                 // threads that are in one
  ncclComm* whole = nullptr;     // of a part that starts
  ncclComm* starting = nullptr;  // the part
  bool waiting = false;          // a call waits for other ranks
  bool freed = false;
  bool finalized = false;
  // The last call: in progress until AsyncError was called so often and nothing waits; then `then` happens.
  bool in_progress = false;
  int asks = 0;
  muster::nccl::NcclResult result = muster::nccl::NcclResult::kSuccess;
  std::function<void()> then;
  muster::nccl::NcclResult broken = muster::nccl::NcclResult::kSuccess;
};

namespace muster::nccl {
namespace {

using Kind = FakeKernel::Kind;

constexpr int kAsks = 2;

// With the fabric's mutex held: the next meeting of its kind, which all ranks count alike.
FakeCall Next(ncclComm& comm, const std::string& kind, size_t ranks, int rank,
              const FakeKernel& kernel = {}) {
  const uint64_t number = comm.met[{kind, rank}]++;
  return {comm.ring + "/" + kind + std::to_string(number), ranks, rank, kernel};
}
FakeCall Next(ncclComm& comm, const std::string& kind, const FakeKernel& kernel = {}) {
  return Next(comm, kind, comm.size, comm.rank, kernel);
}

// The kind of the meetings of a Send and its Recv: 0 sends, 1 receives.
std::string Pair(int from, int to) { return std::to_string(from) + ">" + std::to_string(to) + "#"; }

FakeKernel Gather(const void* send, void* receive, size_t bytes) {
  return {Kind::kAllGather, send, receive, bytes, DataType::kU8, ReduceOp::kSum, 0};
}

// BLOCKS until all ranks are there. As NCCL: two ranks on one GPU of one host are refused.
NcclResult Join(FakeFabric& fabric, FakeCall call, const std::string& gpu, FakeCut& cut) {
  std::array<char, 128> mine = {};
  std::copy_n(gpu.begin(), std::min(gpu.size(), mine.size()), mine.begin());
  std::vector<std::array<char, 128>> all(call.ranks);
  call.kernel = Gather(&mine, all.data(), sizeof mine);
  const NcclResult met = fabric.Run({call}, cut);
  if (met != NcclResult::kSuccess) return met;
  const std::set different(all.begin(), all.end());
  return different.size() == all.size() ? NcclResult::kSuccess : NcclResult::kInvalidUsage;
}

struct Choice {
  int color = 0;
  int key = 0;
};

}  // namespace

struct ComputingNccl::Grouped {
  int depth = 0;
  Tasks tasks;
  std::vector<NcclComm> aborts;
};

ComputingNccl::Grouped& ComputingNccl::OfThisThread() {
  thread_local Grouped grouped;
  return grouped;
}

// Each rank has a GPU of its own.
ComputingNccl::ComputingNccl(std::shared_ptr<FakeFabric> fabric, std::shared_ptr<ComputingCuda> cuda,
                             int rank)
    : ComputingNccl(std::move(fabric),
                    {[cuda = std::move(cuda)](CudaStream stream, std::function<void()> work) {
                       cuda->Enqueue(stream, std::move(work));
                     },
                     [rank](int) { return std::to_string(rank); }},
                    rank) {}

NcclResult ComputingNccl::GetUniqueId(NcclId* id) {
  const bool draws = !fabric_->draws_no_id.contains(rank_) && fabric_->DrawId(id);
  return draws ? NcclResult::kSuccess : NcclResult::kSystemError;
}

NcclResult ComputingNccl::Begin(NcclComm comm, std::function<NcclResult()> wait, std::function<void()> then) {
  if (comm->freed || comm->in_progress || comm->finalized) {
    ++fabric_->misuses;
    return NcclResult::kInvalidUsage;
  }
  if (comm->cut.cut) return NcclResult::kInternalError;
  if (const auto broken = fabric_->async_errors.find(rank_); broken != fabric_->async_errors.end()) {
    return broken->second.first;
  }
  comm->in_progress = true;
  comm->asks = kAsks;
  comm->result = NcclResult::kSuccess;
  comm->then = std::move(then);
  if (!wait) return NcclResult::kInProgress;
  comm->waiting = true;
  std::thread([fabric = fabric_, comm, wait = std::move(wait)] {
    const NcclResult result = wait();
    const std::lock_guard lock(fabric->mutex);
    comm->result = result;
    comm->waiting = false;
    fabric->changed.notify_all();
  }).detach();
  return NcclResult::kInProgress;
}

// With the fabric's mutex held, when nothing waits.
NcclResult ComputingNccl::Conclude(NcclComm comm) {
  comm->in_progress = false;
  if (comm->whole != nullptr) std::exchange(comm->whole, nullptr)->starting = nullptr;
  const auto then = std::exchange(comm->then, nullptr);
  if (comm->result != NcclResult::kSuccess) {
    comm->broken = comm->result;
  } else if (then) {
    then();
  }
  return comm->result;
}

NcclResult ComputingNccl::Settle(NcclComm comm, NcclResult begun) {
  if (!blocking || begun != NcclResult::kInProgress) return begun;
  std::unique_lock lock(fabric_->mutex);
  ++comm->calls;
  fabric_->changed.wait(lock, [comm] { return !comm->waiting; });
  --comm->calls;
  return Conclude(comm);
}

// With the fabric's mutex held. The communicator is kept while the fabric lives: a use after its end does no
// harm, and is counted.
NcclComm ComputingNccl::Start(ncclComm&& made, bool joins, bool ends) {
  const auto comm = std::make_shared<ncclComm>(std::move(made));
  ++fabric_->living;
  fabric_->comms.push_back(comm);
  const auto join = [fabric = fabric_, comm = comm.get(), call = Next(*comm, "join"), joins, ends] {
    const NcclResult joined = joins ? Join(*fabric, call, comm->gpu, comm->cut) : NcclResult::kSuccess;
    if (joins && ends) return joined;
    std::unique_lock lock(fabric->mutex);
    fabric->changed.wait(lock, [comm] { return comm->cut.cut; });
    return NcclResult::kInternalError;
  };
  [[maybe_unused]] const NcclResult begun = Begin(comm.get(), join, {});
  return comm.get();
}

void Store(NcclComm* at, NcclComm comm) { __atomic_store_n(at, comm, __ATOMIC_RELEASE); }

NcclResult ComputingNccl::Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) {
  std::string ring;
  for (const NcclId& id : ids) ring.append(id.begin(), id.end());
  std::unique_lock lock(fabric_->mutex);
  if (fabric_->blocks_in_start.contains(rank_)) fabric_->Hang(lock);
  if (fabric_->fails_at_start.contains(rank_)) return NcclResult::kUnhandledCudaError;
  NcclComm made = Start({std::move(ring), static_cast<size_t>(size), rank, gpu_.name(rank)},
                        !fabric_->never_joins.contains(rank_), !fabric_->never_through.contains(rank_));
  Store(comm, made);
  lock.unlock();
  return Settle(made, NcclResult::kInProgress);
}

NcclResult ComputingNccl::Split(NcclComm comm, int color, int key, NcclComm* part) {
  std::unique_lock lock(fabric_->mutex);
  const auto mine = std::make_shared<Choice>(Choice{color, key});
  const auto all = std::make_shared<std::vector<Choice>>(comm->size);
  const FakeCall call = Next(*comm, "split", Gather(mine.get(), all->data(), sizeof *mine));
  const auto meet = [fabric = fabric_, comm, call, mine] { return fabric->Run({call}, comm->cut); };
  const auto made = std::make_shared<NcclComm>(nullptr);
  const NcclResult begun = Begin(comm, meet, [this, comm, all, mine, made, part, ring = call.meeting] {
    if (mine->color < 0) return;
    std::vector<std::pair<int, int>> members;  // key, rank
    for (int rank = 0; const Choice& choice : *all) {
      if (choice.color == mine->color) members.emplace_back(choice.key, rank);
      ++rank;
    }
    std::ranges::sort(members);
    const auto found = std::ranges::find(members, std::pair(mine->key, comm->rank));
    *made = Start({ring + "." + std::to_string(mine->color), members.size(),
                   static_cast<int>(found - members.begin()), comm->gpu},
                  true, !fabric_->never_splits.contains(rank_));
    (*made)->whole = comm;
    comm->starting = *made;
    if (!blocking) Store(part, *made);
  });
  ++comm->calls;
  lock.unlock();
  NcclResult result = Settle(comm, begun);
  // As NCCL: it is there after a failure too.
  if (blocking && *made != nullptr) {
    result = Settle(*made, NcclResult::kInProgress);
    Store(part, *made);
  }
  lock.lock();
  --comm->calls;
  return result;
}

NcclResult ComputingNccl::AsyncError(NcclComm comm, NcclResult* state) {
  const std::lock_guard lock(fabric_->mutex);
  if (comm->freed) {
    ++fabric_->misuses;
    return NcclResult::kInvalidArgument;
  }
  if (const auto broken = fabric_->async_errors.find(rank_); broken != fabric_->async_errors.end()) {
    *state = broken->second.first;
  } else if (comm->in_progress) {
    if (comm->asks > 0) --comm->asks;
    *state = comm->asks > 0 || comm->waiting ? NcclResult::kInProgress : Conclude(comm);
  } else {
    *state = comm->broken;
  }
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::Finalize(NcclComm comm) {
  std::unique_lock lock(fabric_->mutex);
  const auto leave = [fabric = fabric_, comm, call = Next(*comm, "leave", Gather(nullptr, nullptr, 0))] {
    {
      std::unique_lock waiting(fabric->mutex);
      fabric->changed.wait(waiting, [comm] { return comm->under_way == 0 || comm->cut.cut; });
    }
    return fabric->Leave(call, comm->cut);
  };
  const NcclResult begun = Begin(comm, leave, {});
  comm->finalized = true;
  if (rank_ == 0) fabric_->order.push_back("finalize");
  lock.unlock();
  return Settle(comm, begun);
}

NcclResult ComputingNccl::Destroy(NcclComm comm) {
  const std::lock_guard lock(fabric_->mutex);
  if (comm->freed || comm->in_progress || !comm->finalized || comm->under_way > 0) ++fabric_->misuses;
  comm->freed = true;
  --fabric_->living;
  if (rank_ == 0) fabric_->order.push_back("destroy");
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::Abort(NcclComm comm) {
  {
    const std::lock_guard lock(fabric_->mutex);
    if (comm->freed) ++fabric_->misuses;
    fabric_->Cut(comm->cut);
    if (comm->starting != nullptr) fabric_->Cut(comm->starting->cut);
  }
  Grouped& grouped = OfThisThread();
  if (grouped.depth == 0) return Free({comm});
  grouped.aborts.push_back(comm);
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::Free(const std::vector<NcclComm>& aborted) {
  std::unique_lock lock(fabric_->mutex);
  if (fabric_->hangs_in_abort.contains(rank_)) fabric_->Hang(lock);
  for (NcclComm comm : aborted) {
    fabric_->changed.wait(lock, [comm] { return comm->under_way == 0 && !comm->waiting; });
    if (comm->calls > 0) ++fabric_->misuses;
    comm->freed = true;
    --fabric_->living;
  }
  fabric_->aborted_together.push_back(static_cast<int>(aborted.size()));
  fabric_->changed.notify_all();
  if (rank_ == 0) fabric_->order.push_back("abort");
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::GroupStart() {
  ++OfThisThread().depth;
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::GroupEnd() {
  Grouped& grouped = OfThisThread();
  if (--grouped.depth > 0) return NcclResult::kSuccess;
  const Tasks tasks = std::exchange(grouped.tasks, {});
  const std::vector<NcclComm> aborts = std::exchange(grouped.aborts, {});
  NcclResult result = NcclResult::kSuccess;
  if (!tasks.empty()) result = LaunchAll(tasks);
  if (!aborts.empty()) result = Free(aborts);
  return result;
}

NcclResult ComputingNccl::Add(NcclComm comm, CudaStream stream, const std::string& kind, size_t ranks,
                              int rank, const FakeKernel& kernel) {
  std::unique_lock lock(fabric_->mutex);
  Task task = {comm, stream, Next(*comm, kind, ranks, rank, kernel)};
  lock.unlock();
  Grouped& grouped = OfThisThread();
  if (grouped.depth == 0) return LaunchAll({std::move(task)});
  grouped.tasks.push_back(std::move(task));
  return NcclResult::kSuccess;
}

// The operations of a group on one stream are one launch: nothing in it waits for anything else in it.
NcclResult ComputingNccl::LaunchAll(const Tasks& tasks) {
  std::map<NcclComm, std::map<CudaStream, std::vector<FakeCall>>> launches;
  for (const Task& task : tasks) launches[task.comm][task.stream].push_back(task.call);
  NcclResult result = NcclResult::kSuccess;
  for (const auto& [comm, streams] : launches) {
    std::unique_lock lock(fabric_->mutex);
    const auto connect = [fabric = fabric_, comm = comm] {
      std::unique_lock waiting(fabric->mutex);
      fabric->changed.wait(waiting, [comm] { return comm->cut.cut; });
      return NcclResult::kInternalError;
    };
    const bool never = fabric_->never_connects.contains(rank_);
    result =
        Begin(comm, never ? connect : std::function<NcclResult()>(), [this, comm = comm, streams = streams] {
          for (const auto& [stream, calls] : streams) Enqueue(comm, stream, calls);
        });
    lock.unlock();
    result = Settle(comm, result);
  }
  return result;
}

void ComputingNccl::Enqueue(NcclComm comm, CudaStream stream, std::vector<FakeCall> calls) {
  ++comm->under_way;
  gpu_.enqueue(stream, [fabric = fabric_, comm, calls = std::move(calls)] {
    const NcclResult result = fabric->Run(calls, comm->cut);
    const std::lock_guard lock(fabric->mutex);
    if (result != NcclResult::kSuccess) comm->broken = result;
    --comm->under_way;
    fabric->changed.notify_all();
  });
}

NcclResult ComputingNccl::Launch(const OperationRequest& request, NcclComm comm, CudaStream stream) {
  const auto& [operation, send, receive, reduce, root] = request;
  const auto add = [&](FakeKernel kernel) {
    // Before 2.29.7 (NVIDIA/nccl#1950): the last elements of one rank's average are not written.
    if (comm->size == 1 && kernel.operation == ReduceOp::kAvg) kernel.count /= 2;
    return Add(comm, stream, "collective", comm->size, comm->rank, kernel);
  };
  switch (operation) {
    case Operation::kBroadcast: {
      const void* from = send.count == 0 ? receive.data : send.data;  // muster's is in place
      return add({Kind::kBroadcast, from, receive.data, receive.count, receive.type, ReduceOp::kSum, root});
    }
    case Operation::kReduce:
      // Those of the other ranks are not checked.
      if (root != comm->rank && receive.data != nullptr) return NcclResult::kInvalidArgument;
      return add({Kind::kReduce, send.data, receive.data, send.count, send.type, reduce, root});
    case Operation::kAllReduce:
      return add({Kind::kAllReduce, send.data, receive.data, send.count, send.type, reduce, 0});
    case Operation::kAllGather:
      return add({Kind::kAllGather, send.data, receive.data, send.count, send.type, ReduceOp::kSum, 0});
    case Operation::kReduceScatter:
      return add({Kind::kReduceScatter, send.data, receive.data, receive.count, receive.type, reduce, 0});
    case Operation::kSend:
      return Add(comm, stream, Pair(comm->rank, root), 2, 0,
                 {Kind::kBroadcast, send.data, nullptr, send.count, send.type, ReduceOp::kSum, 0});
    case Operation::kRecv:
      return Add(comm, stream, Pair(root, comm->rank), 2, 1,
                 {Kind::kBroadcast, nullptr, receive.data, receive.count, receive.type, ReduceOp::kSum, 0});
    default:
      return NcclResult::kInvalidUsage;
  }
}

std::string ComputingNccl::Describe(NcclResult result) const {
  switch (result) {
    case NcclResult::kSuccess:
      return "no error";
    case NcclResult::kUnhandledCudaError:
      return "unhandled cuda error";
    case NcclResult::kSystemError:
      return "unhandled system error";
    case NcclResult::kRemoteError:
      return "remote process exited or there was a network error";
    case NcclResult::kInvalidUsage:
      return "invalid usage";
    default:
      return "internal error";
  }
}

std::string ComputingNccl::LastError() const {
  const std::lock_guard lock(fabric_->mutex);
  for (const auto* failed : {&fabric_->draws_no_id, &fabric_->fails_at_start}) {
    if (const auto mine = failed->find(rank_); mine != failed->end()) return mine->second;
  }
  const auto broken = fabric_->async_errors.find(rank_);
  return broken == fabric_->async_errors.end() ? "" : broken->second.second;
}

}  // namespace muster::nccl
