// The scheduler's facts that no environment has: the nodes of the ranks, a node's address, the job's end.
// comm/ depends on no scheduler: bootstrap/slurm implements this interface.
//
// A query costs a process, and load on a server that all jobs share. So a group that forms normally sends
// none. Only two processes query: the root, once, after some time of waiting, and a leader that cannot
// resolve the root's name. Forming continues meanwhile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/meeting.h"

namespace muster::rendezvous {

struct SchedulerQuestion {
  bool layout = false;
  bool job_end = false;
  std::vector<std::string> nodes;  // nodes whose addresses are needed

  bool empty() const { return !layout && !job_end && nodes.empty(); }
};

struct SchedulerFacts {
  std::optional<Placement> placement;  // with node_of_rank; consistent with the known facts of this launch
  std::optional<Duration> time_left;   // part of the job's time that deadlines may use
  std::string time_note;               // effect on the deadlines, for the log; may be empty
  std::map<std::string, std::string> addresses;  // by node: numeric, or a name
};

class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  // The facts of this launch that only the scheduler has; pure.
  virtual SchedulerQuestion Unknown() const = 0;

  // BLOCKS until the deadline, or slightly longer: call it on a BlockingWorker. May be called from several
  // threads. Error: kConfiguration if there is no scheduler to query; else the cause.
  virtual Result<SchedulerFacts> Ask(const SchedulerQuestion& question, Deadline deadline) const = 0;
};

}  // namespace muster::rendezvous
