// The processes above this one, from /proc. Reads only; a process that is not visible (hidepid, another PID
// namespace) ends the walk, and then there is less evidence.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The processes above this one, parent first; at most 64. Each is looked up when it is asked for: a Slurm task
// needs its parent alone.
class Ancestry {
 public:
  // Absent: there is none, or none that is visible.
  std::optional<pid_t> At(size_t distance);
  bool Has(pid_t pid);

 private:
  std::vector<pid_t> known_;
};

// "13.0" "13.batch" "13.interactive" "13.extern": of the nearest slurmstepd among them; empty: none seen. Slurmstepd names
// itself "slurmstepd: [JOB.STEP]", "[JOB.STEP+COMPONENT]" in `srun A : B`, and "[JOB.extern stepmgr]".
std::string NearestSlurmStep(Ancestry& ancestry);
std::string SlurmStepOfCommandLine(std::string_view command_line);
// "0::/system.slice/slurmstepd.scope/job_13/step_batch/user/task_0": by Slurm's cgroup plugins, v1 and v2. "?.batch" if
// the path does not show the job.
std::string SlurmStepOfCgroup(std::string_view cgroup);

// The environment a process was started with, NUL-separated.
std::optional<std::string> StartEnvironment(pid_t pid);

// All bytes of a file, also of one that states no size; absent if it cannot be read or is longer than
// `limit`.
std::optional<std::string> ReadAll(const std::string& path, size_t limit);

}  // namespace muster
