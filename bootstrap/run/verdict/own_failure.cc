#include "bootstrap/run/verdict/own_failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bootstrap/report/run_recorder.h"
#include "comm/base/lists.h"

namespace muster::run {
namespace {

constexpr int kTimeIsUp = 80;

// Empty if this process starts all ranks: all of them received the request to end.
std::string DescribeUnlessAlone(const RunPlace& place, int rank) {
  const bool alone = std::cmp_equal(place.own_ranks.size(), place.group.roster.size());
  return alone ? "" : place.Describe(rank);
}

rendezvous::Failure EndedBy(int signal, int rank, const std::string& name) {
  return {{Code::kPeerLost, process::DescribeRequest(signal, name)},
          rank,
          128 + signal,
          "",
          /*as_requested=*/true};
}

}  // namespace

bool TimeIsUp(const rendezvous::Failure& failure) {
  return failure.as_requested && failure.exit_status == kTimeIsUp;
}

int StatusOf(const rendezvous::Failure& failure) {
  return failure.exit_status > 0 ? failure.exit_status : ExitStatus(failure.error.code);
}

rendezvous::Failure FailureOfProgram(const RunPlace& place, const process::EndRequest& request,
                                     const EndedProgram& program, std::string stderr_tail,
                                     Clock::time_point now) {
  const auto& [rank, exit, out_of_memory] = program;
  if (exit.ok()) return FailureOfLost(place, request, rank, true, now);
  const process::EndRequest::Verdict verdict = request.Judge(exit, now);
  if (!verdict.as_requested && exit.signal == 0 && exit.code == kTimeIsUp) {
    return {
        {Code::kPeerLost, fmt::format("{} exited with {}: the time is up", place.Describe(rank), kTimeIsUp),
         "start the same command again: it continues with the rest"},
        rank,
        kTimeIsUp,
        "",
        /*as_requested=*/true};
  }
  std::string what =
      verdict.by_signal
          ? process::DescribeRequest(*request.Explains(now), DescribeUnlessAlone(place, rank))
          : fmt::format("{} failed: {}", place.Describe(rank), report::DescribeEnd(exit, out_of_memory));
  return {{Code::kPeerLost, std::move(what)},
          rank,
          verdict.exit_status,
          std::move(stderr_tail),
          verdict.as_requested};
}

rendezvous::Failure FailureOfLost(const RunPlace& place, const process::EndRequest& request, int rank,
                                  bool exited, Clock::time_point now,
                                  const std::optional<HelperProcess>& helper) {
  // sys.exit(0) in a handler of SIGTERM: the others may still write what they have.
  if (const std::optional<int> signal = request.Explains(now))
    return EndedBy(*signal, rank, DescribeUnlessAlone(place, rank));
  std::string what = exited ? fmt::format("{} exited with 0", place.Describe(rank))
                            : fmt::format("the program of {} closed its connections", place.Describe(rank));
  if (!exited && helper) {
    what = fmt::format("process {}, which the program of {} had started, {}", helper->pid,
                       place.Describe(rank), helper->ended ? "ended" : "closed its connections");
  }
  return {{Code::kPeerLost, what + " without leaving its group",
           "look for a crash or an early exit in its output; muster::Shutdown leaves the group"},
          rank,
          -1,
          ""};
}

rendezvous::Failure FailureOfSignal(int signal, int rank, std::string_view node) {
  return EndedBy(signal, rank, DescribeRank(rank, node));
}

rendezvous::Failure FailureOfSignal(const RunPlace& place, const process::EndRequest& request,
                                    Clock::time_point now) {
  const int rank = place.own_ranks.front();
  return EndedBy(*request.Explains(now), rank, DescribeUnlessAlone(place, rank));
}

rendezvous::Failure FailureOfFiles(const Error& missing) {
  return {missing, -1, missing.code == Code::kWorkFailed ? ExitStatus(missing.code) : -1, ""};
}

std::optional<Error> EndAsRequested(const RunPlace& place, const process::EndRequest& request,
                                    Clock::time_point now) {
  const std::optional<int> signal = request.Explains(now);
  if (!signal) return std::nullopt;
  return Error{Code::kPeerLost, process::DescribeRequest(*signal, place.Describe(place.own_ranks.front()))};
}

std::vector<int> OwnFailures::LostRanks() const {
  std::vector<int> ranks = lost_;
  std::erase_if(ranks, [this](int rank) { return IsExcused(rank); });
  return ranks;
}

OwnFailures::Next OwnFailures::Ended(const EndedProgram& program, bool group_failed, bool explained) {
  const bool may_report = !group_failed && !reported_;
  // Its connections had closed before.
  if (IsExcused(program.rank)) return may_report ? Next::kDone : Next::kNothing;
  const bool failed = !program.exit.ok() || std::ranges::count(lost_, program.rank) > 0;
  const std::vector<int> lost = LostRanks();
  // That program's exit is awaited.
  const bool another_before = !lost.empty() && lost.front() != program.rank;
  // A leave message after a reported failure would let this process go with 0.
  if (!may_report || (failed && !explained && another_before)) {
    if (failed && !group_failed) meanwhile_.push_back(program);
    return Next::kNothing;
  }
  if (!failed) return Next::kDone;
  reported_ = true;
  first_ = program;
  // A signal to a whole step or terminal reaches the program and its supervisor in either order.
  const bool may_be_asked = !explained && process::AsksToEnd(program.exit.ShellStatus() - 128);
  return may_be_asked ? Next::kReportSoon : Next::kReport;
}

OwnFailures::Next OwnFailures::Excuse(int rank) {
  if (!excused_.insert(rank).second) return Next::kNothing;
  reported_ = false;
  first_.reset();
  std::erase_if(meanwhile_, [this](const EndedProgram& program) { return IsExcused(program.rank); });
  if (meanwhile_.empty()) return Next::kDone;
  reported_ = true;
  first_ = meanwhile_.front();
  return Next::kReport;
}

}  // namespace muster::run
