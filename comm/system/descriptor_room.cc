#include "comm/system/descriptor_room.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

namespace muster {
namespace {

// Standard descriptors, event loops, listeners, the log, half-open connections of foreign peers.
constexpr rlim_t kEverydayUse = 48;
// Reserve against foreign peers: an eighth, but not more than this.
constexpr rlim_t kKeptPart = 8;
constexpr rlim_t kMostKept = 64;

struct Before {
  std::mutex mutex;
  std::optional<rlimit> limit;
};

Before& TheBefore() {
  static Before& before = *new Before;
  return before;
}

Result<rlimit> CurrentLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Fail(Code::kSystem, "cannot read the limit on open files: {}", ErrnoText(errno));
  }
  return limit;
}

Status Raise(rlimit limit, rlim_t to) {
  Before& before = TheBefore();
  const std::lock_guard lock(before.mutex);
  rlimit raised = limit;
  raised.rlim_cur = to;
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {
    return Fail(Code::kSystem, "cannot raise the limit on open files to {}: {}", to, ErrnoText(errno));
  }
  if (!before.limit) before.limit = limit;
  return {};
}

}  // namespace

Status MakeRoomForDescriptors(size_t needed, std::string_view what) {
  MUSTER_TRY(const rlimit limit, CurrentLimit());
  const rlim_t wanted = needed + kEverydayUse;
  if (limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted) {
    return WithHint(Fail(Code::kSystem, "{} needs {} open files, but the hard limit is {} (ulimit -Hn)", what,
                         wanted, limit.rlim_max),
                    "raise it: LimitNOFILE of slurmd's unit, or /etc/security/limits.conf");
  }
  return Raise(limit, std::min(limit.rlim_max, 2 * wanted));
}

Result<uint64_t> RaiseDescriptorLimit() {
  MUSTER_TRY(const rlimit limit, CurrentLimit());
  if (limit.rlim_cur != limit.rlim_max) MUSTER_CHECK(Raise(limit, limit.rlim_max));
  return limit.rlim_max;
}

std::string DescriptorLimitHint() {
  rlimit limit{};
  const bool soft = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max;
  return fmt::format("raise the limit on open files: ulimit {}", soft ? "-Sn" : "-Hn");
}

bool DescriptorsAreScarce(int newest) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const rlim_t kept = std::min(kMostKept, limit.rlim_cur / kKeptPart);
  return static_cast<rlim_t>(newest) + kept >= limit.rlim_cur;
}

int DescriptorProblem() { return UniqueFd(eventfd(0, EFD_CLOEXEC)) ? 0 : errno; }

UniqueFd WithLowestNumber(UniqueFd fd) {
  UniqueFd lower(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return lower && lower.get() < fd.get() ? std::move(lower) : std::move(fd);
}

std::optional<rlimit> DescriptorLimitBefore() {
  Before& before = TheBefore();
  const std::lock_guard lock(before.mutex);
  return before.limit;
}

}  // namespace muster
