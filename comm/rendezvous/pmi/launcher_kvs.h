// A key-value store for the processes of one launch, kept by the launcher (PMI, PMIx). One for each process,
// as long as it is in its group: after a first message, mpirun takes an exit without a final message for an
// abort.
//
// Threads: any, one call at a time; calls wait for each other. Every call BLOCKS until its deadline at most.
// The destructor sends the launcher the final message and BLOCKS for kKvsLeaveTime at most.
//
// Errors: kConfiguration if a retry is useless; after any other error a retry may succeed.
#pragma once

#include <optional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::rendezvous {

inline constexpr Duration kKvsLeaveTime = std::chrono::seconds(2);

class LauncherKvs {
 public:
  LauncherKvs() = default;
  LauncherKvs(const LauncherKvs&) = delete;
  LauncherKvs& operator=(const LauncherKvs&) = delete;
  virtual ~LauncherKvs() = default;

  // Stores `text` under `name`, or replaces what is there. Printable, without blanks, '=' and ';'.
  virtual Status Publish(const std::string& name, const std::string& text, Deadline deadline) = 0;
  // Absent if there is no entry.
  virtual Result<std::optional<std::string>> LookUp(const std::string& name, Deadline deadline) = 0;
  // From now on a program of this rank may use the launcher's connection: BLOCKS until no call is under way,
  // for kKvsLeaveTime at most; calls fail until Wake.
  virtual void Rest() {}
  virtual void Wake() {}
  // Sends the launcher the final message of this process. BLOCKS for kKvsLeaveTime at most, even if a call is
  // under way. Once; every later call fails. The destructor does the same, but the last owner may be a thread
  // that the end of the process stops.
  virtual void Leave() = 0;
  // For messages: "the PMI server of mpiexec".
  virtual std::string Describe() const = 0;
};

}  // namespace muster::rendezvous
