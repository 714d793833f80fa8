// A group whose ranks are threads of one process, for tests of what stands on a Group.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/socket/socket_communicator.h"

namespace muster::socket {

// node_of_rank[r]: ranks of one node share a Unix socket, others talk TCP over 127.0.0.1. Nodes are called
// gpu01, gpu02, ... in the order of their lowest ranks.
Roster MakeRoster(const std::vector<int>& node_of_rank);
// {3, 2} -> ranks 0-2 on the first node, 3 and 4 on the second.
std::vector<int> BlockLayout(const std::vector<int>& ranks_per_node);
// Ranks dealt out to the nodes in turn.
std::vector<int> CyclicLayout(int ranks, int nodes);

// Shared by the ranks of a fake group. Thread-safe.
class FakeGroupState {
 public:
  explicit FakeGroupState(Roster roster);
  const Roster& roster() const { return roster_; }
  int failure_fd() const { return failed_.get(); }
  std::optional<Error> failure() const;
  void Fail(const Error& error);
  Result<std::vector<Bytes>> KeyedAllGather(int rank, std::string_view name, ByteView mine,
                                            Deadline deadline);
  // Of every rank that has a group.
  void Add(int rank, ActivityTable& kvs);
  std::string MissingRanks(int rank, uint64_t communicator, uint64_t sequence);

 private:
  const Roster roster_;
  UniqueFd failed_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> failure_;
  std::map<std::string, std::map<int, Bytes>, std::less<>> exchanges_;
  std::map<int, ActivityTable*> kvs_list_;
};

class FakeGroup final : public Group {
 public:
  FakeGroup(FakeGroupState& state, int rank);
  int rank() const override { return rank_; }
  const Roster& roster() const override { return state_.roster(); }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view name, ByteView mine,
                                            Deadline deadline) override {
    return state_.KeyedAllGather(rank_, name, mine, deadline);
  }
  std::string MissingRanks(uint64_t communicator, uint64_t sequence, Duration) override {
    return state_.MissingRanks(rank_, communicator, sequence);
  }
  int failure_fd() const override { return state_.failure_fd(); }
  std::optional<Error> failure() const override { return state_.failure(); }
  void Fail(const Error& error) override { state_.Fail(error); }
  Status Leave(Deadline) override { return {}; }
  using Group::set_latest;

 private:
  FakeGroupState& state_;
  const int rank_;
  GroupKey key_{};
};

// Empty if all went well.
template <typename T>
std::string MessageOf(const Result<T>& result) {
  return result ? "" : result.error().message;
}

// Options that no slow machine can upset: what has to be quick in a test is set by the test.
SocketOptions TestOptions();
// Ranks of a node share memory from the first call on, or never.
SocketOptions SharingOptions(bool shared = true);

// The communicators of one group, whatever backend they have, each for a thread of its own.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  virtual int size() const = 0;
  virtual Communicator& at(int rank) = 0;
  // leaves as that rank.
  virtual void Leave(int rank) = 0;

  // One thread for each rank; returns when all are done.
  void Run(const std::function<void(Communicator&)>& body);
  // The same, and what each got: "" for success.
  std::vector<std::string> Messages(const std::function<Status(Communicator&)>& body);
  void RunRanks(const std::vector<int>& ranks, const std::function<void(Communicator&)>& body);
};

// One group of threads with their endpoints and the communicators of the socket backend.
class FakeWorld final : public World {
 public:
  // Changes what a rank brings along.
  using Tamper = std::function<void(int rank, EndpointAddress& address)>;

  explicit FakeWorld(const std::vector<int>& node_of_rank, const SocketOptions& options = TestOptions());
  // `bases`: for each rank where its Unix socket may be; empty: the usual ones.
  FakeWorld(const Roster& roster, const SocketOptions& options, const Tamper& tamper,
            const std::vector<std::vector<std::string>>& bases = {});

  int size() const override { return state_.roster().size(); }
  FakeGroupState& state() { return state_; }
  FakeGroup& group(int rank) { return *groups_.at(static_cast<size_t>(rank)); }
  Communicator& at(int rank) override { return *communicators_.at(static_cast<size_t>(rank)); }
  const EndpointAddress& address(int rank) const { return addresses_.at(static_cast<size_t>(rank)); }
  void Leave(int rank) override { communicators_.at(static_cast<size_t>(rank)).reset(); }
  // It is the caller's now.
  std::unique_ptr<Communicator> Take(int rank) {
    return std::move(communicators_.at(static_cast<size_t>(rank)));
  }

 private:
  FakeGroupState state_;
  std::vector<EndpointAddress> addresses_;
  std::vector<std::unique_ptr<FakeGroup>> groups_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace muster::socket
