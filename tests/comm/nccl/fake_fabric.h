// The meeting point of the ranks of ComputingNccl, and the faults that a test injects. The ranks are in one
// process; socket_fabric.h connects several. Threads: any.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// One collective as one rank has launched it.
struct FakeKernel {
  enum class Kind { kBroadcast, kReduce, kAllReduce, kAllGather, kReduceScatter };
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;  // null: this rank receives nothing
  size_t count = 0;
  DataType type = DataType::kU8;
  ReduceOp operation = ReduceOp::kSum;
  int root = 0;

  // Ranks whose calls differ in any of these never finish, as in NCCL.
  bool Matches(const FakeKernel& other) const;
  // The bytes that `rank` of `ranks` sends and receives.
  size_t SendBytes(int rank, size_t ranks) const;
  size_t ReceiveBytes(int rank, size_t ranks) const;
};

// One rank's side of an operation. A Send and its Recv are a Broadcast of two ranks: 0 sends, 1 receives.
struct FakeCall {
  std::string meeting;  // names the operation, on all its ranks; begins with the id of the communicator
  size_t ranks = 0;
  int rank = 0;
  FakeKernel kernel;
};

// Ends the calls of a communicator.
struct FakeCut {
  bool cut = false;
  std::set<int> connections;  // descriptors that these calls wait for
};

class FakeFabric {
 public:
  FakeFabric() = default;
  FakeFabric(const FakeFabric&) = delete;
  FakeFabric& operator=(const FakeFabric&) = delete;
  virtual ~FakeFabric() = default;

  std::mutex mutex;
  std::condition_variable changed;

  bool connects = false;  // the first collective waits for all ranks, as in NCCL

  // ---- Faults, by rank of the first communicator.
  std::set<int> never_joins;                  // its start waits for ever, and so does that of all ranks
  std::set<int> never_through;                // its own start alone
  std::set<int> never_splits;                 // the part is there, and starts for ever
  std::set<int> never_connects;               // its launches wait for ever
  std::function<void()> waits_for_abort;      // called by such a launch
  std::set<int> blocks_in_start;              // the call itself does not come back before Release
  std::map<int, std::string> draws_no_id;     // NCCL's last error
  std::map<int, std::string> fails_at_start;  // the same; after those that lose a peer or block
  std::set<int>
      loses_a_peer_at_start;     // its connection to another rank breaks; empty once they have returned
  std::set<int> hangs_in_abort;  // until Release
  std::map<int, std::pair<NcclResult, std::string>> async_errors;

  // From now on every communicator of this rank reports it.
  void BreakComms(int rank, NcclResult result, std::string last_error);
  // Ends all that hangs because of a fault.
  void Release();

  // ---- What tests look at.
  // Calls that the real NCCL would not have survived: on a communicator that is freed, or before the last
  // call was done; and a communicator freed while a thread was in a call on it.
  int misuses = 0;
  int living = 0;                     // communicators neither destroyed nor aborted
  std::vector<int> aborted_together;  // sizes of the groups of aborts
  std::vector<std::string> order;     // "finalize", "destroy", "abort" of rank 0

  // ---- For ComputingNccl.
  std::vector<std::shared_ptr<void>> comms;  // all that there ever were
  // False: there is none.
  virtual bool DrawId(NcclId* id);
  // BLOCKS until all ranks of all these calls are there, and computes. kInternalError after Cut.
  virtual NcclResult Run(const std::vector<FakeCall>& calls, FakeCut& cut);
  // A rank's last call, an AllGather of nothing. Rank 0 may wait in it for the other ranks.
  virtual NcclResult Leave(const FakeCall&, FakeCut&) { return NcclResult::kSuccess; }
  // With the mutex held.
  void Cut(FakeCut& cut);
  int hanging = 0;
  // Waits for Release.
  void Hang(std::unique_lock<std::mutex>& lock);

 private:
  struct Meeting {
    std::map<int, FakeKernel> kernels;  // by rank
    bool done = false;
  };

  bool released_ = false;
  std::map<std::string, Meeting> meetings_;
};

}  // namespace muster::nccl
