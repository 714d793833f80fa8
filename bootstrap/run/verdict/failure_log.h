// Which processes log the failure of their group, and in which words. Pure: from the place of this process in the
// group and the failure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/rendezvous/messages/messages.h"

namespace muster::run {

// Of this process in its group.
struct RunPlace {
  rendezvous::FormedGroup group;
  std::vector<int> own_ranks = {0};
  bool is_root = false;

  std::string Describe(int rank) const { return DescribeRank(group.roster, rank); }
};

enum class FailureLog : uint8_t {
  kSilent,
  kApart,  // in a log file of its own: why it ends, and that the root logs more
  kFull,
};

// Each rank may have a log file or a terminal of its own (srun -o out-%t, muster launch on each machine): it logs there
// in one line why it ends. A pipe may be the root's as well. `own_log`: LogFileNumber.
bool LogsApart(const rendezvous::Failure& failure, uint64_t own_log);

// How this process logs the group's failure, and the line. `received`: another process sent it, and logs it.
FailureLog LogOf(const RunPlace& place, const rendezvous::Failure& failure, bool received, uint64_t own_log);
std::string FailureLine(const RunPlace& place, const rendezvous::Failure& failure, FailureLog log);

// The lost supervisor whose program's children are for this process to end: the first remaining one of its
// node ends them.
std::optional<pid_t> LostSupervisor(const RunPlace& place, const rendezvous::Failure& failure, pid_t self);

}  // namespace muster::run
