// What only the root does while a group forms: listens where the meeting says, fills the assembly with what
// arrives, and decides: formed, or why not.
//
// Lives on one EventLoop. Never gives up by itself: its owner has the deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/rendezvous/join/arrivals.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/root_listener.h"
#include "comm/rendezvous/join/roster_builder.h"
#include "comm/rendezvous/join/silent_nodes.h"
#include "comm/rendezvous/messages/child_links.h"

namespace muster::rendezvous {

class RootSide {
 public:
  struct Outcome {
    std::optional<FormedGroup> formed;
    std::optional<Failure> failed;
  };
  // May be called more than once; the first counts. Must not destroy the RootSide.
  using OnOutcome = std::function<void(Outcome)>;
  // The others look for the root on another machine. Must not destroy the RootSide.
  using OnMisplaced = RootListener::OnMisplaced;

  // `prover` may be null where no port is needed (all ranks on this node). The references must outlive it.
  RootSide(net::EventLoop& loop, const JoinRequest& request, auth::Prover* prover, ChildLinks& children,
           OnOutcome on_outcome, OnMisplaced on_misplaced);

  void Start();
  // A hello of a child, or of processes that had come before this process knew that it is the root. May call
  // on_outcome.
  void Hear(ChildLinks::Source source, const Hello& hello);
  // A child has gone before the group was formed. May call on_outcome.
  void Lose(ChildLinks::Source source);

  // Which rank is where, from now on.
  void Learn(Placement placement) { roster_builder_.SetPlacement(std::move(placement)); }

  // Every rank is there.
  bool complete() const { return roster_builder_.complete(); }
  // For the waiting line and the deadline's sentence.
  std::string Describe() const;
  std::vector<int> MissingRanks() const { return roster_builder_.MissingRanks(); }
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  void Form();
  void OnLink(std::unique_ptr<net::FrameStream> link, const net::SocketAddress& peer);
  std::vector<std::string> OwnAddresses() const;

  net::EventLoop& loop_;
  const JoinRequest& request_;
  ChildLinks& children_;
  OnOutcome on_outcome_;
  RosterBuilder roster_builder_;
  Clock::time_point began_ = Clock::now();
  Arrivals arrivals_;
  std::unique_ptr<RootListener> listener_;
  std::unique_ptr<SilentNodes> silent_;
  std::vector<std::string> reached_at_;  // local addresses that links came in on
};

}  // namespace muster::rendezvous
