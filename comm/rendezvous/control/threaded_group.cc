#include "comm/rendezvous/control/threaded_group.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/survey/process_state.h"
#include "comm/rendezvous/survey/stragglers.h"
#include "comm/system/pipe.h"
#include "comm/system/start_thread.h"

namespace muster::rendezvous {
namespace {

// The root names the missing ranks; its message may arrive slightly after the own deadline.
constexpr Duration kVerdictGrace = std::chrono::seconds(2);

// For a process that cannot go on.
constexpr Duration kFailureSentWithin = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<ThreadedGroup>> ThreadedGroup::Create(int rank) {
  MUSTER_TRY(auto loop, net::EventLoop::Create());
  UniqueFd failure_fd = AboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!failure_fd) return muster::Fail(Code::kSystem, "cannot create an eventfd: {}", ErrnoText(errno));
  return std::unique_ptr<ThreadedGroup>(new ThreadedGroup(std::move(loop), std::move(failure_fd), rank));
}

ThreadedGroup::ThreadedGroup(std::unique_ptr<net::EventLoop> loop, UniqueFd failure_fd, int rank)
    : loop_(std::move(loop)), answers_(std::move(failure_fd)), rank_(rank) {}

ThreadedGroup::~ThreadedGroup() {
  if (getpid() != owner_) {
    Abandon();
    return;
  }
  if (thread_.joinable()) {
    activity().SetOnLate({});
    loop_->Post([this] { stop_ = true; });
    thread_.join();
  }
  if (kvs_) kvs_->Leave();
}

// A forked child has no such thread and must not use the connections.
void ThreadedGroup::Abandon() {
  // Its destructor would act for the parent.
  [[maybe_unused]] const auto* kvs = new std::shared_ptr<LauncherKvs>(std::move(kvs_));
  if (!thread_.joinable()) return;
  activity().SetOnLate({});
  thread_.detach();
  [[maybe_unused]] const auto* plane = plane_.release();
  [[maybe_unused]] const auto* loop = loop_.release();
}

void ThreadedGroup::Attach(Joined joined, LivenessOptions liveness) {
  key_ = joined.group->key;
  ControlPlane::Events events;
  events.on_failure = [this](const Failure& failure) { OnFailure(failure); };
  events.on_all_know = [this] { all_know_ = true; };
  events.on_gathered = [this](const muster::rendezvous::KeyedAllGather& whole) { OnGathered(whole); };
  events.on_released = [this] { answers_.Release(); };
  events.on_map_message = [this](int, ByteView message) { listeners_.Receive(message); };
  events.on_job_end = [this](Deadline latest) { set_latest(latest); };
  events.report_own = [this](const Survey&, const std::function<void(Surveyor::Reports)>& reply) {
    reply({ReportOwn()});
  };
  plane_ = std::make_unique<ControlPlane>(*loop_, std::move(joined), std::vector<int>{rank_}, liveness,
                                          std::move(events));
  roster_ = &plane_->group().roster;
  activity().set_straggler_after(liveness.straggler_after);
  activity().SetOnLate([this] { loop_->Post([this] { plane_->survey().NoteLate(); }); });
}

RankReport ThreadedGroup::ReportOwn() {
  RankReport report;
  report.rank = rank_;
  report.state = RankState::kInGroup;
  report.operations = activity().Look();
  if (const auto process = LookAtProcess(getpid())) report.process = *process;
  return report;
}

Status ThreadedGroup::Serve() {
  const std::string what =
      fmt::format("the control plane's thread of {}", DescribeRank(rank_, roster().NodeName(rank_)));
  Result<std::thread> thread = StartThread(what, [this] {
    loop_->RunUntil([this] { return stop_; }, Deadline::Never());
    plane_.reset();
  });
  if (!thread) {
    plane_->failures().Fail({thread.error(), rank_});
    loop_->RunUntil([this] { return all_know_; }, Deadline::After(kFailureSentWithin));
    return muster::Fail(std::move(thread).error());
  }
  thread_ = *std::move(thread);
  return {};
}

void ThreadedGroup::set_incarnation(int incarnation) {
  constexpr uint32_t kMapsOfAProgram = 1 << 20;
  exchange_prefix_ = fmt::format("{}{}/", kAmongPrograms, incarnation);
  set_first_map(static_cast<uint32_t>(incarnation) * kMapsOfAProgram);
}

void ThreadedGroup::SendToRoot(Bytes message) {
  loop_->Post([this, message = std::move(message)] { plane_->maps().SendToRoot(rank_, message); });
}

void ThreadedGroup::AwaitSent() {
  const auto sent = std::make_shared<std::promise<void>>();
  loop_->Post([sent] { sent->set_value(); });
  sent->get_future().wait();
}

void ThreadedGroup::SetListener(uint32_t map, Listener listener) {
  loop_->Post([this, map, listener = std::move(listener)] {
    listeners_.Set(map, listener);
    if (listener.on_failure && plane_->failure()) listener.on_failure(plane_->failure()->error);
  });
}

void ThreadedGroup::OnFailure(const Failure& failure) {
  listeners_.Fail(failure.error);
  answers_.Fail(failure.error);
}

void ThreadedGroup::OnGathered(const muster::rendezvous::KeyedAllGather& whole) {
  std::vector<Bytes> by_rank(static_cast<size_t>(roster_->size()));
  for (const auto& [rank, bytes] : whole.entries) {
    if (rank >= 0 && rank < roster_->size()) by_rank[static_cast<size_t>(rank)] = bytes;
  }
  answers_.Put(whole.name, std::move(by_rank));
}

Result<std::vector<Bytes>> ThreadedGroup::KeyedAllGather(std::string_view name, ByteView mine,
                                                         Deadline deadline) {
  const std::string full_name = exchange_prefix_ + std::string(name);
  muster::rendezvous::KeyedAllGather part{
      full_name, MillisecondsLeft(deadline), {{rank_, Bytes(mine.begin(), mine.end())}}};
  loop_->Post([this, part = std::move(part)] { plane_->exchanges().Contribute(part); });
  const Deadline limit = deadline.IsNever() ? deadline : Deadline::At(deadline.when() + kVerdictGrace);
  if (auto answer = answers_.AwaitExchange(full_name, limit)) return *std::move(answer);
  return UnansweredByRoot(name);
}

// Goes to the group: this process may end now, and the ranks below it would take its end for the cause.
tl::unexpected<Error> ThreadedGroup::UnansweredByRoot(std::string_view exchange) {
  const int root = plane_->group().root_rank;
  Error error{Code::kDeadline,
              fmt::format("the exchange \"{}\" was not complete in time, and the root, {}, did not answer",
                          exchange, DescribeRank(*roster_, root))};
  loop_->Post([this, failure = Failure{error, root}] { plane_->failures().Fail(failure); });
  return muster::Fail(std::move(error));
}

void ThreadedGroup::Fail(const Error& error) {
  loop_->Post([this, failure = Failure{error, rank_}] { plane_->failures().Fail(failure); });
}

std::string ThreadedGroup::MissingRanks(uint64_t communicator, uint64_t sequence, Duration patience) {
  // Shared: the answer may come after this call has timed out.
  struct Answer {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Surveyor::Reports> reports;
  };
  const auto answer = std::make_shared<Answer>();
  loop_->Post([this, answer, patience] {
    plane_->survey().AskAll(patience, [answer](const Surveyed& surveyed) {
      const std::lock_guard lock(answer->mutex);
      answer->reports = surveyed.reports;
      answer->changed.notify_all();
    });
  });
  std::unique_lock lock(answer->mutex);
  const auto there = [&] { return answer->reports.has_value(); };
  if (!answer->changed.wait_for(lock, patience * 2, there)) return {};
  return DescribeMissing(*roster_, *answer->reports, rank_, communicator, sequence);
}

Status ThreadedGroup::Leave(Deadline deadline) {
  loop_->Post([this] { plane_->leaving().Leave(); });
  if (const auto over = answers_.AwaitRelease(deadline)) return *over;
  LogEvent(LogLevel::kWarning, "retired", {},
           "other ranks are still at work; the group's control plane ends with this process");
  loop_->Post([this] { plane_->leaving().Retire(); });
  return {};
}

}  // namespace muster::rendezvous
