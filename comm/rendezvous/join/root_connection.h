// A leader's connection to the root: it searches the root on the hosts of the meeting, or is the root and
// listens there. In a tree of leaders (tree.h) it searches the leader above it, and listens as well if
// others are below it. A root that waits collects facts for the error: the silent nodes that it reaches, and the
// scheduler's data about the launch.
//
// Runs on one EventLoop. Never stops by itself: its owner has the deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/auth/proof.h"
#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/root_finder.h"
#include "comm/rendezvous/discovery/root_search.h"
#include "comm/rendezvous/join/group_formation.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/root_listener.h"
#include "comm/rendezvous/join/scheduler_inquiry.h"
#include "comm/rendezvous/roster/silent_nodes.h"
#include "comm/rendezvous/roster/waiting.h"

namespace muster::rendezvous {

// The time that a process that cannot be part of the group searches for a receiver of its reason: the ranks
// of a step start seconds apart.
inline constexpr Duration kRefusedPatience = std::chrono::seconds(5);

// Whether the leader of `node` is the root. `leads_rank_zero`: rank 0 is the leader or is connected to it.
bool IsRoot(const Meeting& meeting, const std::string& node, bool leads_rank_zero);

// The hosts on which the root is searched; empty: an endpoint store has its address.
std::vector<std::string> RootHosts(const Meeting& meeting);

// "rank 0 on gpu01", or the part of it that is known.
std::string DescribeRoot(const Meeting& meeting, const std::string& node);

// The leader of the node of `self`: "rank 4 on gpu02", or the part of it that is known.
std::string DescribeLeader(const Meeting& meeting, const ProcessInfo& self);

// Why a process without rank 0 is the root, as an addition to the missing ranks: only the address of the root, which may be
// wrong, leads to its node. Empty if the list of nodes makes it the root.
std::string DescribeStandIn(const Meeting& meeting, const std::string& node);

// The hosts and ports to try, in their order.
RootSearch::Where WhereToSearch(const JoinRequest& request);

class RootConnection {
 public:
  struct Events {
    // To the root, or to the leader above.
    std::function<void(std::unique_ptr<net::FrameStream>, std::string name)> on_link;
    std::function<void(const Error&)> on_failed;
  };

  // The references must outlive it. It updates `request`: the secret of the root's address, the job's end,
  // and the reason why this process cannot be the root.
  RootConnection(net::EventLoop& loop, JoinRequest& request, GroupFormation& formation,
                 JoinDeadline& deadline, Events events);
  RootConnection(const RootConnection&) = delete;
  RootConnection& operator=(const RootConnection&) = delete;

  // Searches the root, or becomes it.
  void Go();
  void Search();
  void BecomeRoot();
  // The processes above are those of another group.
  void BeginAtParent();
  // The process above has not accepted this one.
  void TryNextAbove();
  // The next search begins above that leader, the one that this process was connected to.
  void GoAround(const std::string& lost_node);
  // Whether this process could prove its identity to the root, or as the root.
  bool CanProve() { return GetProver().has_value(); }

  void StopSearch();
  void StopReporting() { reporter_.reset(); }
  // The listener stays open, for late ranks.
  void Stop();
  // Every rank is there: closes the listener as well.
  void Close();

  // The ranks that this process waits for; empty: upstream waits.
  AwaitedRanks Awaited() const;
  // Null if there is none at present.
  const RootFinder* search() const { return search_.get(); }
  // Whether the process above, searched or connected, is a leader between this one and the root.
  bool below_a_leader() const { return tried_ + 1 < formation_.place().above.size(); }

 private:
  Result<auth::Prover*> GetProver();
  void ShowNoProof(const Error& reason);
  void FailWithoutProof(const Error& reason);
  void Listen(auth::Prover& prover, RootListener::OnMisplaced on_misplaced);
  void ListenForChildren();
  std::string DescribeAbove() const;
  void OnRejected(const Error& error);
  void AskScheduler();
  void OnSchedulerFacts(const SchedulerFacts& facts);
  void OnMisplaced(const Error& error);
  void OnOwnHost();
  void SearchEndpointStore(const RootDialer::Params& params);
  void OnLink(std::unique_ptr<net::FrameStream> link);
  void Report();

  net::EventLoop& loop_;
  JoinRequest& request_;
  GroupFormation& formation_;
  JoinDeadline& deadline_;
  Events events_;
  net::ThreadWorker munge_worker_;
  std::unique_ptr<auth::Prover> prover_;
  std::unique_ptr<auth::Prover> no_proof_;  // never a listener's
  std::unique_ptr<RootFinder> search_;
  std::unique_ptr<RootListener> listener_;
  std::unique_ptr<SilentNodes> silent_;
  std::unique_ptr<SchedulerInquiry> inquiry_;
  std::unique_ptr<WaitReporter> reporter_;
  size_t tried_ = 0;  // of formation_.place().above, without the one that is tried
  std::optional<Clock::time_point> next_above_;
  net::Timer step_timer_;
  net::Timer above_timer_;
  bool over_ = false;
};

}  // namespace muster::rendezvous
