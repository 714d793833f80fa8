#include "bootstrap/process/reaper.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "comm/system/proc_file.h"
#include "comm/system/process_end.h"

namespace muster::process {
namespace {

// Of the process, as its children are. Never destroyed: threads may be left behind.
struct Claims {
  std::mutex mutex;  // held while a child is reaped or a claim changes, never while one is started
  std::set<pid_t> pids;
  std::set<pid_t> spared;
  int starting = 0;
};
Claims& AllClaims() {
  static Claims& claims = *new Claims;
  return claims;
}

// Absent if it runs, and if it is no child of ours.
std::optional<siginfo_t> EndOf(pid_t pid) {
  siginfo_t info{};
  const int found = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return found != 0 || info.si_pid == 0 ? std::nullopt : std::optional(info);
}

bool IsOurChild(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

std::string ChildExit::Describe() const {
  if (signal == 0) return fmt::format("exit {}", code);
  const char* name = strsignal(signal);
  return fmt::format("signal {} ({})", signal, name == nullptr ? "unknown" : name);
}

ClaimedChild ClaimedChild::Start(const std::function<pid_t()>& start) {
  Claims& claims = AllClaims();
  {
    const std::lock_guard lock(claims.mutex);
    ++claims.starting;
  }
  const pid_t pid = start();
  const int error_number = errno;
  {
    const std::lock_guard lock(claims.mutex);
    --claims.starting;
    if (pid > 0) claims.pids.insert(pid);
  }
  errno = error_number;
  return ClaimedChild(pid > 0 ? pid : -1);
}

ClaimedChild::ClaimedChild(ClaimedChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ClaimedChild& ClaimedChild::operator=(ClaimedChild&& other) noexcept {
  if (this != &other) {
    GiveUp();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

ClaimedChild::~ClaimedChild() { GiveUp(); }

void ClaimedChild::GiveUp() {
  if (pid_ <= 0) return;
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  if (waitpid(pid_, nullptr, WNOHANG) == pid_) claims.spared.erase(pid_);
  claims.pids.erase(std::exchange(pid_, -1));
}

std::optional<ChildExit> ClaimedChild::Exited() const {
  const auto end = pid_ > 0 ? EndOf(pid_) : std::nullopt;
  if (!end) return std::nullopt;
  const bool by_itself = end->si_code == CLD_EXITED;
  return ChildExit{by_itself ? end->si_status : 0, by_itself ? 0 : end->si_status};
}

std::optional<int> ClaimedChild::WaitsForTerminal() const {
  siginfo_t info{};
  const int found =
      pid_ > 0 ? waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) : -1;
  const bool waits =
      found == 0 && info.si_pid != 0 && (info.si_status == SIGTTIN || info.si_status == SIGTTOU);
  return waits ? std::optional(info.si_status) : std::nullopt;
}

bool ClaimedChild::AwaitExit(Deadline deadline) const {
  return pid_ > 0 && ProcessEnd::Of(pid_).Await(deadline);
}

Status ClaimedChild::Signal(int number, bool group) const {
  if (pid_ <= 0 || kill(group ? -pid_ : pid_, number) == 0 || errno == ESRCH) return {};
  return Fail(Code::kSystem, "cannot send signal {} to process {}: {}", number, pid_, ErrnoText(errno));
}

void ClaimedChild::LeaveBehind() const {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  if (pid_ > 0) claims.spared.insert(pid_);
}

void ClaimedChild::Reap() {
  if (pid_ > 0 && EndOf(pid_)) GiveUp();
}

void ReapUnclaimed(std::span<const pid_t> children) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  if (claims.starting > 0) return;
  for (const pid_t pid : children) {
    if (!claims.pids.contains(pid) && waitpid(pid, nullptr, WNOHANG) == pid) claims.spared.erase(pid);
  }
}

void DropClaims(std::vector<pid_t>& children) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  std::erase_if(children, [&](pid_t pid) { return claims.pids.contains(pid); });
}

void Spare(std::span<const pid_t> children) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  claims.spared = {children.begin(), children.end()};
  std::erase_if(claims.spared, [&](pid_t pid) { return claims.pids.contains(pid); });
}

void DropSpared(std::vector<pid_t>& children) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  std::erase_if(children, [&](pid_t pid) {
    return claims.spared.contains(pid) || (claims.pids.contains(pid) && EndOf(pid));
  });
}

Status KillChildren(std::vector<pid_t>& children) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  Status status;
  std::erase_if(children, [&](pid_t pid) {
    if (claims.spared.contains(pid) || !IsOurChild(pid) || kill(pid, SIGKILL) == 0 || errno == ESRCH)
      return false;
    status = Fail(Code::kSystem, "cannot kill process {} ({}): {}", pid, ProcessName(pid), ErrnoText(errno));
    return true;
  });
  return status;
}

}  // namespace muster::process
