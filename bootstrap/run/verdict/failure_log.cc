#include "bootstrap/run/verdict/failure_log.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::run {
namespace {

// This process has the first rank of its node, the failed one apart.
bool LeadsRest(const RunPlace& place, const rendezvous::Failure& failure) {
  std::vector<int> ranks = place.group.roster.RanksOn(place.group.roster.NodeOf(place.own_ranks.front()));
  std::erase(ranks, failure.rank);
  return !ranks.empty() && ranks.front() == place.own_ranks.front();
}

// The root is lost. Of a thousand nodes the first ranks of three, far from each other, log the failure: the
// loss of a rack leaves one of them.
bool IsFirstReporter(const RunPlace& place, const rendezvous::Failure& failure) {
  const Roster& roster = place.group.roster;
  if (!LeadsRest(place, failure)) return false;
  const int own_node = roster.NodeOf(place.own_ranks.front());
  const int root_node = roster.NodeOf(place.group.root_rank);
  if (own_node == root_node) return true;
  // This node is cut off: no other one can log it.
  if (failure.rank < 0) return true;
  // Only its own leader is lost.
  if (failure.rank < roster.size() && roster.NodeOf(failure.rank) == own_node) return false;
  const auto others = static_cast<int>(roster.nodes.size()) - 1;
  const int own = own_node < root_node ? own_node : own_node - 1;
  return own == 0 || own == others / 2 || own == others - 1;
}

}  // namespace

bool LogsApart(const rendezvous::Failure& failure, uint64_t own_log) {
  return own_log != 0 && own_log != failure.logged_in;
}

FailureLog LogOf(const RunPlace& place, const rendezvous::Failure& failure, bool received, uint64_t own_log) {
  if (place.is_root || (!received && IsFirstReporter(place, failure))) return FailureLog::kFull;
  return LogsApart(failure, own_log) ? FailureLog::kApart : FailureLog::kSilent;
}

std::string FailureLine(const RunPlace& place, const rendezvous::Failure& failure, FailureLog log) {
  if (log != FailureLog::kApart) return ToString(failure.error);
  // "interrupted: rank 3 on gpu02 received SIGINT"
  std::string_view reason = failure.as_requested ? "ending: " : "ending because ";
  if (std::ranges::count(place.own_ranks, failure.rank) > 0) reason = "";
  return fmt::format("{}{}; the log of {} has the cause", reason, failure.error.message,
                     place.Describe(place.group.root_rank));
}

// A killed supervisor takes its program with it, but not the processes that the program started. One that
// lives ends its program as all supervisors do (muster_abandon).
std::optional<pid_t> LostSupervisor(const RunPlace& place, const rendezvous::Failure& failure, pid_t self) {
  const Roster& roster = place.group.roster;
  const int rank = failure.rank;
  const bool without_status = failure.error.code == Code::kPeerLost && failure.exit_status < 0;
  if (!without_status || rank < 0 || rank >= roster.size()) return std::nullopt;
  if (roster.NodeOf(place.own_ranks.front()) != roster.NodeOf(rank) || !LeadsRest(place, failure))
    return std::nullopt;
  const pid_t lost = roster.members[static_cast<size_t>(rank)].pid;
  return lost == self ? std::nullopt : std::optional(lost);
}

}  // namespace muster::run
