// What a supervisor does about signals, its own program's end apart.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include "bootstrap/process/signal_reach.h"
#include "bootstrap/run/supervisor.h"
#include "comm/base/some_ranges.h"
#include "comm/log/log.h"

namespace muster::run {
namespace {

// How long other nodes may take to answer which of their programs still run.
constexpr Duration kAnswersWithin = std::chrono::seconds(1);

}  // namespace

std::optional<Error> Supervisor::ToldToEnd() const {
  const std::optional<int> signal = request_.Explains(Clock::now());
  if (!signal) return std::nullopt;
  const int rank = plane_ ? plane_->own_ranks().front() : 0;
  return Error{Code::kPeerLost, process::DescribeRequest(*signal, Describe(rank)), ""};
}

void Supervisor::OnSignal(const process::SignalEvent& event) {
  if (event.number == SIGCHLD) return OnChildren();
  const bool asks = process::AsksToEnd(event.number);
  const process::EndStep step = asks ? TakeRequest(event) : process::EndStep::kPassOn;
  if (!plane_ && programs_->list().empty()) return asks ? OnSignalBeforePrograms(event.number) : void();
  if (asks && programs_->all_ended()) return OnSignalAfterPrograms(event.number);
  TakeStep(step, &event);
}

process::EndStep Supervisor::TakeRequest(const process::SignalEvent& event) {
  // Under a launcher only the user at the terminal is known to wait for the end.
  const bool interactive = event.from_kernel && event.number != SIGQUIT;
  const bool escalates = plan_.ends_programs ? !process::FromScheduler(event) : interactive;
  return request_.Take({event.number, event.sender, event.from_kernel, escalates}, Clock::now());
}

void Supervisor::OnSignalBeforePrograms(int number) {
  // What is waited for is only to tell it to others.
  if (const rendezvous::Failure* failure = joiner_ ? joiner_->failure() : nullptr)
    return OnNotFormed(*failure);
  NoteWhoCame();
  // All ranks receive the signal; the root logs it.
  LogEvent(root_ ? LogLevel::kWarning : LogLevel::kDebug, "signalled", {{"signal", number}},
           "ended by signal {} while the group was forming", number);
  Finish(128 + number);
}

void Supervisor::OnSignalAfterPrograms(int number) {
  // It asks programs for a thread dump, and this process has none.
  if (number == SIGQUIT) return;
  // Only the report of how other programs ended is still waited for.
  if (finishing_) {
    loop_->After(kOneRequest, [this] { Finish(StatusOf(*failure_)); });
    return;
  }
  // The program itself got this very signal and ended well.
  if (Clock::now() - ended_at_ < kOneRequest) return;
  // Only other ranks are still at work: they are told that this process will not wait for them.
  const int rank = plane_ ? plane_->own_ranks().front() : 0;
  Report({{Code::kPeerLost, process::DescribeRequest(number, NameUnlessAlone(rank)), ""},
          rank,
          128 + number,
          "",
          /*as_told=*/true});
}

// `event`: absent when run.grace is over.
void Supervisor::TakeStep(process::EndStep step, const process::SignalEvent* event) {
  const auto because = [&] {
    return event != nullptr
               ? fmt::format("{} again", process::SignalName(event->number))
               : fmt::format("no exit within run.grace ({})", FormatDuration(plan_.config.run.grace));
  };
  switch (step) {
    case process::EndStep::kNothing:
      break;
    case process::EndStep::kPassOn:
      PassOn(*event);
      break;
    case process::EndStep::kReport:
      ReportWaiting();
      break;
    case process::EndStep::kTerminate:
      SendToPrograms(SIGTERM, because());
      break;
    case process::EndStep::kKill:
      SendToPrograms(SIGKILL, because());
      break;
  }
  if (request_.wait_number() == awaited_) return;
  awaited_ = request_.wait_number();
  loop_->Cancel(request_timer_);
  request_timer_ =
      loop_->After(plan_.config.run.grace, [this] { TakeStep(request_.OnGraceOver(), nullptr); });
}

void Supervisor::PassOn(const process::SignalEvent& event) {
  // A second SIGTERM means "immediately" to many programs.
  if (event.number == SIGTERM && kill_timer_ != 0) return;
  if (process::ReachedProgram(event, plan_.own_process_groups)) return;
  for (const auto& program : programs_->list()) {
    if (!program->exit()) program->Signal(event.number);
  }
}

void Supervisor::SendToPrograms(int number, std::string_view because) {
  if (number == SIGTERM && kill_timer_ != 0) return;
  std::vector<int> ranks;
  for (const auto& program : programs_->list()) {
    if (program->exit()) continue;
    ranks.push_back(program->rank());
    number == SIGKILL ? recorder_.Killed(program->rank()) : recorder_.Terminated(program->rank());
    program->Signal(number);
  }
  if (ranks.empty()) return;
  LogEvent(LogLevel::kWarning, "not_exited", {{"ranks", ranks}, {"sent", process::SignalName(number)}},
           "waiting for {} to exit; {}: {} sent", NameRanks(ranks), because, process::SignalName(number));
}

std::string Supervisor::NameRanks(const std::vector<int>& ranks) const {
  return ranks.size() == 1 ? Describe(ranks.front()) : "ranks " + FormatSomeRanges(ranks);
}

// Once in the log, for all ranks of the group.
void Supervisor::ReportWaiting() {
  if (plane_ && !plane_->is_root()) return;
  const auto log = [this](const std::vector<int>& ranks) {
    const std::optional<int> signal = request_.Explains(Clock::now());
    if (ranks.empty() || !signal) return;
    LogEvent(LogLevel::kWarning, "not_exited", {{"ranks", ranks}},
             "waiting for {} to exit; no exit within run.grace ({}) of {}", NameRanks(ranks),
             FormatDuration(plan_.config.run.grace), process::SignalName(*signal));
  };
  if (!plane_) return log({0});
  plane_->AskAll(kAnswersWithin, [log](const rendezvous::Surveyed& answer) {
    std::vector<int> ranks;
    for (const rendezvous::RankReport& report : answer.reports) {
      const bool runs = report.state == rendezvous::RankState::kProgram ||
                        report.state == rendezvous::RankState::kOwnGroup ||
                        report.state == rendezvous::RankState::kInGroup;
      if (runs && report.process.pid != 0) ranks.push_back(report.rank);
    }
    std::ranges::sort(ranks);
    log(ranks);
  });
}

// All programs have just received SIGTERM.
bool Supervisor::JustTerminated() const {
  const Clock::time_point now = Clock::now();
  return request_.terminated() || (request_.Explains(now) == SIGTERM && request_.Age(now) < kOneRequest);
}

// Where this process starts all ranks, it is all of them that were asked to end.
std::string Supervisor::NameUnlessAlone(int rank) const {
  const bool alone = !plane_ || std::cmp_equal(plane_->own_ranks().size(), group_.roster.size());
  return alone ? "" : Describe(rank);
}

Status Supervisor::WatchLifeline() {
  if (plan_.lifeline < 0) return {};
  return loop_->Watch(plan_.lifeline, EPOLLIN, [this](uint32_t) {
    std::array<char, 256> ignored{};
    const ssize_t got = read(plan_.lifeline, ignored.data(), ignored.size());
    if (got > 0 || (got < 0 && errno == EAGAIN)) return;
    loop_->Forget(plan_.lifeline);
    OnSignal({SIGTERM, getpid(), false});
  });
}

}  // namespace muster::run
