// The control plane's messages about what the ranks are doing (ControlType kSurvey to kGroupStatus). As
// messages.h: strict, and nothing is allocated before its length was checked.
//
//   down  Survey: report what you and those below you do       up  Surveyed: their reports
//   up    Survey: ask everybody                                down  Surveyed: everybody's reports
//   up    Late: somebody below has waited long in an operation
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
  kSilent = 0,  // nobody could say: its process does not answer
  kInGroup,     // a process of the group; `operations` says what it does
  kProgram,     // a program under `muster run` that is not, or not yet, in the group itself
  kEnded,       // such a program, which has ended
  kLeft,        // it has left
  kOwnGroup,    // as kProgram; it has used the store, where PyTorch forms a group of its own
};

// What the kernel says about a rank's process.
struct ProcessState {
  int pid = 0;                    // as its node sees it; 0: not known
  char state = '?';               // R running, S sleeping, D in the kernel, T stopped, Z ended
  uint64_t milliseconds = 0;      // since its start
  uint64_t cpu_milliseconds = 0;  // of all its threads
  std::string where;  // the kernel function that its main thread sleeps in; empty: none, or hidden

  friend bool operator==(const ProcessState&, const ProcessState&) = default;
};

struct RankReport {
  int rank = 0;
  RankState state = RankState::kSilent;
  int exit_status = -1;  // kEnded: as a shell sees it
  ProcessState process;
  std::vector<OperationState> operations;
  std::string stack;  // where it was asked for: text of several lines, also why there is none

  friend bool operator==(const RankReport&, const RankReport&) = default;
};

struct Survey {
  uint64_t number = 0;        // the asker's own
  uint64_t milliseconds = 0;  // how long it will wait
  std::vector<int> stacks;    // ranks whose stack is wanted

  friend bool operator==(const Survey&, const Survey&) = default;
};

struct Surveyed {
  uint64_t number = 0;
  bool complete = true;  // false: the root did not answer, so only those near by were asked
  std::vector<RankReport> reports;
  std::vector<map::MapState> maps = {};  // from the root

  friend bool operator==(const Surveyed&, const Surveyed&) = default;
};

struct GroupStatus {
  std::string job;       // "slurm:4.0:0"
  std::string group_id;  // empty while it forms
  std::string forming;   // what it waits for; empty once it is formed
  std::string failure;   // the group's failure
  bool complete = true;
  int root_rank = 0;
  int answering_rank = 0;  // of the process that was asked: its node is the asker's
  std::vector<std::string> nodes;
  std::vector<int> node_of_rank;
  std::vector<RankReport> reports;  // by rank
  std::vector<map::MapState> maps = {};

  friend bool operator==(const GroupStatus&, const GroupStatus&) = default;
};

Bytes Encode(const Survey& survey);
Bytes Encode(const Surveyed& surveyed);
Bytes Encode(const GroupStatus& status);

// Error: kInternal "malformed ...".
Result<Survey> DecodeSurvey(ByteView frame);
Result<Surveyed> DecodeSurveyed(ByteView frame);
Result<GroupStatus> DecodeGroupStatus(ByteView frame);

}  // namespace muster::rendezvous
