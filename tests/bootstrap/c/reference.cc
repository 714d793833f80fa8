// The calls of conformance.c, through the C++ interface.
#include "bootstrap/bootstrap.h"
#include "tests/bootstrap/c/samples.h"

namespace muster {
namespace {

void Must(const Status& status) {
  if (status) return;
  fprintf(stderr, "%s\n", ToString(status.error()).c_str());
  exit(ExitStatus(status.error().code));
}

template <typename T>
T Must(Result<T> result) {
  if (!result) Must(Status(tl::unexpected<Error>(result.error())));
  return *std::move(result);
}

// Elements that depend on the rank, or zeros.
class Elements {
 public:
  Elements(int type, size_t count, int rank)
      : data_(static_cast<uint8_t*>(sample(type, count, rank))), count_(count), type_(type) {}
  Elements(int type, size_t count) : Elements(type, count, 0) { Clear(); }
  ~Elements() { free(data_); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  void Clear() { memset(data_, 0, bytes()); }
  size_t bytes() const { return count_ * kSizes[type_]; }
  Buffer buffer() { return {data_, count_, static_cast<DataType>(type_), Memory::kHost}; }
  void Show(int rank, const char* what, const char* operation = "-") const {
    show(rank, what, kTypeNames[type_], operation, data_, bytes());
  }

 private:
  uint8_t* data_;
  size_t count_;
  int type_;
};

void Reductions(Communicator& comm, int type) {
  const int rank = comm.rank();
  for (int op = 0; op < kOperations; ++op) {
    const auto operation = static_cast<ReduceOp>(op);
    Elements mine(type, kCount, rank);
    Elements all(type, kCount * static_cast<size_t>(comm.size()), rank);
    Elements result(type, kCount);
    Must(comm.AllReduce(mine.buffer(), result.buffer(), operation));
    result.Show(rank, "all_reduce", kOperationNames[op]);
    result.Clear();
    Must(comm.Reduce(mine.buffer(), result.buffer(), operation, 1));
    result.Show(rank, "reduce", kOperationNames[op]);
    Must(comm.ReduceScatter(all.buffer(), result.buffer(), operation));
    result.Show(rank, "reduce_scatter", kOperationNames[op]);
  }
}

void Movements(Communicator& comm, int type) {
  const int rank = comm.rank();
  const int size = comm.size();
  Elements mine(type, kCount, rank);
  Elements all(type, kCount * static_cast<size_t>(size), rank);
  Elements block(type, kCount);
  Elements blocks(type, kCount * static_cast<size_t>(size));
  Must(comm.AllGather(mine.buffer(), blocks.buffer()));
  blocks.Show(rank, "all_gather");
  blocks.Clear();
  Must(comm.Gather(mine.buffer(), blocks.buffer(), 1));
  blocks.Show(rank, "gather");
  Must(comm.Scatter(all.buffer(), block.buffer(), 1));
  block.Show(rank, "scatter");
  Must(comm.AllToAll(all.buffer(), blocks.buffer()));
  blocks.Show(rank, "all_to_all");
  Must(comm.Broadcast(mine.buffer(), 1));
  mine.Show(rank, "broadcast");
  Elements own(type, kCount, rank);
  Elements got(type, kCount);
  if (rank == 0) {
    Must(comm.Send(own.buffer(), 1));
    Must(comm.Recv(got.buffer(), size - 1));
  } else {
    Must(comm.Recv(got.buffer(), rank - 1));
    Must(comm.Send(own.buffer(), (rank + 1) % size));
  }
  got.Show(rank, "recv");
}

void ByteStrings(Communicator& comm) {
  const int rank = comm.rank();
  const size_t size = static_cast<size_t>(rank) * 11;
  Elements data(1, size, rank);
  const ByteView mine(static_cast<const uint8_t*>(data.buffer().data), size);
  for (const Bytes& part : Must(comm.GatherBytes(mine, 1))) {
    show(rank, "gather_bytes", "bytes", "-", part.data(), part.size());
  }
  for (const Bytes& part : Must(comm.AllGatherBytes(mine))) {
    show(rank, "all_gather_bytes", "bytes", "-", part.data(), part.size());
  }
  const Bytes part = Must(comm.BroadcastBytes(mine, 1));
  show(rank, "broadcast_bytes", "bytes", "-", part.data(), part.size());
}

void PartsOfTheGroup(Communicator& comm) {
  const int rank = comm.rank();
  const std::unique_ptr<Communicator> part = Must(comm.Split(rank == 0 ? -1 : 4, -rank));
  if (!part) {
    printf("rank %d split none\n", rank);
    return;
  }
  int32_t sum = rank;
  Must(part->AllReduce(std::span<int32_t>(&sum, 1), ReduceOp::kSum));
  printf("rank %d split %d of %d sum %d\n", rank, part->rank(), part->size(), sum);
}

void Facts(const Communicator& comm) {
  const Roster& roster = comm.roster();
  const int node = roster.NodeOf(comm.rank());
  printf("rank %d facts %d %d %d %d %zu %s %s %s\n", comm.rank(), comm.size(),
         roster.members[static_cast<size_t>(comm.rank())].local_rank, roster.LocalSize(node), node,
         roster.nodes.size(), comm.node().c_str(), std::string(comm.backend()).c_str(),
         InitializedTuple()->launcher.c_str());
}

void Everything() {
  Communicator& comm = *Must(Init());
  Facts(comm);
  for (int type = 0; type < kTypes; ++type) {
    Reductions(comm, type);
    Movements(comm, type);
  }
  ByteStrings(comm);
  PartsOfTheGroup(comm);
  Must(comm.Barrier());
  Must(Shutdown());
}

}  // namespace
}  // namespace muster

int main() {
  begin_output();
  muster::Everything();
  return 0;
}
