#include "bootstrap/run/descendants.h"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/run/proc_file.h"
#include "comm/base/parse.h"
#include "comm/base/unique_fd.h"

namespace muster {
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

bool Contains(std::span<const pid_t> pids, pid_t pid) { return std::ranges::find(pids, pid) != pids.end(); }

void AwaitEnd(pid_t pid, Deadline deadline) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  struct pollfd ended {
    pidfd.get(), POLLIN, 0
  };
  // Without pidfd (before Linux 5.3) there is no event to wait for but SIGCHLD, which belongs to the event
  // loop.
  constexpr int kTryAgainMilliseconds = 2;
  if (!pidfd) {
    poll(nullptr, 0, std::min(deadline.PollMilliseconds(), kTryAgainMilliseconds));
  } else {
    poll(&ended, 1, deadline.PollMilliseconds());
  }
}

// Most often so, and a look into /proc costs ten times as much.
bool HasNoChild() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

// Direct children only: they are ours to reap, so none of these numbers can mean another process by now. What
// they started comes to us when they are gone.
Status KillAll(const std::vector<pid_t>& children) {
  Status status;
  for (const pid_t pid : children) {
    if (kill(pid, SIGKILL) == 0 || errno == ESRCH) continue;
    status = Fail(Code::kSystem, "cannot kill process {} ({}): {}", pid, ProcessName(pid), ErrnoText(errno));
  }
  return status;
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

void ReapOrphans(std::span<const pid_t> keep) {
  const auto children = ChildProcesses();
  if (!children) return;
  for (const pid_t pid : *children) {
    if (!Contains(keep, pid)) waitpid(pid, nullptr, WNOHANG);
  }
}

Status KillDescendants(std::span<const pid_t> keep, Deadline deadline) {
  for (bool tried = false;; tried = true) {
    if (HasNoChild()) return {};
    MUSTER_TRY(std::vector<pid_t> children, ChildProcesses());
    std::erase_if(children, [&](pid_t pid) { return Contains(keep, pid); });
    if (children.empty()) return {};
    if (tried && deadline.Expired()) {
      return Fail(Code::kDeadline, "process {} ({}) does not end although it was killed", children.front(),
                  ProcessName(children.front()));
    }
    MUSTER_CHECK(KillAll(children));
    AwaitEnd(children.front(), deadline);
    for (const pid_t pid : children) waitpid(pid, nullptr, WNOHANG);
  }
}

}  // namespace muster
