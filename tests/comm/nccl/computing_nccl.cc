#include "tests/comm/nccl/computing_nccl.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

// What NCCL keeps to itself. Guarded by the fabric's mutex.
struct ncclComm {
  std::shared_ptr<muster::nccl::FakeRing> ring;
  int rank = 0;
  uint64_t collectives = 0;
  uint64_t partings = 0;
  int under_way = 0;
  bool freed = false;
  bool aborted = false;
  bool finalized = false;
  // The last call: under way until asked so often and `done`; then `finish` happens.
  bool in_progress = false;
  int asks = 0;
  std::function<bool()> done;
  std::function<void()> finish;
};

namespace muster::nccl {
namespace {

constexpr int kAsks = 2;

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

NcclResult ComputingNccl::GetUniqueId(NcclId* id) {
  *id = fabric_->DrawId();
  return NcclResult::kSuccess;
}

// Never given back while the fabric lives, so that a use after the end is found and not felt.
NcclComm ComputingNccl::NewComm(std::shared_ptr<FakeRing> ring, int rank) {
  auto comm = std::make_shared<ncclComm>();
  comm->ring = std::move(ring);
  comm->rank = rank;
  ++fabric_->living;
  fabric_->comms.push_back(comm);
  return comm.get();
}

NcclResult ComputingNccl::Begin(NcclComm comm, std::function<bool()> done, std::function<void()> finish) {
  if (comm->freed || comm->in_progress || comm->finalized) {
    ++fabric_->misuses;
    return NcclResult::kInvalidUsage;
  }
  if (comm->aborted) return NcclResult::kInternalError;
  comm->in_progress = true;
  comm->asks = kAsks;
  comm->done = std::move(done);
  comm->finish = std::move(finish);
  return NcclResult::kInProgress;
}

NcclResult ComputingNccl::Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) {
  std::unique_lock lock(fabric_->mutex);
  if (fabric_->blocks_in_start.contains(rank_)) fabric_->Hang(lock);
  if (fabric_->fails_at_start.contains(rank_)) return NcclResult::kUnhandledCudaError;
  const std::shared_ptr<FakeRing> ring = fabric_->RingOf(ids, size);
  *comm = NewComm(ring, rank);
  if (!fabric_->never_joins.contains(rank_)) ++ring->joined;
  const bool never = fabric_->never_through.contains(rank_);
  return Begin(
      *comm, [ring, never] { return !never && ring->joined == ring->size; }, [] {});
}

NcclResult ComputingNccl::Split(NcclComm comm, int color, int key, NcclComm* part) {
  const std::lock_guard lock(fabric_->mutex);
  FakeRing::Parting& parting = comm->ring->partings[comm->partings++];
  parting.choices[comm->rank] = {color, key};
  const auto done = [&parting, size = comm->ring->size] {
    return parting.choices.size() == static_cast<size_t>(size);
  };
  return Begin(comm, done, [this, comm, color, part, &parting] {
    if (color < 0) return;
    std::vector<std::pair<int, int>> members;  // key, rank
    for (const auto& [rank, choice] : parting.choices) {
      if (choice.first == color) members.emplace_back(choice.second, rank);
    }
    std::ranges::sort(members);
    std::shared_ptr<FakeRing>& ring = parting.rings[color];
    if (!ring) ring = std::make_shared<FakeRing>();
    ring->size = static_cast<int>(members.size());
    const auto mine =
        std::ranges::find(members, comm->rank, [](const auto& member) { return member.second; });
    *part = NewComm(ring, static_cast<int>(mine - members.begin()));
    const bool never = fabric_->never_splits.contains(rank_);
    [[maybe_unused]] const NcclResult begun = Begin(
        *part, [never] { return !never; }, [] {});
  });
}

NcclResult ComputingNccl::AsyncError(NcclComm comm, NcclResult* state) {
  const std::lock_guard lock(fabric_->mutex);
  if (comm->freed) {
    ++fabric_->misuses;
    return NcclResult::kInvalidArgument;
  }
  *state = NcclResult::kSuccess;
  if (const auto broken = fabric_->async_errors.find(rank_); broken != fabric_->async_errors.end()) {
    *state = broken->second.first;
  } else if (comm->in_progress) {
    if (comm->asks > 0) --comm->asks;
    *state = NcclResult::kInProgress;
    if (comm->asks == 0 && comm->done()) {
      comm->in_progress = false;
      std::exchange(comm->finish, nullptr)();
      *state = NcclResult::kSuccess;
      fabric_->changed.notify_all();
    }
  }
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::Finalize(NcclComm comm) {
  const std::lock_guard lock(fabric_->mutex);
  const NcclResult begun = Begin(
      comm, [comm] { return comm->under_way == 0; }, [] {});
  comm->finalized = true;
  if (rank_ == 0) fabric_->order.push_back("finalize");
  return begun;
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
  Grouped& grouped = OfThisThread();
  if (grouped.depth == 0) return AbortAll({comm});
  grouped.aborts.push_back(comm);
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::AbortAll(const std::vector<NcclComm>& comms) {
  std::unique_lock lock(fabric_->mutex);
  for (NcclComm comm : comms) {
    if (comm->freed) ++fabric_->misuses;
    comm->aborted = true;
  }
  fabric_->changed.notify_all();
  if (fabric_->hangs_in_abort.contains(rank_)) fabric_->Hang(lock);
  for (NcclComm comm : comms) {
    fabric_->changed.wait(lock, [comm] { return comm->under_way == 0; });
    comm->freed = true;
    --fabric_->living;
  }
  fabric_->aborted_together.push_back(static_cast<int>(comms.size()));
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
  if (!tasks.empty()) result = Launch(tasks);
  if (!aborts.empty()) result = AbortAll(aborts);
  return result;
}

NcclResult ComputingNccl::Add(Task task) {
  Grouped& grouped = OfThisThread();
  if (grouped.depth == 0) return Launch({task});
  grouped.tasks.push_back(task);
  return NcclResult::kSuccess;
}

NcclResult ComputingNccl::Launch(const Tasks& tasks) {
  std::map<NcclComm, Tasks> by_comm;
  for (const Task& task : tasks) by_comm[task.comm].push_back(task);
  const std::lock_guard lock(fabric_->mutex);
  NcclResult result = NcclResult::kSuccess;
  for (const auto& [comm, its_tasks] : by_comm) {
    const uint64_t first = comm->collectives;
    comm->collectives += static_cast<uint64_t>(std::ranges::count_if(
        its_tasks, [](const Task& task) { return std::holds_alternative<FakeKernel>(task.work); }));
    result = Begin(
        comm, [] { return true; },
        [this, comm = comm, its_tasks = its_tasks, first] {
          std::map<CudaStream, std::vector<FakeTransfer>> transfers;
          for (const Task& task : its_tasks) {
            if (const auto* transfer = std::get_if<FakeTransfer>(&task.work)) {
              transfers[task.stream].push_back(*transfer);
            }
          }
          for (auto& [stream, list] : transfers) EnqueueTransfers(comm, stream, std::move(list));
          uint64_t number = first;
          for (const Task& task : its_tasks) {
            if (const auto* kernel = std::get_if<FakeKernel>(&task.work)) {
              EnqueueKernel(comm, task.stream, *kernel, number++);
            }
          }
        });
  }
  return result;
}

void ComputingNccl::EnqueueKernel(NcclComm comm, CudaStream stream, const FakeKernel& kernel,
                                  uint64_t number) {
  ++comm->under_way;
  cuda_->Enqueue(stream, [fabric = fabric_, comm, kernel, number] {
    std::unique_lock lock(fabric->mutex);
    FakeRing& ring = *comm->ring;
    FakeRing::Meeting& meeting = ring.meetings[number];
    meeting.kernels[comm->rank] = kernel;
    const bool whole = meeting.kernels.size() == static_cast<size_t>(ring.size);
    const auto alike = [&](const auto& other) { return other.second.Matches(kernel); };
    if (whole && !comm->aborted && std::ranges::all_of(meeting.kernels, alike)) {
      Compute(meeting.kernels);
      meeting.done = true;
    }
    fabric->changed.notify_all();
    fabric->changed.wait(lock, [&] { return meeting.done || comm->aborted; });
    // Nobody may touch the memory of who has given up.
    if (!meeting.done) meeting.kernels.erase(comm->rank);
    --comm->under_way;
    fabric->changed.notify_all();
  });
}

void ComputingNccl::EnqueueTransfers(NcclComm comm, CudaStream stream, std::vector<FakeTransfer> transfers) {
  ++comm->under_way;
  cuda_->Enqueue(stream, [fabric = fabric_, comm, transfers = std::move(transfers)] {
    std::unique_lock lock(fabric->mutex);
    FakeRing& ring = *comm->ring;
    std::vector<std::shared_ptr<FakeRing::Post>> mine;
    for (const FakeTransfer& transfer : transfers) {
      if (!transfer.sends) continue;
      mine.push_back(std::make_shared<FakeRing::Post>(FakeRing::Post{transfer}));
      ring.posts[{comm->rank, transfer.peer}].push_back(mine.back());
    }
    fabric->changed.notify_all();
    for (const FakeTransfer& transfer : transfers) {
      if (transfer.sends) continue;
      auto& posts = ring.posts[{transfer.peer, comm->rank}];
      const auto matches = [&] {
        return !posts.empty() && posts.front()->transfer.count == transfer.count &&
               posts.front()->transfer.type == transfer.type;
      };
      fabric->changed.wait(lock, [&] { return comm->aborted || matches(); });
      if (comm->aborted) break;
      if (transfer.count > 0) {
        std::memcpy(transfer.memory, posts.front()->transfer.memory, transfer.count * SizeOf(transfer.type));
      }
      posts.front()->taken = true;
      posts.pop_front();
      fabric->changed.notify_all();
    }
    fabric->changed.wait(lock, [&] {
      return comm->aborted || std::ranges::all_of(mine, [](const auto& post) { return post->taken; });
    });
    for (const auto& post : mine) {
      if (!post->taken) ring.posts[{comm->rank, post->transfer.peer}].remove(post);
    }
    --comm->under_way;
    fabric->changed.notify_all();
  });
}

NcclResult ComputingNccl::Broadcast(const void* send, void* receive, size_t count, DataType type, int root,
                                    NcclComm comm, CudaStream stream) {
  return Add({comm, stream,
              FakeKernel{FakeKernel::Kind::kBroadcast, send, receive, count, type, ReduceOp::kSum, root}});
}

NcclResult ComputingNccl::Reduce(const void* send, void* receive, size_t count, DataType type,
                                 ReduceOp operation, int root, NcclComm comm, CudaStream stream) {
  return Add(
      {comm, stream, FakeKernel{FakeKernel::Kind::kReduce, send, receive, count, type, operation, root}});
}

NcclResult ComputingNccl::AllReduce(const void* send, void* receive, size_t count, DataType type,
                                    ReduceOp operation, NcclComm comm, CudaStream stream) {
  return Add(
      {comm, stream, FakeKernel{FakeKernel::Kind::kAllReduce, send, receive, count, type, operation, 0}});
}

NcclResult ComputingNccl::AllGather(const void* send, void* receive, size_t count, DataType type,
                                    NcclComm comm, CudaStream stream) {
  return Add({comm, stream,
              FakeKernel{FakeKernel::Kind::kAllGather, send, receive, count, type, ReduceOp::kSum, 0}});
}

NcclResult ComputingNccl::ReduceScatter(const void* send, void* receive, size_t count, DataType type,
                                        ReduceOp operation, NcclComm comm, CudaStream stream) {
  return Add(
      {comm, stream, FakeKernel{FakeKernel::Kind::kReduceScatter, send, receive, count, type, operation, 0}});
}

NcclResult ComputingNccl::Send(const void* send, size_t count, DataType type, int to, NcclComm comm,
                               CudaStream stream) {
  return Add({comm, stream, FakeTransfer{true, const_cast<void*>(send), count, type, to}});
}

NcclResult ComputingNccl::Recv(void* receive, size_t count, DataType type, int from, NcclComm comm,
                               CudaStream stream) {
  return Add({comm, stream, FakeTransfer{false, receive, count, type, from}});
}

std::string ComputingNccl::Describe(NcclResult result) const {
  switch (result) {
    case NcclResult::kUnhandledCudaError:
      return "unhandled cuda error";
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
  if (const auto failed = fabric_->fails_at_start.find(rank_); failed != fabric_->fails_at_start.end()) {
    return failed->second;
  }
  const auto broken = fabric_->async_errors.find(rank_);
  return broken == fabric_->async_errors.end() ? "" : broken->second.second;
}

}  // namespace muster::nccl
