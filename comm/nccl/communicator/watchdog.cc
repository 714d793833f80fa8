#include "comm/nccl/communicator/watchdog.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "comm/base/parse.h"
#include "comm/nccl/communicator/abort.h"
#include "comm/nccl/communicator/core.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/ops/group_failure.h"
#include "comm/system/pipe.h"
#include "comm/system/start_thread.h"

namespace muster::nccl {
namespace {

// The time for the steps before an abort.
constexpr Duration kSlack = std::chrono::seconds(10);

}  // namespace

Result<std::shared_ptr<Watchdog>> Watchdog::Start(std::shared_ptr<NcclCore> core) {
  UniqueFd wake = AboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return Fail(Code::kSystem, "cannot create an eventfd: {}", ErrnoText(errno));
  std::shared_ptr<Watchdog> watchdog(new Watchdog(std::move(core), std::move(wake)));
  MUSTER_TRY(watchdog->thread_, StartThread("the thread that watches NCCL", [dog = watchdog.get()] {
               dog->Run();
               dog->thread_over_.set_value();
             }));
  StopAtExit(watchdog);
  return watchdog;
}

// NCCL has been loaded, so its static objects are destroyed after this: an abort that uses them then would crash.
void Watchdog::StopAtExit(std::weak_ptr<Watchdog> self) {
  const auto stop = [](int status, void* kept) {
    const std::unique_ptr<std::weak_ptr<Watchdog>> mine(static_cast<std::weak_ptr<Watchdog>*>(kept));
    const auto watchdog = mine->lock();
    if (watchdog && !watchdog->core_->InForkedChild()) watchdog->EndWithProcess(status);
  };
  // Without memory for it the process ends as it would have.
  [[maybe_unused]] const int added = on_exit(stop, new std::weak_ptr<Watchdog>(std::move(self)));
}

// Takes no lock: exit may have been called in a signal handler, above a function that holds one.
void Watchdog::EndWithProcess(int status) {
  // An abort that hangs ends the process without this.
  pollfd failed{core_->group.failure_fd(), POLLIN, 0};
  if (poll(&failed, 1, 0) > 0) [[maybe_unused]]
    const int flushed = std::fflush(nullptr);
  AskToStop();
  const auto ended = thread_is_over_.wait_for(core_->settings.abort_within + kSlack);
  if (ended != std::future_status::ready) _exit(status);
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  if (core_->InForkedChild()) {
    // The thread is the parent's.
    thread_.detach();
    return;
  }
  AskToStop();
  thread_.join();
}

void Watchdog::AskToStop() {
  stop_ = true;
  Wake();
}

void Watchdog::Wake() { eventfd_write(wake_.get(), 1); }

bool Watchdog::Add(const std::shared_ptr<LiveComm>& comm) {
  const std::lock_guard lock(mutex_);
  if (!ended_) comms_.push_back(comm);
  return !ended_;
}

bool Watchdog::Remove(const std::shared_ptr<LiveComm>& comm) {
  std::unique_lock lock(mutex_);
  if (core_->group.failure()) {
    // All of them end together.
    Wake();
    finished_changed_.wait_for(lock, core_->settings.abort_within + kSlack, [this] { return finished_; });
  }
  std::erase(comms_, comm);
  return !ended_;
}

Watchdog::Comms Watchdog::comms() const {
  const std::lock_guard lock(mutex_);
  return comms_;
}

void Watchdog::Run() {
  // If that fails the operations fail as well, and report it.
  [[maybe_unused]] const CudaResult set = core_->cuda->SetDevice(core_->settings.device);
  while (true) {
    Sleep();
    if (stop_ && !core_->group.failure()) break;
    if (const std::optional<Error> error = Look()) return End(*error);
  }
  // Its owner aborts what it removes from now on.
  const std::lock_guard lock(mutex_);
  finished_ = true;
  finished_changed_.notify_all();
}

void Watchdog::Sleep() {
  Deadline next = Deadline::After(core_->settings.watch_every);
  for (const auto& comm : comms()) next = next.EarlierOf(comm->operations()->Next());
  pollfd fds[] = {{core_->group.failure_fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  if (poll(fds, 2, next.PollMilliseconds()) <= 0) return;
  uint64_t woken = 0;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &woken, sizeof woken);
}

std::optional<Error> Watchdog::Look() {
  if (std::optional<Error> failure = core_->group.failure()) return failure;
  const Comms all = comms();
  for (const auto& comm : all) {
    if (std::optional<Error> error = StateOf(*comm)) return FailWithCause(*core_, *error);
  }
  CudaResult health = CudaResult::kSuccess;
  const bool swept = Sweep(all, &health);
  if (health != CudaResult::kSuccess) {
    return FailWithCause(*core_, {Code::kSystem, fmt::format("the GPU failed on {}: {}", self(),
                                                             core_->cuda->Explain(health))});
  }
  ActivityTable& activity = core_->group.activity();
  for (const auto& comm : all) {
    Operations& operations = *comm->operations();
    if (const auto overdue = operations.FindOverdue(!swept)) {
      return FailWithCause(*core_, TooLate(*comm, *overdue));
    }
    if (operations.HasNewLate(activity.straggler_after())) activity.ReportLate();
  }
  return std::nullopt;
}

std::string Watchdog::self() const { return DescribeRank(core_->group.roster(), core_->group.rank()); }

std::optional<Error> Watchdog::StateOf(const LiveComm& comm) const {
  const NcclResult state = comm.State();
  if (state == NcclResult::kSuccess || state == NcclResult::kInProgress) return std::nullopt;
  return Error{Code::kSystem, fmt::format("NCCL failed on {}: {}", self(), ExplainNccl(*core_->nccl, state))};
}

// CUDA may make this thread wait for a call of another one in NCCL, on any communicator. No call begins meanwhile.
bool Watchdog::Sweep(const Comms& all, CudaResult* health) {
  std::vector<std::unique_lock<std::mutex>> held;
  for (const auto& comm : all) {
    if (!held.emplace_back(comm->HoldCalls())) return false;
  }
  // A further one is made by a call on one of these.
  if (comms() != all) return false;
  for (const auto& comm : all) {
    comm->operations()->Sweep(health);
    if (*health != CudaResult::kSuccess) break;
  }
  return true;
}

Error Watchdog::TooLate(const LiveComm& comm, const Operations::Overdue& overdue) const {
  const std::string missing = AskForMissingRanks(core_->group, overdue.call, comm.rank());
  const std::string waiting = missing.empty() ? "" : ": waiting for " + missing;
  return {Code::kDeadline,
          fmt::format("{} of NCCL did not finish within {} on {}{}", Describe(overdue.call),
                      FormatDuration(overdue.timeout), self(), waiting),
          "look at what that rank is doing, or raise timeouts.collective"};
}

void Watchdog::End(const Error& error) {
  core_->broken.Set(error);
  Comms all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(comms_);
    ended_ = true;
  }
  AbortAll(*core_, all, error);
  const std::lock_guard lock(mutex_);
  finished_ = true;
  finished_changed_.notify_all();
}

}  // namespace muster::nccl
