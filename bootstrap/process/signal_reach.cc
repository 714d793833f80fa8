#include "bootstrap/process/signal_reach.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster::process {
namespace {

bool IsSlurmstepd(pid_t pid) { return ProcessName(pid) == "slurmstepd"; }

// It is there, and hidepid= of /proc hides its name.
bool IsHidden(pid_t pid) { return ProcessName(pid) == "?" && kill(pid, 0) != 0 && errno == EPERM; }

}  // namespace

std::string TrackingGroup(std::string_view proc_cgroup) {
  std::string group;
  for (const std::string_view line : Split(proc_cgroup, '\n')) {
    // "7:freezer:/slurm/uid_0/job_1/step_0" or "0::/system.slice/...".
    const auto fields = Split(line, ':');
    if (fields.size() < 3) continue;
    const bool unified = fields[0] == "0" && fields[1].empty();
    if (!unified && fields[1] != "freezer") continue;
    group += line;
    group += '\n';
  }
  return group;
}

bool IsOutsideSteps(std::string_view tracking_group) {
  const std::vector<std::string_view> lines = Split(tracking_group, '\n');
  const bool has_group = std::ranges::any_of(
      lines, [](std::string_view line) { return !line.empty() && !line.ends_with(":/"); });
  return has_group && tracking_group.find("/step_") == std::string_view::npos;
}

bool FromScheduler(const SignalEvent& event) {
  if (event.from_kernel) return false;
  if (event.sender <= 0 || IsSlurmstepd(event.sender)) return true;
  // Not `sudo kill`, which has ended, and not sudo, which has a name.
  return event.uid != getuid() && IsHidden(event.sender);
}

bool ReachedProgram(const SignalEvent& event, bool own_process_group, bool is_task) {
  if (event.from_kernel) return !own_process_group && !(event.number == SIGHUP && getsid(0) == getpid());
  if (event.sender <= 0) return false;
  const auto mine = ReadProcFile("/proc/self/cgroup");
  // The parent of a task is slurmstepd. Its group is hidden as well; that of a step has the step's name.
  if (is_task && event.sender == getppid() && IsHidden(event.sender))
    return mine && IsOutsideSteps(TrackingGroup(*mine));
  if (!IsSlurmstepd(event.sender)) return false;
  const auto senders = ReadProcFile(fmt::format("/proc/{}/cgroup", event.sender));
  return mine && senders && TrackingGroup(*mine) == TrackingGroup(*senders);
}

}  // namespace muster::process
