#include "comm/system/start_thread.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster {
namespace {

std::optional<uint64_t> NumberIn(const std::string& path) {
  const auto text = ReadProcFile(path);
  return text ? ParseInteger<uint64_t>(Trim(*text)) : std::nullopt;
}

struct CgroupLimit {
  std::string name;
  uint64_t most = UINT64_MAX;
  bool full = false;
};

// The lowest limit of a cgroup and those above it; that of a full one.
void FindLimit(const std::string& hierarchy, std::string name, CgroupLimit& lowest) {
  for (;; name.resize(name.rfind('/'))) {
    if (name == "/") name.clear();
    const std::string directory = hierarchy + name;
    const uint64_t most = NumberIn(directory + "/pids.max").value_or(UINT64_MAX);
    const bool full = NumberIn(directory + "/pids.current").value_or(0) >= most;
    if (full > lowest.full || (full == lowest.full && most < lowest.most))
      lowest = {name.empty() ? "/" : name, most, full};
    if (name.empty()) return;
  }
}

}  // namespace

Result<std::thread> StartThread(std::string_view what, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<std::thread> thread;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::system_error& error) {
    thread = WithHint(Fail(Code::kSystem, "cannot start {}: {}", what, error.what()), ProcessLimitHint());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Status StartDetachedThread(std::function<void()> work) {
  MUSTER_TRY(std::thread thread, StartThread("a thread", std::move(work)));
  thread.detach();
  return {};
}

std::string ProcessLimitHint() {
  return ProcessLimitHint(ReadProcFile("/proc/self/cgroup").value_or(""), "/sys/fs/cgroup");
}

std::string ProcessLimitHint(std::string_view memberships, const std::string& mount) {
  CgroupLimit lowest;
  for (const std::string_view line : Split(memberships, '\n')) {
    const size_t controllers = line.find(':');
    const size_t name = line.find(":/");
    if (name == std::string_view::npos) continue;
    const bool v2 = name == controllers + 1;
    const bool v1 = line.substr(controllers, name - controllers) == ":pids";
    if (v1 || v2) FindLimit(mount + (v1 ? "/pids" : ""), std::string(line.substr(name + 1)), lowest);
  }
  const std::string cgroup = fmt::format("pids.max of the cgroup {}, now {}", lowest.name, lowest.most);
  if (lowest.full) return "raise the limit on processes and threads: " + cgroup;
  rlimit user{};
  const bool known = getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur != RLIM_INFINITY;
  return fmt::format("raise the limit on processes and threads: ulimit -u, now {}{}",
                     known ? std::to_string(user.rlim_cur) : "unlimited",
                     lowest.most == UINT64_MAX ? "" : ", or " + cgroup);
}

}  // namespace muster
