#include "comm/rendezvous/survey/stragglers.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "comm/base/parse.h"

namespace muster::rendezvous {
namespace {

// Two ranks with the same key are in the same operation. Send and Recv are one for all that wait for a peer.
using Key = std::tuple<uint64_t, std::string, uint64_t, int>;

Key KeyOf(const OperationState& operation) {
  if (operation.collective) return {operation.communicator, operation.operation, operation.sequence, -1};
  const int peer = operation.waiting_for.empty() ? -1 : operation.waiting_for.front();
  return {operation.communicator, operation.operation, 0, peer};
}

const OperationState* LastOn(const RankReport& report, uint64_t communicator, bool active) {
  for (const OperationState& operation : report.operations) {
    if (operation.collective && operation.communicator == communicator && operation.active == active) {
      return &operation;
    }
  }
  return nullptr;
}

// Whether the rank is in this collective, or past it.
bool HasArrived(const RankReport& report, const OperationState& call) {
  return std::ranges::any_of(report.operations, [&](const OperationState& own) {
    return own.collective && own.communicator == call.communicator && own.sequence >= call.sequence;
  });
}

std::string DescribeProcess(const RankReport& report) {
  if (report.process.state == 'T' || report.process.state == 't') return "stopped (SIGSTOP or a debugger)";
  if (report.process.state == 'Z') return "ended, but not yet reaped";
  return "silent";
}

// The last position of a late rank; the same text for all in the same position.
std::string WhereIs(const RankReport& report, uint64_t communicator) {
  switch (report.state) {
    case RankState::kSilent:
      return DescribeProcess(report);
    case RankState::kProgram:
    case RankState::kOwnGroup:
      return report.process.state == 'T' ? DescribeProcess(report)
                                         : "whose program has not called muster::Init";
    case RankState::kEnded:
      return fmt::format("whose program has ended with {}", report.exit_status);
    case RankState::kLeft:
      return "which has left the group";
    case RankState::kInGroup:
      break;
  }
  if (const OperationState* own = LastOn(report, communicator, true)) return "in " + ShortName(*own);
  const OperationState* last = LastOn(report, communicator, false);
  std::string seen =
      last == nullptr ? "not seen in any operation so far" : "last seen in " + ShortName(*last);
  for (const OperationState& own : report.operations) {
    if (!own.active) continue;
    return fmt::format("in {}{}, {}", ShortName(own),
                       own.collective && own.communicator != communicator ? " of another communicator" : "",
                       seen);
  }
  if (report.process.state == 'T') return fmt::format("{}, {}", DescribeProcess(report), seen);
  return seen;
}

class Analysis {
 public:
  Analysis(const std::vector<RankReport>& reports, Duration at_least)
      : least_(
            static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(at_least).count())) {
    for (const RankReport& report : reports) by_rank_[report.rank] = &report;
  }

  void Add(const RankReport& report, const OperationState& operation) {
    WaitingCall& call = calls_[KeyOf(operation)];
    if (call.waiting.empty() || operation.milliseconds > call.call.milliseconds) call.call = operation;
    call.waiting.push_back(report.rank);
    // A rank that has just begun to wait may be served in a moment.
    if (operation.milliseconds < least_) return;
    std::set<int>& awaited = awaited_[KeyOf(operation)];
    awaited.insert(operation.waiting_for.begin(), operation.waiting_for.end());
  }

  std::vector<WaitingCall> Take() {
    std::vector<WaitingCall> found;
    for (auto& [key, call] : calls_) {
      if (call.call.milliseconds < least_) continue;
      FindLate(call, awaited_[key]);
      found.push_back(std::move(call));
    }
    std::ranges::stable_sort(found, [](const WaitingCall& a, const WaitingCall& b) {
      return a.call.milliseconds > b.call.milliseconds;
    });
    return found;
  }

 private:
  // The members of a part of the group are the ranks that report it, or are waited for in it.
  void FindLate(WaitingCall& call, const std::set<int>& awaited) const {
    std::map<std::string, std::vector<int>> late;
    for (const auto& [rank, report] : by_rank_) {
      const bool takes_part =
          awaited.contains(rank) ||
          (call.call.collective && (call.call.communicator == kWorldCommunicator ||
                                    LastOn(*report, call.call.communicator, false) != nullptr ||
                                    LastOn(*report, call.call.communicator, true) != nullptr));
      // A rank that has left and is not waited for had done its part before. A program that ends with 0 has left.
      const bool over = report->state == RankState::kLeft ||
                        (report->state == RankState::kEnded && report->exit_status == 0);
      const bool done = over && !awaited.contains(rank);
      if (!takes_part || done || (call.call.collective && HasArrived(*report, call.call))) continue;
      late[WhereIs(*report, call.call.communicator)].push_back(rank);
      if (report->state == RankState::kLeft || (over && call.call.collective)) call.left.push_back(rank);
    }
    for (auto& [where, ranks] : late) call.late.push_back({std::move(ranks), where});
    std::ranges::sort(call.late, {}, [](const WaitingCall::Late& one) { return one.ranks.front(); });
  }

  const uint64_t least_;
  std::map<int, const RankReport*> by_rank_;
  std::map<Key, WaitingCall> calls_;
  std::map<Key, std::set<int>> awaited_;
};

std::string DescribeLate(const Roster& roster, const std::vector<WaitingCall::Late>& late) {
  std::string text;
  for (const WaitingCall::Late& one : late) {
    text +=
        fmt::format("{}{}, {}", text.empty() ? "" : "; ", DescribeRanksBriefly(roster, one.ranks), one.where);
  }
  return text;
}

}  // namespace

std::vector<WaitingCall> FindWaitingCalls(const std::vector<RankReport>& reports, Duration at_least) {
  Analysis analysis(reports, at_least);
  for (const RankReport& report : reports) {
    for (const OperationState& operation : report.operations) {
      if (operation.active) analysis.Add(report, operation);
    }
  }
  return analysis.Take();
}

std::string Describe(const Roster& roster, const WaitingCall& call) {
  std::string text = Describe(call.call);
  if (!call.call.collective) text += " on " + DescribeRanksBriefly(roster, call.waiting);
  const std::string age = FormatAge(call.call.milliseconds);
  if (call.late.empty()) {
    return fmt::format("{} has taken {} so far; no rank is missing", text, age);
  }
  text += fmt::format(" waits {} for ", age);
  return text + DescribeLate(roster, call.late);
}

std::string DescribeMissing(const Roster& roster, const std::vector<RankReport>& reports, int rank,
                            uint64_t communicator, uint64_t sequence) {
  std::vector<WaitingCall::Late> missing;
  for (const WaitingCall& call : FindWaitingCalls(reports, Duration::zero())) {
    if (!call.call.collective || call.call.communicator != communicator || call.call.sequence != sequence) {
      continue;
    }
    if (std::ranges::count(call.waiting, rank) > 0) {
      missing.insert(missing.begin(), call.late.begin(), call.late.end());
    } else {
      missing.push_back({call.waiting, "in " + ShortName(call.call)});
    }
  }
  return DescribeLate(roster, missing);
}

std::string DescribeState(const RankReport& report) {
  switch (report.state) {
    case RankState::kSilent:
      return DescribeProcess(report);
    case RankState::kProgram:
      return report.process.state == 'T' ? "its program is stopped" : "its program runs without a group";
    case RankState::kOwnGroup:
      return report.process.state == 'T' ? "its program is stopped" : "its program runs PyTorch's own group";
    case RankState::kEnded:
      return fmt::format("its program has ended with {}", report.exit_status);
    case RankState::kLeft:
      return "has left the group";
    case RankState::kInGroup:
      break;
  }
  if (report.operations.empty()) return "in the program, in no operation so far";
  const OperationState& first = report.operations.front();
  if (first.active) return "in " + Describe(first);
  return "in the program, last in " + ShortName(first);
}

std::string FormatAge(uint64_t milliseconds) {
  constexpr uint64_t kSecond = 1000;
  constexpr uint64_t kMinute = 60 * kSecond;
  constexpr uint64_t kHour = 60 * kMinute;
  if (milliseconds < 10 * kSecond)
    return fmt::format("{}.{} s", milliseconds / kSecond, milliseconds % kSecond / 100);
  if (milliseconds < 2 * kMinute) return fmt::format("{} s", milliseconds / kSecond);
  if (milliseconds < 2 * kHour) return fmt::format("{} m", milliseconds / kMinute);
  return fmt::format("{}.{} h", milliseconds / kHour, milliseconds % kHour / (6 * kMinute));
}

}  // namespace muster::rendezvous
