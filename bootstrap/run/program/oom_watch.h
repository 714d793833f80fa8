// Whether the kernel killed a process for lack of memory while a program ran. A killed program reports
// nothing itself, and SIGKILL alone may come from any sender.
//
// The sources that a user may read: the counters of this process's own memory control group, which under
// Slurm is that of the task or the step (cgroup v2 memory.events, v1 memory.oom_control); if there is none,
// the whole node's in /proc/vmstat. The kernel's log has more, but is closed to users on most machines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "comm/rendezvous/messages/exit_report.h"

namespace muster::run {

class OomWatch {
 public:
  // Begins to watch. `proc` and `cgroups` are for tests.
  explicit OomWatch(std::filesystem::path proc = "/proc", std::filesystem::path cgroups = "/sys/fs/cgroup");

  // Events since then. Reads a few small files.
  rendezvous::OutOfMemory Look() const;

 private:
  std::optional<uint64_t> CountOwn() const;
  std::optional<uint64_t> CountNode() const;

  std::filesystem::path proc_;
  std::filesystem::path cgroups_;
  std::optional<uint64_t> own_;
  std::optional<uint64_t> node_;
};

}  // namespace muster::run
