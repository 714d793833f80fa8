// The control plane's messages about the state of the ranks (ControlType kSurvey to kGroupStatus). As
// messages.h: strict, and nothing is allocated before its length was checked.
//
//   down  Survey: report your state and that of all below      up  Surveyed: their reports
//   up    Survey: request all reports                          down  Surveyed: all reports
//   up    Late: a rank below has waited long in an operation
//   `muster status` to a leader: Survey                        its answer: GroupStatus
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/group/activity.h"
#include "comm/map/state.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

// Before this protocol version Surveyed and GroupStatus had no maps; without a map they still have that layout.
inline constexpr uint16_t kVersionWithMaps = 3;

enum class RankState : uint8_t {
  kSilent = 0,  // no report: its process does not answer
  kInGroup,     // a process of the group; `operations` has its state
  kProgram,     // a program under `muster run` that is not (or not yet) in the group itself
  kEnded,       // such a program, which has ended
  kLeft,        // it has left
  kOwnGroup,    // as kProgram; it has used the store, with which PyTorch forms its own group
};

// The kernel's data about a rank's process.
struct ProcessState {
  int pid = 0;                    // in its node's PID namespace; 0: not known
  char state = '?';               // R running, S sleeping, D in the kernel, T stopped, Z ended
  uint64_t milliseconds = 0;      // since its start
  uint64_t cpu_milliseconds = 0;  // of all its threads
  std::string where;  // the kernel function that its main thread sleeps in; empty: none, or hidden

  friend bool operator==(const ProcessState&, const ProcessState&) = default;
};

struct RankReport {
  int rank = 0;
  RankState state = RankState::kSilent;
  int exit_status = -1;  // kEnded: as a shell shows it
  ProcessState process;
  std::vector<OperationState> operations;
  std::string stack;  // if requested: text of several lines, or the reason why there is none

  friend bool operator==(const RankReport&, const RankReport&) = default;
};

// The usual Survey::milliseconds.
inline constexpr uint64_t kSurveyMilliseconds = 2000;

struct Survey {
  uint64_t number = 0;        // the asker's own
  uint64_t milliseconds = 0;  // time for which it will wait
  std::vector<int> stacks;    // ranks whose stack is requested

  friend bool operator==(const Survey&, const Survey&) = default;
};

struct Surveyed {
  uint64_t number = 0;
  bool complete = true;  // false: the root did not answer, so only the nearest processes reported
  std::vector<RankReport> reports;
  std::vector<map::MapState> maps = {};  // from the root

  friend bool operator==(const Surveyed&, const Surveyed&) = default;
};

struct GroupStatus {
  std::string job;       // "slurm:4.0:0"
  std::string group_id;  // empty while it forms
  std::string forming;   // the ranks for which it waits; empty once it is formed
  std::string failure;   // the group's failure
  bool complete = true;
  int root_rank = 0;
  int answering_rank = 0;  // of the process that answered: its node is the client's
  std::vector<std::string> nodes;
  std::vector<int> node_of_rank;
  std::vector<RankReport> reports;  // by rank
  std::vector<map::MapState> maps = {};

  friend bool operator==(const GroupStatus&, const GroupStatus&) = default;
};

}  // namespace muster::rendezvous
