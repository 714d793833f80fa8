// The facts of one `muster run` or `muster launch` at its end (at the root: of all ranks; elsewhere of this
// process's). The summary and the report are made from it. A value.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/map/state.h"
#include "comm/rendezvous/messages/exit_report.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::report {

// The end of a rank, as one word for all facts about it.
enum class RankOutcome {
  kOk,          // ended with 0, by itself
  kFailed,      // the first failure, or ended badly by itself
  kTerminated,  // ended by SIGTERM because the group had failed, or by a signal that requested the end
  kKilled,      // ended by SIGKILL because SIGTERM was not enough
  kLost,        // its supervisor was lost, or did not report its end in time
  kMissing,     // never arrived
  kNotStarted,  // arrived, but its program never ran
};
// The stable names in the report: "ok", "failed", "terminated", "killed", "lost", "missing", "not_started".
std::string_view OutcomeName(RankOutcome outcome);

// A signal requested the end of the run, and a program ended by it: no single rank failed.
bool IsRequest(const rendezvous::Failure& failure);

struct RankRecord {
  std::string node;                 // empty: unknown
  std::optional<Duration> arrived;  // since `joining`
  std::optional<rendezvous::RankEnd> end;
  bool left = false;  // left: it had ended with 0
};

struct RunRecord {
  std::string job;
  std::string group;  // its id; empty: never formed
  std::vector<std::string> command;
  int root = 0;
  Duration grace{};
  std::chrono::system_clock::time_point began;
  // Since `began`, as far as it came.
  Duration joining{};  // the rank was resolved, the rendezvous began
  std::optional<Duration> formed;
  std::optional<Duration> initialized;  // the programs had their own group
  std::optional<Duration> failed;
  Duration ended{};
  std::optional<rendezvous::Failure> failure;
  int exit_status = 0;
  std::vector<RankRecord> ranks;    // index: rank
  std::vector<map::MapState> maps;  // the last ones of the programs

  RankOutcome OutcomeOf(int rank) const;
};

// Ranks by outcome, ascending.
std::map<RankOutcome, std::vector<int>> RanksByOutcome(const RunRecord& record);

// Those that arrived, or ended, earliest first.
struct Moment {
  int rank = 0;
  Duration at{};  // since `began`

  friend bool operator==(const Moment&, const Moment&) = default;
};
using MomentOf = std::function<std::optional<Duration>(const RankRecord&)>;
std::vector<Moment> MomentsInOrder(const RunRecord& record, const MomentOf& moment_of);
std::vector<Moment> ArrivalsInOrder(const RunRecord& record);
std::vector<Moment> EndsInOrder(const RunRecord& record);

// "rank 5 on gpu03"; without a node if that is unknown.
std::string DescribeRank(const RunRecord& record, int rank);

}  // namespace muster::report
