#include "bootstrap/process/descendants.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/process/proc_file.h"
#include "bootstrap/process/reaper.h"
#include "comm/base/parse.h"
#include "comm/base/process_end.h"

namespace muster::process {
namespace {

// The entries of a directory of /proc whose names are numbers.
std::vector<pid_t> Numbers(const char* directory) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory), closedir);
  if (!entries) return numbers;
  while (const dirent* entry = readdir(entries.get())) {
    if (const auto number = ParseInteger<pid_t>(entry->d_name)) numbers.push_back(*number);
  }
  return numbers;
}

// /proc/PID/stat: "PID (NAME) STATE PPID ..."; the name may hold anything, also parentheses.
std::optional<pid_t> ParentIn(std::string_view stat) {
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  const auto fields = Split(stat.substr(name_end + 2), ' ');
  return fields.size() < 2 ? std::nullopt : ParseInteger<pid_t>(fields[1]);
}

// Most often so, and a look into /proc costs ten times as much.
bool HasNoChild() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

}  // namespace

Status BecomeSubreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return {};
  return Fail(Code::kSystem, "cannot adopt orphaned processes: {}", ErrnoText(errno));
}

Result<std::vector<pid_t>> ChildProcesses() {
  const std::vector<pid_t> threads = Numbers("/proc/self/task");
  if (threads.empty()) return Fail(Code::kSystem, "cannot read /proc/self/task: is /proc mounted?");
  std::vector<pid_t> children;
  bool known = false;
  for (const pid_t thread : threads) {
    const auto list = ReadProcFile(fmt::format("/proc/self/task/{}/children", thread));
    if (!list) continue;
    known = true;
    for (const std::string_view word : Split(Trim(*list), ' ')) {
      if (const auto pid = ParseInteger<pid_t>(word)) children.push_back(*pid);
    }
  }
  return known ? children : ChildProcessesByScan();
}

std::vector<pid_t> ChildProcessesByScan() {
  std::vector<pid_t> children;
  for (const pid_t pid : Numbers("/proc")) {
    const auto stat = ReadProcFile(fmt::format("/proc/{}/stat", pid));
    if (stat && ParentIn(*stat) == getpid()) children.push_back(pid);
  }
  return children;
}

void ReapOrphans() {
  if (const auto children = ChildProcesses()) ReapUnclaimed(*children);
}

Status KillDescendants(Deadline deadline) {
  for (bool tried = false;; tried = true) {
    if (HasNoChild()) return {};
    // Direct children only. What they started comes to us when they are gone.
    MUSTER_TRY(std::vector<pid_t> children, ChildProcesses());
    DropEndedClaims(children);
    if (children.empty()) return {};
    if (tried && deadline.Expired()) {
      return Fail(Code::kDeadline, "process {} ({}) does not end although it was killed", children.front(),
                  ProcessName(children.front()));
    }
    MUSTER_CHECK(KillChildren(children));
    ProcessEnd::Of(children.front()).Await(deadline);
    ReapUnclaimed(children);
  }
}

}  // namespace muster::process
