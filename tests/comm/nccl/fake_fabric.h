// What the fake NCCLs of one test's process share: the place where their ranks meet, and the faults that a
// test injects. Threads: any.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// One operation of a communicator as one rank has launched it.
struct FakeKernel {
  enum class Kind { kBroadcast, kReduce, kAllReduce, kAllGather, kReduceScatter };
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  DataType type = DataType::kU8;
  ReduceOp operation = ReduceOp::kSum;
  int root = 0;

  // Ranks whose calls differ in any of these never finish, as in NCCL.
  bool Matches(const FakeKernel& other) const;
};

struct FakeTransfer {
  bool sends = false;
  void* memory = nullptr;
  size_t count = 0;
  DataType type = DataType::kU8;
  int peer = 0;
};

// All ranks of one communicator.
struct FakeRing {
  struct Meeting {
    std::map<int, FakeKernel> kernels;  // by rank
    bool done = false;
  };
  struct Post {
    FakeTransfer transfer;
    bool taken = false;
  };
  struct Parting {
    std::map<int, std::pair<int, int>> choices;  // rank: colour, key
    std::map<int, std::shared_ptr<FakeRing>> rings;
    std::map<int, std::vector<int>> members;  // by colour, in their order
  };

  int size = 0;
  int joined = 0;
  std::map<uint64_t, Meeting> meetings;  // by the number of the collective
  std::map<std::pair<int, int>, std::list<std::shared_ptr<Post>>> posts;
  std::map<uint64_t, Parting> partings;
};

class FakeFabric {
 public:
  std::mutex mutex;
  std::condition_variable changed;

  // ---- Faults, by rank of the first communicator.
  std::set<int> never_joins;                  // its start waits for ever, and so does everybody's
  std::set<int> never_through;                // its own start alone
  std::set<int> never_splits;                 // the part is there, and starts for ever
  std::set<int> blocks_in_start;              // the call itself does not come back before Release
  std::map<int, std::string> fails_at_start;  // NCCL's last words
  std::set<int> hangs_in_abort;               // until Release
  std::map<int, std::pair<NcclResult, std::string>> async_errors;

  // From now on every communicator of this rank reports it.
  void BreakComms(int rank, NcclResult result, std::string last_error);
  // Lets go of whoever hangs because of a fault.
  void Release();

  // ---- What tests look at.
  // Calls that the real NCCL would not have survived: on a communicator that is freed, or before the last
  // call was done.
  int misuses = 0;
  int living = 0;                     // communicators neither destroyed nor aborted
  std::vector<int> aborted_together;  // sizes of the groups of aborts
  std::vector<std::string> order;     // "finalize", "destroy", "abort" of rank 0

  // ---- For ComputingNccl.
  std::shared_ptr<FakeRing> RingOf(const std::vector<NcclId>& ids, int size);
  NcclId DrawId();
  std::vector<std::shared_ptr<void>> comms;  // all that there ever were
  // Waits for Release.
  void Hang(std::unique_lock<std::mutex>& lock);

 private:
  bool released_ = false;
  uint64_t drawn_ = 0;
  std::map<std::vector<NcclId>, std::shared_ptr<FakeRing>> rings_;
};

// With the fabric's mutex held, all ranks being there: computes what each rank receives.
void Compute(const std::map<int, FakeKernel>& kernels);

}  // namespace muster::nccl
