// Where the processes of one launch can leave each other word, kept by the launcher (PMI, PMIx). One for each
// process, for as long as it belongs to its group: an mpirun that has been spoken to wants to hear of the
// end, or takes it for an accident.
//
// Threads: any, one call at a time; calls wait for each other. Every call BLOCKS until its deadline at most.
// The destructor tells the launcher that this process is done and BLOCKS for kKvsLeaveTime at most.
//
// Errors: kConfiguration where trying again is of no use; anything else may be different the next time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

  // Puts `text` up under `name`, or replaces what is there. Printable, without blanks, '=' and ';'.
  virtual Status Publish(const std::string& name, const std::string& text, Deadline deadline) = 0;
  // Absent where nothing is there yet.
  virtual Result<std::optional<std::string>> LookUp(const std::string& name, Deadline deadline) = 0;
  // What is said to the launcher from now on may be said by a program of this rank: BLOCKS until no call is
  // out, for kKvsLeaveTime at most; calls fail until Wake.
  virtual void Rest() {}
  virtual void Wake() {}
  // Tells the launcher that this process is done with it. BLOCKS for kKvsLeaveTime at most, also where a
  // call is still out. Once; afterwards every call fails. The destructor does it as well, but who waits for
  // the last owner may wait for a thread that the end of the process cuts short.
  virtual void Leave() = 0;
  // For messages: "the PMI server of mpiexec".
  virtual std::string Describe() const = 0;
};

}  // namespace muster::rendezvous
