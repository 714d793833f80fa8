#include "bootstrap/process/orphans.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "bootstrap/process/proc_file.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::process {
namespace {

bool HasVariable(std::string_view environment, std::string_view variable) {
  const auto variables = Split(environment, '\0');
  return std::ranges::find(variables, variable) != variables.end();
}

}  // namespace

void KillProcessesOfRank(const std::string& group_id, int rank) {
  const std::string group = "MUSTER_GROUP=" + group_id;
  const std::string of_rank = fmt::format("MUSTER_RANK={}", rank);
  for (const pid_t pid : NumbersIn("/proc")) {
    if (pid == getpid()) continue;
    const auto environment = ReadProcFile(fmt::format("/proc/{}/environ", pid));
    if (!environment || !HasVariable(*environment, group) || !HasVariable(*environment, of_rank)) continue;
    LogEvent(LogLevel::kDebug, "orphan", {{"rank", rank}, {"pid", pid}},
             "killing pid {}, which rank {} left behind", pid, rank);
    kill(pid, SIGKILL);
  }
}

}  // namespace muster::process
