// The messages of a group's processes on the control plane, and their bytes (README.md draws the frames).
// Each message is one frame: its type in one byte, then its fields. Decodes bytes from outside: it is strict,
// and nothing is allocated before its length was checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/roster.h"

namespace muster::rendezvous {

enum class ControlType : uint8_t {
  kHello = 1,     // up: the processes and ranks that have arrived
  kAccepted,      // down: received; the accepting process, and the time that the root still waits
  kLater,         // down: these ranks' previous group is still running; wait here until this connection ends
  kRoster,        // down: the group is formed
  kFailure,       // up: a rank's finding; down: the group's first failure
  kFailureKnown,  // up: all processes below have the failure
  kAllKnow,       // down: every rank has the failure
  kKeyedAllGather,    // up: contributions of ranks
  kKeyedAllGathered,  // down: all contributions
  kLeave,             // up: these ranks are done
  kReleased,          // down: every rank is done; the control plane may end
  kRetired,           // down: the control plane ends here although not every rank is done
  kHeartbeat,         // both ways
  kAdopt,             // a program to its supervisor: claims this rank
  kAdopted,           // the supervisor's answer
  kSurvey,            // both ways: requests the ranks' state (survey_messages.h)
  kSurveyed,          // both ways: the ranks' state
  kLate,              // up: a rank below has waited long in an operation
  kGroupStatus,       // to `muster status`
  kOwnerAsked,        // up to the root, then down: requests the owner of a connection (owner_messages.h)
  kOwnerAnswered,     // the answer, back the same way
  kEnded,             // up: exit statuses of programs (exit_report.h)
  kJobEnd,            // down: when the job's time is over
  kVersions,          // both ways, inside a node: the protocol versions of the sender (versions.h)
  kToRoot,            // up: a rank's message to the root's service of maps (comm/map)
  kToRank,            // down: the answer
  kTolerate,          // down: a map runs or has ended; while it runs, the end of a rank is no failure
  kRanksLost,         // up: ranks that ended meanwhile
  kOrphanReport,      // up, past a lost process: exit statuses of programs (exit_report.h)
  kFailureDue,        // up: a rank has failed, and its Failure follows
};

// Of a peer that has proven itself: a roster of 100 000 ranks fits.
inline constexpr size_t kLongestMessage = size_t{256} << 20;

// The type of a frame; absent for an empty or unknown one.
std::optional<ControlType> ControlTypeOf(ByteView frame);

// Properties that all ranks of a group must have in common. Compared field by field, so that an error can
// name the difference.
struct Agreement {
  int world_size = 0;
  std::string launcher;
  int restart = 0;
  std::string job_key;
  std::string backend;
  std::string configuration;  // the group-wide keys as "key=value" lines

  friend bool operator==(const Agreement&, const Agreement&) = default;
};

struct RankClaim {
  int rank = 0;
  int local_rank = -1;  // -1: unknown
  int local_size = -1;  // -1: unknown
  Bytes payload;        // goes into the roster

  friend bool operator==(const RankClaim&, const RankClaim&) = default;
};

// One process and the ranks that it represents (usually one).
struct ProcessInfo {
  std::string node;
  int pid = 0;  // 0: it has ended, and a process that was connected to it reports that
  Agreement agreement;
  std::vector<RankClaim> claims;
  // The reason why it cannot be part of the group. It comes only so that no rank waits for it. Every rank
  // receives this reason, so the text names the process; the agreement does not count.
  std::optional<Error> refused = std::nullopt;
  // Random. The pids of two processes of a node may be equal, each in a container of its own.
  uint64_t id = 0;

  bool IsReportedLost() const { return pid == 0 && refused.has_value(); }

  friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

struct Hello {
  std::vector<std::string> addresses;  // of the sender's node, numeric, for the roster
  std::vector<ProcessInfo> members;

  friend bool operator==(const Hello&, const Hello&) = default;
};

// The answer to a Hello.
struct Acceptance {
  uint64_t remaining_milliseconds = 0;  // time for which the root still waits
  std::vector<int> ranks;               // of the process that sends this
  std::string node;                     // its own
  bool known_above = false;  // the root, another process, has accepted it: its end is noticed there

  friend bool operator==(const Acceptance&, const Acceptance&) = default;
};

// The reason for the end of a group, as every rank receives it.
struct Failure {
  Error error;
  int rank = -1;              // the rank at fault; -1: none in particular
  int exit_status = -1;       // exit status of its program, as a shell shows it; -1: not known
  std::string stderr_tail;    // the last lines of its program's stderr
  bool as_requested = false;  // it ended on request: the group must not start again
  uint64_t logged_in = 0;     // the root's log file with the report (LogFileNumber); 0: none is known

  friend bool operator==(const Failure&, const Failure&) = default;
};

// A rank has failed. Its failure follows within this time; one of another rank that comes meanwhile was later.
struct FailureDue {
  int rank = -1;
  uint64_t milliseconds = 0;

  friend bool operator==(const FailureDue&, const FailureDue&) = default;
};

// How long the job still lasts.
struct JobEnd {
  uint64_t milliseconds = 0;

  friend bool operator==(const JobEnd&, const JobEnd&) = default;
};

// These ranks are done.
struct RanksLeft {
  std::vector<int> ranks;

  friend bool operator==(const RanksLeft&, const RanksLeft&) = default;
};

// Begins the names of exchanges among supervisors. They need no rank that has ended with its supervisor while a map was at
// work.
inline constexpr std::string_view kAmongSupervisors = "supervisors/";

struct KeyedAllGather {
  std::string name;
  uint64_t timeout_milliseconds = 0;           // time for which these ranks wait for all, at most
  std::vector<std::pair<int, Bytes>> entries;  // rank, bytes

  friend bool operator==(const KeyedAllGather&, const KeyedAllGather&) = default;
};

struct FormedGroup {
  Roster roster;
  GroupKey key{};
  int root_rank = 0;  // the rank, or the first of the ranks, of the root process

  friend bool operator==(const FormedGroup&, const FormedGroup&) = default;
};

// A program is this rank.
struct AdoptionRequest {
  int rank = 0;

  friend bool operator==(const AdoptionRequest&, const AdoptionRequest&) = default;
};

// The data that a supervisor sends to the program that it started.
struct Adoption {
  FormedGroup group;
  int rank = 0;
  int incarnation = 0;        // number of earlier programs of this rank
  std::string configuration;  // the supervisor's effective configuration, as YAML
  std::string job_key;

  friend bool operator==(const Adoption&, const Adoption&) = default;
};

// A message between a service at the root and a rank; `content` is a view into the frame.
struct RankMessage {
  int rank = 0;
  ByteView content;

  friend bool operator==(const RankMessage& a, const RankMessage& b) {
    return a.rank == b.rank && std::ranges::equal(a.content, b.content);
  }
};

// Whether a map is at work.
struct Tolerance {
  bool on = false;

  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

struct RanksLost {
  std::vector<int> ranks;
  std::string why;       // empty: the program has left in order
  bool process = false;  // the group's own process, not only the program below it
  int exit_status = -1;  // as in Failure

  friend bool operator==(const RanksLost&, const RanksLost&) = default;
};

// A frame of a struct, and back. Error: kInternal "malformed ...".
template <typename M>
Bytes Encode(const M& message);
template <typename M>
Result<M> Decode(ByteView frame);

// A KeyedAllGather and a RankMessage have a type for each way.
template <typename M>
Bytes Encode(const M& message, ControlType type);

Bytes EncodeBare(ControlType type);  // for those without fields

// Time in messages: the rest of a deadline, and a duration from any such value.
uint64_t MillisecondsLeft(Deadline deadline);
Duration FromMilliseconds(uint64_t milliseconds);

}  // namespace muster::rendezvous
