// Whole groups inside one process and on one loop: every rank has its own Joiner and ControlPlane, wired over
// real sockets; nodes differ by name only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/join/joiner.h"
#include "tests/comm/net/test_loop.h"
#include "tests/comm/rendezvous/members.h"

namespace muster::rendezvous {

// The requests of the ranks of one launch, by rank: ranks on node_of_rank[rank], local ranks in their order,
// a complete placement, no authentication, rank 0's leader at a free port of 127.0.0.1. Every call
// is a launch of its own.
std::vector<JoinRequest> MakeRequests(const std::vector<std::string>& node_of_rank);

// The error of a group of which a rank, "rank 2 on b", has ended before it formed.
Error EndedWhileForming(std::string_view rank);

// One process: joins, then serves the control plane.
class TestRank {
 public:
  TestRank(net::EventLoop& loop, JoinRequest request);
  TestRank(const TestRank&) = delete;
  TestRank& operator=(const TestRank&) = delete;

  void Start() { joiner_->Start(); }

  int rank() const { return rank_; }
  // At the root, while the group forms.
  bool Arrived(int other) const {
    return joiner_ && joiner_->arrivals() != nullptr && joiner_->arrivals()->contains(other);
  }
  // By the process above.
  bool accepted() const { return joiner_ && joiner_->accepted(); }
  bool formed() const { return plane_ != nullptr; }
  bool ended() const { return formed() || refused_; }
  ControlPlane& plane() { return *plane_; }
  const Roster& roster() const { return plane_->group().roster; }
  // Why it did not form.
  const std::optional<Failure>& refused() const { return refused_; }

  // The events of the control plane.
  std::vector<Failure> failures;
  int everyone_knows = 0;
  int released = 0;
  std::vector<KeyedAllGather> exchanged;
  // The owner that it gives for a connection; empty: none.
  OwnerInquiry::Look whose;
  std::vector<RankEnd> ends;
  int ends_told = 0;
  std::vector<std::pair<int, Bytes>> map_messages;

 private:
  void OnDone(tl::expected<Joined, Failure> joined);

  net::EventLoop& loop_;
  int rank_;
  std::vector<int> own_ranks_;
  LivenessOptions liveness_;
  std::unique_ptr<ControlPlane> plane_;
  std::optional<Failure> refused_;
  std::unique_ptr<Joiner> joiner_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class TestGroup {
 public:
  // Makes and starts all ranks.
  TestGroup(net::TestLoop& loop, const std::vector<JoinRequest>& requests);
  TestGroup(net::TestLoop& loop, const std::vector<std::string>& node_of_rank)
      : TestGroup(loop, MakeRequests(node_of_rank)) {}

  TestRank& operator[](size_t rank) { return *ranks_[rank]; }
  size_t size() const { return ranks_.size(); }
  // Of the ranks that are not killed.
  [[nodiscard]] bool AllFormed();
  [[nodiscard]] bool AllRefusedWith(const Error& error);
  [[nodiscard]] bool AllToldOf(const Error& error);
  // Its connections close, as those of a killed process do.
  void Kill(size_t rank) { ranks_[rank].reset(); }
  bool alive(size_t rank) const { return ranks_[rank] != nullptr; }

 private:
  net::TestLoop& loop_;
  std::vector<std::unique_ptr<TestRank>> ranks_;
};

// The requests of one launch, changed by a test before its ranks start.
class RequestsTest : public testing::Test {
 protected:
  void Make(const std::vector<std::string>& node_of_rank) { requests = MakeRequests(node_of_rank); }
  void SetAll(const std::function<void(JoinRequest&)>& change) {
    for (JoinRequest& request : requests) change(request);
  }
  // As without a launcher's local ranks: a leader does not know how many ranks its node has.
  void ForgetLocalRanks() {
    for (JoinRequest& request : requests)
      request.self.claims[0].local_rank = request.self.claims[0].local_size = -1;
  }
  std::vector<JoinRequest> Without(size_t absent) const {
    std::vector<JoinRequest> some = requests;
    some.erase(some.begin() + static_cast<ptrdiff_t>(absent));
    return some;
  }

  net::TestLoop loop;
  std::vector<JoinRequest> requests;
};

}  // namespace muster::rendezvous
