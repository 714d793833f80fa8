// Detects another run at work on a journal.
//
// A lock shows it if the file system has locks that reach all nodes. Otherwise a run of this node is found by
// its process. A run of another node is found by its segment, which a writer changes every second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/map/journal/directory.h"
#include "comm/map/journal/record.h"

namespace muster::map {

struct JournalLock {
  enum class State {
    kMine,
    kTaken,
    kUnknown,  // the file system has no locks
  };
  State state = State::kUnknown;
  bool reaches_all_nodes = false;  // it is known that a lock excludes processes of other nodes
  UniqueFd file;                   // holds the lock

  // Also if a forked child has the descriptor still.
  void Release();
};
// BLOCKS for the file system only.
JournalLock LockJournal(const JournalDirectory& directory);

// When the process started, in ticks since its node booted; 0: there is none, or /proc hides it.
uint64_t StartOf(int pid);

// BLOCKS, for `silence` at most: a segment that does not change for that time is of a run that has ended.
// `newest`: the number of the last segment; 0: none. `node`: this one. The answer: a note for the log, if the
// earlier run had not closed its segment. Error: kUsage: a run is at work, by node, pid and job; kSystem.
inline constexpr Duration kSilence = std::chrono::seconds(5);
Result<std::optional<std::string>> ClaimJournal(const JournalDirectory& directory, const JournalLock& lock,
                                                uint32_t newest, const std::string& node,
                                                Duration silence = kSilence);

// "process 4711 on gpu01, slurm:12.0:0"
std::string NameOf(const JournalOwner& owner);

}  // namespace muster::map
