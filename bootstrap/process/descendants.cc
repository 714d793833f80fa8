#include "bootstrap/process/descendants.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "bootstrap/process/reaper.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/system/proc_file.h"
#include "comm/system/process_end.h"

namespace muster::process {
namespace {

// There is no event for the end of an execve.
constexpr int kLookAgainMilliseconds = 1;
// A process that the kernel holds does not keep those alive that others leave behind.
constexpr Duration kOneEndsWithin = std::chrono::milliseconds(50);

// The usual case, and a search of /proc costs ten times as much.
bool HasNoChild() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

bool HasVariable(std::string_view environment, std::string_view variable) {
  const auto variables = Split(environment, '\0');
  return std::ranges::find(variables, variable) != variables.end();
}

enum class Orphan : uint8_t { kWithVariable, kOther, kUnknown };

// A process has neither an environment nor arguments between two programs (execve) and while it ends; of one that
// ends newer kernels do not even open the files.
Orphan Classify(pid_t pid, std::string_view variable) {
  const auto environment = ReadProcFile(fmt::format("/proc/{}/environ", pid));
  if (environment && !environment->empty())
    return HasVariable(*environment, variable) ? Orphan::kWithVariable : Orphan::kOther;
  const auto file = environment ? "cmdline" : "stat";
  const auto text = ReadProcFile(fmt::format("/proc/{}/{}", pid, file));
  if (!text) return Orphan::kUnknown;
  const bool between = environment ? text->empty() : IsStatOfExiting(*text);
  return between ? Orphan::kUnknown : Orphan::kOther;
}

}  // namespace

Status BecomeSubreaper() {
  // Without /proc they are unknown, and no child is killed.
  const auto before = HasNoChild() ? Result<std::vector<pid_t>>() : ChildProcesses();
  if (before) Spare(*before);
  // Linux has it since 3.4, qemu's user emulation does not: there orphans go to init.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 || errno == EINVAL) return {};
  return Fail(Code::kSystem, "cannot adopt orphaned processes: {}", ErrnoText(errno));
}

Result<std::vector<pid_t>> ChildProcesses() {
  if (auto children = ChildrenOf("self")) return *std::move(children);
  if (!NumbersIn("/proc/self/task").empty()) return ChildProcessesByScan();
  return Fail(Code::kSystem, "cannot read /proc/self/task: is /proc mounted?");
}

std::vector<pid_t> ChildProcessesByScan() {
  std::vector<pid_t> children = NumbersIn("/proc");
  std::erase_if(children, [](pid_t pid) { return ParentOf(pid) != getpid(); });
  return children;
}

void ReapOrphans() {
  if (const auto children = ChildProcesses()) ReapUnclaimed(*children);
}

bool HaveOrphans() {
  if (HasNoChild()) return false;
  ReapOrphans();
  auto children = ChildProcesses();
  if (!children) return false;
  DropClaims(*children);
  DropSpared(*children);
  return !children->empty();
}

Status KillDescendants(Deadline deadline) {
  for (bool tried = false;; tried = true) {
    if (HasNoChild()) return {};
    // Direct children only. Their own children become ours when they have ended.
    MUSTER_TRY(std::vector<pid_t> children, ChildProcesses());
    DropSpared(children);
    if (children.empty()) return {};
    if (tried && deadline.Expired()) {
      return Fail(Code::kDeadline, "process {} ({}) still runs after SIGKILL", children.front(),
                  ProcessName(children.front()));
    }
    Status killed = KillChildren(children);
    if (children.empty()) return killed;
    ProcessEnd::Of(children.front()).Await(deadline.EarlierOf(Deadline::After(kOneEndsWithin)));
    ReapUnclaimed(children);
  }
}

Status KillOrphansWith(const std::string& variable, Deadline deadline) {
  std::vector<pid_t> others;
  for (bool tried = false;; tried = true) {
    if (HasNoChild()) return {};
    MUSTER_TRY(std::vector<pid_t> children, ChildProcesses());
    DropClaims(children);
    ReapUnclaimed(children);
    DropSpared(children);
    bool unknown = false;
    std::vector<pid_t> orphans;
    for (const pid_t pid : children) {
      const Orphan orphan = Classify(pid, variable);
      unknown = unknown || orphan == Orphan::kUnknown;
      if (orphan == Orphan::kWithVariable) orphans.push_back(pid);
    }
    if (orphans.empty()) {
      // The kernel's list may lack a child while others end: two lists must be the same.
      const bool settled = tried && !unknown && children == others;
      if (settled || deadline.Expired()) return {};
      others = std::move(children);
      if (unknown) poll(nullptr, 0, kLookAgainMilliseconds);
      continue;
    }
    if (tried && deadline.Expired()) {
      return Fail(Code::kDeadline, "process {} ({}) still runs after SIGKILL", orphans.front(),
                  ProcessName(orphans.front()));
    }
    Status killed = KillChildren(orphans);
    if (orphans.empty()) return killed;
    ProcessEnd::Of(orphans.front()).Await(deadline.EarlierOf(Deadline::After(kOneEndsWithin)));
  }
}

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
