// Carries the messages of maps between ranks and the root (comm/map). While a map runs, the end of a rank is
// no failure of the group: the root's service reassigns the rank's items.
//
//   up    ToRoot, RanksLost
//   down  ToRank, Tolerate
//
// Part of a ControlPlane, on its EventLoop; nothing blocks. A group without a map sends none of these.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "comm/map/service.h"
#include "comm/rendezvous/liveness/leave_protocol.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class MapRelay {
 public:
  using Source = ChildLinks::Source;
  struct Params {
    TreeLinks& links;
    const Roster& roster;
    const LeaveProtocol& leaves;
    map::JournalOwner owner;
    Duration silent_after{};
    std::function<void(int rank, ByteView message)> deliver;     // to an own rank, or its program
    std::function<void(const std::vector<int>& ranks)> on_lost;  // processes, at the root
    std::function<void(const Failure& failure)> fail;            // at the root
    // The last moment in which the end of a rank is no failure.
    std::function<void()> on_over = [] {};
    int root_rank = 0;
  };

  explicit MapRelay(Params params) : params_(std::move(params)) {}
  MapRelay(const MapRelay&) = delete;
  MapRelay& operator=(const MapRelay&) = delete;

  // Of an own rank, or of its program.
  void SendToRoot(int rank, ByteView message);
  void ReceiveFromParent(ByteView frame);
  void ReceiveFromChild(Source source, ByteView frame);

  // The root has retired: no map can begin or go on.
  void LoseRoot();

  // A map runs: call Lose instead of reporting a failure.
  bool tolerates() const { return tolerates_; }
  void Lose(const RanksLost& lost);
  void LoseProgram(const Failure& failure) {
    Lose({{failure.rank}, failure.error.message, false, failure.exit_status});
  }
  // In order.
  void Leave(const std::set<int>& ranks);
  void SetLatest(Deadline latest);
  // At the root; empty at other processes.
  std::vector<map::MapState> Look() const {
    return service_ ? service_->Look() : std::vector<map::MapState>();
  }
  std::vector<map::MapState> LookAtAll() const {
    return service_ ? service_->LookAtAll() : std::vector<map::MapState>();
  }

 private:
  void SendToRank(int rank, ByteView message);
  void Refuse(int rank, uint32_t map);
  void Tolerate(bool on);
  map::Service& TheService();

  const Params params_;
  bool tolerates_ = false;
  // Ranks of this process and below, and their maps; not at the root.
  std::set<std::pair<int, uint32_t>> joined_;
  std::unique_ptr<map::Service> service_;  // at the root
  Deadline latest_ = Deadline::Never();
};

}  // namespace muster::rendezvous
