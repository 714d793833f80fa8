// What the scheduler of the job knows and no environment says: which rank is where, what a node's address is,
// when the job ends. comm/ knows no scheduler: bootstrap/slurm implements this.
//
// Asking costs a process and a question to a server that all jobs share. So a group that forms never asks:
// only the root does, once, when it has waited for some time, and a leader that cannot resolve the root's
// name. Whatever comes of it, forming goes on meanwhile.
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
  std::vector<std::string> nodes;  // whose addresses

  bool empty() const { return !layout && !job_end && nodes.empty(); }
};

struct SchedulerFacts {
  std::optional<Placement> placement;  // with node_of_rank; agrees with what is known of this launch
  std::optional<Duration> time_left;   // what deadlines may use of the job's time
  std::string time_note;               // what that does to them, for the log; may be empty
  std::map<std::string, std::string> addresses;  // by node: numeric, or a name
};

class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  // What of this launch only the scheduler knows; pure.
  virtual SchedulerQuestion Unknown() const = 0;

  // BLOCKS, at most until the deadline and a moment more: call it on a BlockingWorker. May be called from
  // several threads. Error: kConfiguration where there is nothing that could be asked; else what went wrong.
  virtual Result<SchedulerFacts> Ask(const SchedulerQuestion& question, Deadline deadline) const = 0;
};

}  // namespace muster::rendezvous
