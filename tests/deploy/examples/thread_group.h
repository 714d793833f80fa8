// Ranks as threads of one process: a Communicator for what the examples use (AllReduce of u64 sums,
// GatherBytes, AllGatherBytes), so that they are tested without a network. Everything else is refused with
// kInternal.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "comm/communicator.h"

namespace muster::examples {

// The meeting point of the threads. Thread-safe. A wait ends after 60 s at the latest, or as soon as a rank
// has left.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size);

  const Roster& roster() const { return roster_; }
  // The parts of all ranks, by rank. Error: kPeerLost if a rank has left, kDeadline.
  Result<std::vector<Bytes>> KeyedAllGather(int rank, Bytes mine);
  void Leave(int rank);

 private:
  Roster roster_;  // four ranks a node: gpu01, gpu02, ...
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bytes> arriving_;
  std::vector<Bytes> complete_;
  int arrived_ = 0;
  int round_ = 0;
  std::optional<int> left_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.roster().size(); }
  const Roster& roster() const override { return group_.roster(); }
  std::string_view backend() const override { return "threads"; }

  Status Perform(const OperationRequest& request, const CallOptions& options) override;
  Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView mine, int root,
                                          const CallOptions& options) override;

  Result<std::unique_ptr<Communicator>> Split(int, int, const CallOptions&) override { return Refuse(); }

 private:
  static tl::unexpected<Error> Refuse() {
    return Fail(Code::kInternal, "not an operation of the thread group");
  }

  ThreadGroup& group_;
  int rank_;
};

// body(communicator) on a thread for each rank; a rank whose body failed leaves the group. The results by
// rank.
template <typename T>
std::vector<Result<T>> RunRanks(int size, const std::function<Result<T>(Communicator&)>& body) {
  ThreadGroup group(size);
  std::vector<Result<T>> results(static_cast<size_t>(size), Fail(Code::kInternal, "did not run"));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&group, &body, &result = results[static_cast<size_t>(rank)], rank] {
      ThreadCommunicator communicator(group, rank);
      result = body(communicator);
      if (!result) group.Leave(rank);
    });
  }
  threads.clear();
  return results;
}

}  // namespace muster::examples
