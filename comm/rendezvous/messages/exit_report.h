// The exit statuses of a group's programs, from their supervisors, on the way up to the root: for the summary
// and the report of `muster run`. The messages Ended and OrphanReport of README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

// Why a program ended when it did.
enum class EndCause : uint8_t {
  kItself,      // it exited or crashed
  kTerminated,  // it received SIGTERM because the group had failed
  kKilled,      // SIGTERM was not enough: SIGKILL after run.grace
  kNotStarted,  // it never ran
};

// The kernel's counters of memory that ran out meanwhile.
enum class OutOfMemory : uint8_t {
  kNo,    // nothing, or nothing is known
  kNode,  // it killed a process on this node for it
  kOwn,   // it killed a process of this rank's own control group for it
};

struct RankEnd {
  int rank = 0;
  EndCause cause = EndCause::kItself;
  OutOfMemory out_of_memory = OutOfMemory::kNo;
  int exit_code = 0;   // valid if signal is 0
  int signal = 0;      // 0: it exited by itself
  Duration resolve{};  // from the command's start to knowing the rank
  Duration join{};     // from there to the formed group
  Duration run{};      // from there to the program's end

  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

struct ExitReport {
  std::vector<RankEnd> ends;
  bool last = false;  // the sender and all processes below it have sent their last report

  friend bool operator==(const ExitReport&, const ExitReport&) = default;
};

// From a leader that has lost the process above to one further up, on a connection of its own.
struct OrphanReport {
  std::string group_id;
  std::vector<RankEnd> ends;  // of its ranks and of all below

  friend bool operator==(const OrphanReport&, const OrphanReport&) = default;
};

}  // namespace muster::rendezvous
