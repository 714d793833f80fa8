#include "comm/system/bounded_call.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <utility>

#include "comm/base/unique_fd.h"
#include "comm/system/start_thread.h"

namespace muster {
namespace {

enum class WithoutThread { kRefuse, kRunHere };

Status Start(const std::function<void()>& body, WithoutThread without) {
  const Status started = StartDetachedThread(body);
  if (started || without == WithoutThread::kRefuse) return started;
  body();
  return {};
}

// False: it has not ended in time. For a process without a free descriptor: an abort must still happen.
Result<bool> RunUnwatched(Deadline deadline, std::function<void()> call, WithoutThread without) {
  const auto ended = std::make_shared<std::promise<void>>();
  const std::future<void> end = ended->get_future();
  const auto body = [ended, call = std::move(call)] {
    call();
    ended->set_value();
  };
  MUSTER_CHECK(Start(body, without));
  return end.wait_until(deadline.when()) == std::future_status::ready;
}

Result<bool> Run(Deadline deadline, std::function<void()> call, int stop_fd, WithoutThread without) {
  const auto ended = std::make_shared<UniqueFd>(eventfd(0, EFD_CLOEXEC));
  if (!*ended) return RunUnwatched(deadline, std::move(call), without);
  const auto body = [ended, call = std::move(call)] {
    call();
    eventfd_write(ended->get(), 1);
  };
  MUSTER_CHECK(Start(body, without));
  pollfd fds[] = {{ended->get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
  while (poll(fds, 2, deadline.PollMilliseconds()) < 0 && errno == EINTR) {
  }
  if ((fds[0].revents & POLLIN) == 0) return false;
  // This thread may read the results of the call only after it has read this word.
  uint64_t taken = 0;
  return read(ended->get(), &taken, sizeof taken) == sizeof taken;
}

}  // namespace

Status RunWithin(Deadline deadline, const Error& late, std::function<void()> call, int stop_fd) {
  MUSTER_TRY(const bool ended, Run(deadline, std::move(call), stop_fd, WithoutThread::kRefuse));
  return ended ? Status() : Fail(late);
}

bool RunAnywhereWithin(Deadline deadline, std::function<void()> call, int stop_fd) {
  return *Run(deadline, std::move(call), stop_fd, WithoutThread::kRunHere);
}

}  // namespace muster
