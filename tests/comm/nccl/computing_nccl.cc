#include "tests/comm/nccl/computing_nccl.h"

#include <algorithm>
#include <array>
#include <map>
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
  int under_way = 0;  // launches
  bool in_call = false;
  ncclComm* starting = nullptr;  // its part in a split
  bool connected = false;
  bool freed = false;
  bool finalized = false;
  muster::nccl::NcclResult broken = muster::nccl::NcclResult::kSuccess;
};

namespace muster::nccl {
namespace {

using Kind = FakeKernel::Kind;

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

void Store(NcclComm* at, NcclComm comm) { __atomic_store_n(at, comm, __ATOMIC_RELEASE); }

constexpr std::string_view kCollective = "collective";

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

NcclResult ComputingNccl::Perform(NcclComm comm, const std::function<NcclResult()>& call) {
  {
    const std::lock_guard lock(fabric_->mutex);
    if (comm->freed || comm->in_call || comm->finalized) {
      ++fabric_->misuses;
      return NcclResult::kInvalidUsage;
    }
    if (comm->cut.cut) return NcclResult::kInternalError;
    const auto broken = fabric_->async_errors.find(rank_);
    if (broken != fabric_->async_errors.end()) return broken->second.first;
    comm->in_call = true;
  }
  const NcclResult result = call();
  const std::lock_guard lock(fabric_->mutex);
  comm->in_call = false;
  if (result != NcclResult::kSuccess) comm->broken = result;
  return result;
}

NcclResult ComputingNccl::WaitForAbort(NcclComm comm) {
  std::unique_lock lock(fabric_->mutex);
  fabric_->changed.wait(lock, [comm] { return comm->cut.cut; });
  return NcclResult::kInternalError;
}

NcclComm ComputingNccl::Make(ncclComm&& made) {
  const auto comm = std::make_shared<ncclComm>(std::move(made));
  const std::lock_guard lock(fabric_->mutex);
  ++fabric_->living;
  fabric_->comms.push_back(comm);
  return comm.get();
}

NcclResult ComputingNccl::Start(NcclComm comm, bool joins, bool ends) {
  return Perform(comm, [&] {
    const NcclResult joined =
        joins ? Join(*fabric_, Next(*comm, "join"), comm->gpu, comm->cut) : NcclResult::kSuccess;
    return joins && ends ? joined : WaitForAbort(comm);
  });
}

NcclResult ComputingNccl::Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) {
  std::string ring;
  for (const NcclId& id : ids) ring.append(id.begin(), id.end());
  {
    std::unique_lock lock(fabric_->mutex);
    if (fabric_->blocks_in_start.contains(rank_)) fabric_->Hang(lock);
    if (fabric_->loses_a_peer_at_start.erase(rank_) > 0) {
      fabric_->changed.notify_all();
      return NcclResult::kRemoteError;
    }
    if (fabric_->fails_at_start.contains(rank_)) {
      fabric_->changed.wait(lock, [this] {
        return fabric_->loses_a_peer_at_start.empty() &&
               fabric_->hanging >= static_cast<int>(fabric_->blocks_in_start.size());
      });
      return NcclResult::kUnhandledCudaError;
    }
  }
  NcclComm made = Make({std::move(ring), static_cast<size_t>(size), rank, gpu_.name(rank)});
  // As NCCL: long before it returns.
  Store(comm, made);
  return Start(made, !fabric_->never_joins.contains(rank_), !fabric_->never_through.contains(rank_));
}

NcclResult ComputingNccl::Split(NcclComm comm, int color, int key, NcclComm* part) {
  return Perform(comm, [&] {
    const Choice mine = {color, key};
    std::vector<Choice> all(comm->size);
    const FakeCall call = Next(*comm, "split", Gather(&mine, all.data(), sizeof mine));
    const NcclResult met = fabric_->Run({call}, comm->cut);
    if (met != NcclResult::kSuccess || color < 0) return met;
    std::vector<std::pair<int, int>> members;  // key, rank
    for (int rank = 0; const Choice& choice : all) {
      if (choice.color == color) members.emplace_back(choice.key, rank);
      ++rank;
    }
    std::ranges::sort(members);
    const auto found = std::ranges::find(members, std::pair(key, comm->rank));
    NcclComm made = Make({call.meeting + "." + std::to_string(color), members.size(),
                          static_cast<int>(found - members.begin()), comm->gpu});
    StartsPart(comm, made);
    const NcclResult started = Start(made, true, !fabric_->never_splits.contains(rank_));
    StartsPart(comm, nullptr);
    // As NCCL: at the end, and after a failure too.
    Store(part, made);
    return started;
  });
}

// From now on an abort of the whole ends the part's start too.
void ComputingNccl::StartsPart(NcclComm whole, NcclComm part) {
  const std::lock_guard lock(fabric_->mutex);
  whole->starting = part;
  if (part != nullptr && whole->cut.cut) fabric_->Cut(part->cut);
}

NcclResult ComputingNccl::AsyncError(NcclComm comm, NcclResult* state) {
  const std::lock_guard lock(fabric_->mutex);
  if (comm->freed) {
    ++fabric_->misuses;
    return NcclResult::kInvalidArgument;
  }
  const auto broken = fabric_->async_errors.find(rank_);
  *state = broken == fabric_->async_errors.end() ? comm->broken : broken->second.first;
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::Finalize(NcclComm comm) {
  return Perform(comm, [&] {
    {
      std::unique_lock lock(fabric_->mutex);
      comm->finalized = true;
      if (rank_ == 0) fabric_->order.push_back("finalize");
      fabric_->changed.wait(lock, [comm] { return comm->under_way == 0 || comm->cut.cut; });
    }
    return fabric_->Leave(Next(*comm, "leave", Gather(nullptr, nullptr, 0)), comm->cut);
  });
}

NcclResult ComputingNccl::Destroy(NcclComm comm) {
  const std::lock_guard lock(fabric_->mutex);
  if (comm->freed || comm->in_call || !comm->finalized || comm->under_way > 0) ++fabric_->misuses;
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
    fabric_->changed.wait(lock, [comm] { return comm->under_way == 0; });
    if (comm->in_call) ++fabric_->misuses;
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

NcclResult ComputingNccl::Add(NcclComm comm, CudaStream stream, std::string_view kind, size_t ranks, int rank,
                              const FakeKernel& kernel) {
  std::unique_lock lock(fabric_->mutex);
  Task task = {comm, stream, Next(*comm, std::string(kind), ranks, rank, kernel), kind == kCollective};
  lock.unlock();
  Grouped& grouped = OfThisThread();
  if (grouped.depth == 0) return LaunchAll({std::move(task)});
  grouped.tasks.push_back(std::move(task));
  return NcclResult::kSuccess;
}

// The operations of a group on one stream are one launch: nothing in it waits for anything else in it.
NcclResult ComputingNccl::LaunchAll(const Tasks& tasks) {
  std::map<NcclComm, std::map<CudaStream, std::vector<FakeCall>>> launches;
  std::set<NcclComm> collective;
  for (const Task& task : tasks) {
    launches[task.comm][task.stream].push_back(task.call);
    if (task.collective) collective.insert(task.comm);
  }
  NcclResult result = NcclResult::kSuccess;
  for (const auto& [comm, streams] : launches) {
    result = Perform(comm, [&, comm = comm, &streams = streams] {
      const NcclResult connected = collective.contains(comm) ? Connect(comm) : NcclResult::kSuccess;
      if (connected != NcclResult::kSuccess) return connected;
      const std::lock_guard lock(fabric_->mutex);
      for (const auto& [stream, calls] : streams) Enqueue(comm, stream, calls);
      return NcclResult::kSuccess;
    });
  }
  return result;
}

NcclResult ComputingNccl::Connect(NcclComm comm) {
  bool never = false;
  {
    const std::lock_guard lock(fabric_->mutex);
    never = fabric_->never_connects.contains(rank_);
    if (never && fabric_->waits_for_abort) fabric_->waits_for_abort();
  }
  if (never) return WaitForAbort(comm);
  if (!fabric_->connects || std::exchange(comm->connected, true)) return NcclResult::kSuccess;
  return fabric_->Run({Next(*comm, "connect", Gather(nullptr, nullptr, 0))}, comm->cut);
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
    return Add(comm, stream, kCollective, comm->size, comm->rank, kernel);
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
