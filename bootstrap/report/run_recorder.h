// Records the events of one run, as its supervisor receives them, for the summary and the report.
//
// Lives on the supervisor's thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/process/child.h"
#include "bootstrap/report/run_record.h"
#include "comm/meeting.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/roster/arrivals.h"

namespace muster::report {

class RunRecorder {
 public:
  struct Facts {
    std::string job;
    std::vector<std::string> command;
    std::string node;  // this one
    int world_size = 1;
    Duration grace{};
    Clock::time_point began = Clock::now();  // of the command
  };
  explicit RunRecorder(const Facts& facts);

  // The phases, each as it begins or ends, now. `arrivals` is the root's, elsewhere null: of thousands of
  // supervisors only the root keeps a table of all ranks.
  void Joining();
  void Formed(const rendezvous::FormedGroup& group, const rendezvous::Arrivals* arrivals);
  void Initialized();  // the first call counts
  void Failed(const rendezvous::Failure& failure);
  // It never formed: the ranks that came, and where the missing ones were expected.
  void NotFormed(const rendezvous::Arrivals* arrivals, const Placement& placement);

  // Programs of own ranks.
  void Terminated(int rank) { terminated_.insert(rank); }
  void Killed(int rank) { killed_.insert(rank); }
  void Ended(int rank, const process::ChildExit& exit, rendezvous::OutOfMemory out_of_memory);
  void NotStarted(int rank);
  std::vector<rendezvous::RankEnd> own_ends() const { return own_ends_; }

  // The reports that the root receives, own ranks' included.
  void AddEnds(const std::vector<rendezvous::RankEnd>& ends);

  // All of it. `has_left`: whether a rank has left.
  RunRecord Finish(int exit_status, const std::function<bool(int)>& has_left,
                   std::vector<map::MapState> maps = {});

 private:
  Duration Now() const { return Clock::now() - began_; }
  void TakeArrivals(const rendezvous::Arrivals* arrivals);
  rendezvous::RankEnd MakeEnd(int rank, rendezvous::EndCause cause) const;

  const Clock::time_point began_;
  const size_t world_size_;
  RunRecord record_;
  std::vector<rendezvous::RankEnd> own_ends_;
  std::set<int> terminated_;
  std::set<int> killed_;
};

// For users: "exit 3", "signal 9 (Killed), out of memory".
std::string DescribeEnd(const process::ChildExit& exit, rendezvous::OutOfMemory out_of_memory);

}  // namespace muster::report
