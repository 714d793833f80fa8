// What the processes of a group say to each other on the control plane, and its bytes (README.md draws
// the frames). Each message is one frame: its type in one byte, then its fields. Decoding takes bytes from
// outside: it is strict, and nothing is allocated before its length was checked.
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
  kHello = 1,      // up: who is here
  kAccepted,       // down: heard; by whom, and how long the root still waits
  kLater,          // down: these ranks' previous group is still running; wait here until this connection ends
  kRoster,         // down: the group is formed
  kFailure,        // up: what a rank found; down: the group's first failure
  kFailureKnown,   // up: everybody below knows the failure
  kEveryoneKnows,  // down: every rank knows the failure
  kKeyedAllGather,    // up: contributions of ranks
  kKeyedAllGathered,  // down: everybody's
  kLeave,             // up: these ranks are done
  kReleased,          // down: every rank is done; the control plane may end
  kRetired,           // down: the control plane ends here although not every rank is done
  kHeartbeat,         // both ways
  kAdopt,             // a program to its supervisor: may I be this rank?
  kAdopted,           // the supervisor's answer
  kSurvey,            // both ways: what are the ranks doing? (survey_messages.h)
  kSurveyed,          // both ways: what they are doing
  kLate,              // up: somebody below has waited long in an operation
  kGroupStatus,       // to `muster status`
  kOwnerAsked,        // up to the root, then down: whose is this connection? (owner_messages.h)
  kOwnerTold,         // the answer, back the same way
  kEnded,             // up: how programs ended (exit_report.h)
  kJobEnd,            // down: when the job's time is over
  kVersions,          // both ways, inside a node: the protocol versions of the sender (versions.h)
  kToRoot,            // up: a rank's message to the root's service of maps (comm/map)
  kToRank,            // down: the answer
  kTolerate,          // down: whether a map is at work, so that the end of a rank is no failure
  kRanksLost,         // up: ranks that ended meanwhile
};

// Of a peer that has proven itself: a roster of 100 000 ranks fits.
inline constexpr size_t kLongestMessage = size_t{256} << 20;

// The type of a frame; absent for an empty or unknown one.
std::optional<ControlType> ControlTypeOf(ByteView frame);

// What all ranks of a group must have in common. Compared field by field, so that an error can name what
// differs.
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

// One process and the ranks it stands for (usually one).
struct ProcessInfo {
  std::string node;
  int pid = 0;  // 0: it has ended, and a process that was connected to it reports that
  Agreement agreement;
  std::vector<RankClaim> claims;
  // Why it cannot be part of the group: it only comes so that nobody waits for it. What every rank is told,
  // so it names this one; the agreement does not count.
  std::optional<Error> refused = std::nullopt;

  friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

struct Hello {
  std::vector<std::string> addresses;  // of the sender's node, numeric, for the roster
  std::vector<ProcessInfo> members;

  friend bool operator==(const Hello&, const Hello&) = default;
};

// The answer to a Hello.
struct Acceptance {
  uint64_t remaining_milliseconds = 0;  // how long the root still waits
  std::vector<int> ranks;               // of the process that sends this
  std::string node;                     // its own
  bool known_above = false;  // the root, another process, has accepted it: its end is noticed there

  friend bool operator==(const Acceptance&, const Acceptance&) = default;
};

// Why a group ended, as every rank is told.
struct Failure {
  Error error;
  int rank = -1;            // whose fault; -1: nobody's in particular
  int exit_status = -1;     // what its program ended with, as a shell sees it; -1: not known
  std::string stderr_tail;  // the last lines of its program's stderr
  bool as_told = false;     // somebody told it to end: the group is not to start again
  uint64_t told_in = 0;     // the file where the root tells it (LogFileNumber); 0: none is known

  friend bool operator==(const Failure&, const Failure&) = default;
};

struct KeyedAllGather {
  std::string name;
  uint64_t timeout_milliseconds = 0;           // how long its first contributor waits for all
  std::vector<std::pair<int, Bytes>> entries;  // rank, bytes

  friend bool operator==(const KeyedAllGather&, const KeyedAllGather&) = default;
};

struct FormedGroup {
  Roster roster;
  GroupKey key{};
  int root_rank = 0;  // the rank, or the first of the ranks, whose process is the root

  friend bool operator==(const FormedGroup&, const FormedGroup&) = default;
};

// What a supervisor tells the program that it started.
struct Adoption {
  FormedGroup group;
  int rank = 0;
  int incarnation = 0;        // how many programs of this rank came before
  std::string configuration;  // the supervisor's effective configuration, as YAML
  std::string job_key;

  friend bool operator==(const Adoption&, const Adoption&) = default;
};

// What a service at the root and a rank say to each other; `content` is a view into the frame.
struct RankMessage {
  int rank = 0;
  ByteView content;

  friend bool operator==(const RankMessage& a, const RankMessage& b) {
    return a.rank == b.rank && std::ranges::equal(a.content, b.content);
  }
};

struct RanksLost {
  std::vector<int> ranks;
  std::string why;       // empty: the program has left in order
  bool process = false;  // the group's own process, not only the program below it
  int exit_status = -1;  // as in Failure

  friend bool operator==(const RanksLost&, const RanksLost&) = default;
};

Bytes Encode(const Hello& hello);
Bytes Encode(const FormedGroup& group);
Bytes Encode(const Failure& failure);
Bytes Encode(const KeyedAllGather& exchange, ControlType type);  // kKeyedAllGather or kKeyedAllGathered
Bytes Encode(const Acceptance& acceptance);
Bytes EncodeJobEnd(uint64_t remaining_milliseconds);
Bytes EncodeLeave(const std::vector<int>& ranks);
Bytes EncodeAdopt(int rank);
Bytes Encode(const Adoption& adoption);
Bytes Encode(const RankMessage& message, ControlType type);  // kToRoot or kToRank
Bytes EncodeTolerate(bool on);
Bytes Encode(const RanksLost& lost);
Bytes EncodeBare(ControlType type);  // for those without fields

// How time travels: what is left of a deadline, and that again as a duration, however much it is.
uint64_t MillisecondsLeft(Deadline deadline);
Duration FromMilliseconds(uint64_t milliseconds);

// Each takes a whole frame of its type. Error: kInternal "malformed ...".
Result<Hello> DecodeHello(ByteView frame);
Result<FormedGroup> DecodeRoster(ByteView frame);
Result<Failure> DecodeFailure(ByteView frame);
Result<KeyedAllGather> DecodeKeyedAllGather(ByteView frame);
Result<Acceptance> DecodeAccepted(ByteView frame);
Result<uint64_t> DecodeJobEnd(ByteView frame);
Result<std::vector<int>> DecodeLeave(ByteView frame);
Result<int> DecodeAdopt(ByteView frame);
Result<Adoption> DecodeAdopted(ByteView frame);
Result<RankMessage> DecodeRankMessage(ByteView frame);
Result<bool> DecodeTolerate(ByteView frame);
Result<RanksLost> DecodeRanksLost(ByteView frame);

}  // namespace muster::rendezvous
