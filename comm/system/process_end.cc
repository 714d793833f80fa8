#include "comm/system/process_end.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "comm/base/parse.h"
#include "comm/system/pipe.h"
#include "comm/system/proc_file.h"

namespace muster {
namespace {

// Interval of the checks of Await without an event. A killed program ends within a few of these.
constexpr int kLookAgainMilliseconds = 5;

}  // namespace

bool IsStatOfEnded(std::string_view stat) {
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return false;
  const std::string_view state = stat.substr(name_end + 2, 1);
  // Without pidfds a leader reads this of each of its ranks all the time: split the line of few.
  if (state != "X" && state != "Z") return false;
  const std::vector<std::string_view> fields = StatFields(stat);
  if (fields.size() <= kStatThreads) return false;
  // A process with only its first thread ended also seems to be a zombie.
  return state == "X" || ParseInteger<int>(fields[kStatThreads]).value_or(0) <= 1;
}

bool IsStatOfExiting(std::string_view stat) {
  constexpr uint64_t kExiting = 0x4;  // PF_EXITING of the kernel's sched.h
  const std::vector<std::string_view> fields = StatFields(stat);
  return fields.size() > kStatFlags &&
         (ParseInteger<uint64_t>(fields[kStatFlags]).value_or(0) & kExiting) != 0;
}

ProcessEnd ProcessEnd::Of(pid_t pid) {
  ProcessEnd end(pid);
  end.pidfd_ = AboveStandard(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (end.pidfd_) return end;
  end.gone_ = errno == ESRCH;
  if (!end.gone_)
    end.stat_ = AboveStandard(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  return end;
}

bool ProcessEnd::HasEnded() const {
  if (gone_) return true;
  if (pidfd_) {
    pollfd ended{pidfd_.get(), POLLIN, 0};
    return poll(&ended, 1, 0) > 0;
  }
  if (!stat_) return kill(pid_, 0) != 0 && errno == ESRCH;
  std::array<char, 1024> text{};
  const ssize_t got = pread(stat_.get(), text.data(), text.size(), 0);
  if (got < 0) return errno == ESRCH;
  return IsStatOfEnded({text.data(), static_cast<size_t>(got)});
}

bool ProcessEnd::Await(Deadline deadline) const {
  while (!HasEnded()) {
    if (deadline.Expired()) return false;
    const int left = deadline.PollMilliseconds();
    pollfd ended{pidfd_.get(), POLLIN, 0};
    if (pidfd_) {
      poll(&ended, 1, left);
    } else {
      poll(nullptr, 0, left < 0 ? kLookAgainMilliseconds : std::min(left, kLookAgainMilliseconds));
    }
  }
  return true;
}

}  // namespace muster
