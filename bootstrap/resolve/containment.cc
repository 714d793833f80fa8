#include "bootstrap/resolve/containment.h"

#include <optional>

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

enum class Age { kUnknown, kOlder, kNewer };

bool SameWorld(const RankTuple& a, const RankTuple& b) {
  return a.rank == b.rank && a.world_size == b.world_size;
}

const Environment* StartOf(const RankTuple& tuple, const Environment& environment) {
  if (!environment.live()) return nullptr;
  if (tuple.launcher == "slurm") return environment.process()->slurm_task.get();
  if (tuple.launcher == "muster") return environment.process()->supervisor.get();
  return nullptr;
}

// Whether `tuple` stood in what `anchor`'s launcher started the process above this one with. Absent: not
// known.
std::optional<bool> WasThere(const RankTuple& tuple, const RankTuple& anchor,
                             const Environment& environment) {
  const Environment* start = StartOf(anchor, environment);
  const Launcher* launcher = FindLauncher(tuple.launcher);
  if (start == nullptr || launcher == nullptr) return std::nullopt;
  const Probed then = launcher->probe(*start, {});
  const auto* candidate = std::get_if<Candidate>(&then);
  return candidate != nullptr && SameWorld(candidate->tuple, tuple) && candidate->tuple.job == tuple.job;
}

// Of `tuple`, against the moment when `anchor`'s launcher started the process above this one.
Age AgeOf(const RankTuple& tuple, const RankTuple& anchor, const Environment& environment) {
  if (!TraitsOf(tuple.launcher).has_signature) return Age::kUnknown;
  const auto there = WasThere(tuple, anchor, environment);
  if (!there) return Age::kUnknown;
  return *there ? Age::kOlder : Age::kNewer;
}

bool IsMpirunDaemon(const RankTuple& outer, const RankTuple& inner) {
  return outer.launcher == "slurm" && TraitsOf(inner.launcher).daemons_by_srun &&
         outer.num_nodes == outer.world_size;
}

// One process of the outer launch for each node of the inner one. Where the sizes are equal, too, other ranks
// mean a stale tuple, unless the inner launcher numbers its nodes as they arrive.
bool CarriesNodes(const RankTuple& outer, const RankTuple& inner) {
  if (outer.world_size != inner.num_nodes) return false;
  return outer.world_size != inner.world_size || TraitsOf(inner.launcher).orders_nodes;
}

bool CarriesBlocks(const RankTuple& outer, const RankTuple& inner) {
  const Launcher::Traits traits = TraitsOf(inner.launcher);
  if (traits.has_signature || !traits.names_master || inner.num_nodes || !inner.local_rank) return false;
  if (inner.world_size % outer.world_size != 0) return false;
  const int each = inner.world_size / outer.world_size;
  return each > 1 && inner.rank / each == outer.rank && inner.rank % each == *inner.local_rank;
}

// What was exported before a step of several tasks began is the same in all of them, and so no block of one:
// task 0 would take a stale RANK=0 of a larger world for its own, and wait for the others, who know better.
bool IsOfAllTasks(const RankTuple& outer, const RankTuple& inner, const Environment& environment) {
  return outer.world_size > 1 && !TraitsOf(inner.launcher).has_signature &&
         WasThere(inner, outer, environment).value_or(false);
}

Nesting ByNumbers(const RankTuple& outer, const RankTuple& inner) {
  if (IsMpirunDaemon(outer, inner)) return Nesting::kCarries;
  if (SameWorld(outer, inner)) return Nesting::kSame;
  const bool carries = outer.world_size == 1 || CarriesNodes(outer, inner) || CarriesBlocks(outer, inner);
  return carries ? Nesting::kCarries : Nesting::kUnrelated;
}

}  // namespace

Nesting Relate(const Candidate& outer, const Candidate& inner, const Environment& environment) {
  const Nesting by_numbers = ByNumbers(outer.tuple, inner.tuple);
  const Age inner_age = AgeOf(inner.tuple, outer.tuple, environment);
  const Age outer_age = AgeOf(outer.tuple, inner.tuple, environment);
  const bool same = by_numbers == Nesting::kSame;
  if (outer_age == Age::kNewer) return Nesting::kUnrelated;
  // A supervisor hands on the very tuple that it was given: that is one world, not a nested one.
  if (same && (inner.tuple.launcher == "muster" || inner_age == Age::kOlder)) return Nesting::kSame;
  if (inner_age == Age::kNewer || outer_age == Age::kOlder) return Nesting::kCarries;
  if (inner_age == Age::kOlder) return Nesting::kUnrelated;
  const bool stale = by_numbers == Nesting::kCarries && IsOfAllTasks(outer.tuple, inner.tuple, environment);
  return stale ? Nesting::kUnrelated : by_numbers;
}

}  // namespace muster::resolve
