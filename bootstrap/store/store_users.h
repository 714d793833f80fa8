// Which of a supervisor's programs use the group's store, and the order of its programs: no key outlives the
// program that set it, so each must use the store of its own generation.
//
//   muster run -- sh -c 'python a.py; python b.py'      a.py is generation 0 of its rank, b.py generation 1
//
// A process that connects belongs to its rank's present generation if it is one of it, or if one of it still
// runs somewhere under the rank's program (workers that a program starts share its store, as under torchrun).
// If all of them have ended, the next one begins a new generation. All ranks count alike, so equal numbers
// belong together, however far apart in time the ranks get there.
//
// Threads: one at a time. Nothing waits.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <vector>

#include "bootstrap/process/process_tree.h"
#include "comm/rendezvous/liveness/owner_messages.h"

namespace muster::store {

struct RunningProgram {
  int rank = 0;
  pid_t pid = 0;
};

class StoreUsers {
 public:
  // `programs`: those that this process has started and that still run.
  StoreUsers(uid_t uid, std::function<std::vector<RunningProgram>()> programs)
      : uid_(uid), programs_(std::move(programs)) {}

  // The owner of the connection, as far as this process can check: the sockets of its network namespace, the
  // processes below it.
  rendezvous::OwnerAnswer Look(const rendezvous::OwnerQuestion& question);
  // Whether a program of that rank has connected to the store.
  bool HaveCome(int rank) const { return uses_.contains(rank); }

 private:
  struct Use {
    uint32_t generation = 0;
    std::vector<process::ProcessIdentity> processes;  // of this generation; empty: no process has connected
                                                      // yet
  };
  uint32_t GenerationOf(int rank, pid_t pid, const std::vector<pid_t>& tree);

  const uid_t uid_;
  const std::function<std::vector<RunningProgram>()> programs_;
  std::map<int, Use> uses_;  // by rank
};

}  // namespace muster::store
