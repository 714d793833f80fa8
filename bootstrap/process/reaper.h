// The one reaper of this process's children: every wait for a child goes through this file or through
// descendants.h, which uses it.
//
// A supervisor adopts and reaps orphans of any origin. Beside it, also in other threads, it starts children
// whose status it needs: the programs of ranks, muster-slurm, tools that read stacks. Each of those is a
// ClaimedChild: ReapUnclaimed leaves it alone. So its status is its own, and its process number cannot come
// to mean another process while it may still be signalled.
//
// A process that becomes muster by execve(2) keeps its children: those are reaped as well, but never killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::process {

// How a program ended.
struct ChildExit {
  int code = 0;    // meaningful if signal is 0
  int signal = 0;  // 0: it exited by itself

  bool ok() const { return code == 0 && signal == 0; }
  int ShellStatus() const { return signal == 0 ? code : 128 + signal; }
  std::string Describe() const;  // "exit 3", "signal 9 (Killed)"

  friend bool operator==(const ChildExit&, const ChildExit&) = default;
};

// A child of this process. Threads: one at a time.
class ClaimedChild {
 public:
  ClaimedChild() = default;  // none
  // `start` starts one child and returns its process number, or a negative number: then there is none. It may
  // wait for a child that it starts on the way.
  static ClaimedChild Start(const std::function<pid_t()>& start);
  ClaimedChild(ClaimedChild&& other) noexcept;
  ClaimedChild& operator=(ClaimedChild&& other) noexcept;
  ClaimedChild(const ClaimedChild&) = delete;
  ClaimedChild& operator=(const ClaimedChild&) = delete;
  // Reaps it if it has ended; else ReapUnclaimed does, later.
  ~ClaimedChild();

  explicit operator bool() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Absent while it runs. It stays a zombie until Reap.
  std::optional<ChildExit> Exited() const;
  // SIGTTIN or SIGTTOU: stopped by it, because it used the terminal and is not in its foreground group.
  std::optional<int> WaitsForTerminal() const;
  // BLOCKS until it has ended, at most until the deadline: then false.
  bool AwaitExit(Deadline deadline) const;
  // To it, or to the process group that it leads. No process left is no error. Error: kSystem.
  Status Signal(int number, bool group) const;
  // SIGKILL has not ended it: from now on it is spared (Spare), also without its claim.
  void LeaveBehind() const;
  // Forgets it, once Exited has a value: from now on there is none.
  void Reap();

 private:
  explicit ClaimedChild(pid_t pid) : pid_(pid) {}
  void GiveUp();

  pid_t pid_ = -1;
};

// Reaps those of these children that have ended and are unclaimed. While a child is being started, which is
// not claimed yet, none. Does not block.
void ReapUnclaimed(std::span<const pid_t> children);

// Takes those out that are claimed.
void DropClaims(std::vector<pid_t>& children);

// From now on these are spared until they are reaped, except claimed ones. Replaces earlier ones.
void Spare(std::span<const pid_t> children);

// Takes those out that are not to be killed: spared ones, and claimed ones that have ended, which are the
// claimant's business.
void DropSpared(std::vector<pid_t>& children);

// Kills those of these that are still children of this process, and not spared. Takes those out that may not be killed.
// Error, when all others are killed: kSystem, names one of those.
Status KillChildren(std::vector<pid_t>& children);

}  // namespace muster::process
