#include "bootstrap/resolve/containment.h"

#include <algorithm>
#include <optional>

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

enum class Age { kUnknown, kOlder, kNewer };

bool SameWorld(const RankTuple& a, const RankTuple& b) {
  return a.rank == b.rank && a.world_size == b.world_size;
}

// Equal numbers may be those of another launch.
bool HasNonceOf(const Environment& start, const Launcher& launcher, const Environment& environment) {
  return launcher.nonce.empty() || start.Get(launcher.nonce) == environment.Get(launcher.nonce);
}

// The variables with which the process that SLURM_TASK_PID names was started; null: unknown.
const Environment* StartOfSlurmTask(const Environment& environment) {
  if (!environment.live()) return nullptr;
  const auto task = environment.GetCount("SLURM_TASK_PID");
  return task && *task == environment.process()->pid ? &environment : environment.process()->slurm_task.get();
}

// Two tuples and the rows of their launchers.
class Pair {
 public:
  Pair(const RankTuple& outer, const RankTuple& inner, const Environment& environment,
       const LauncherTable& launchers)
      : outer_(outer),
        inner_(inner),
        of_outer_(launchers.Of(outer.launcher)),
        of_inner_(launchers.Of(inner.launcher)),
        environment_(environment) {}

  Nesting Relate() const {
    const Nesting by_numbers = ByNumbers();
    const Age inner_age = AgeOf(inner_, of_inner_, of_outer_);
    const Age outer_age = AgeOf(outer_, of_outer_, of_inner_);
    const bool same = by_numbers == Nesting::kSame;
    if (outer_age == Age::kNewer) return Nesting::kUnrelated;
    // A supervisor hands on the very tuple that it was given: that is one world, not a nested one. Slurm does not: a tuple
    // with which its task was started is of a launch around the step, and has equal numbers by chance.
    const bool handed_on = inner_age == Age::kOlder && of_outer_.role == LauncherRole::kSupervisor;
    if (same && (of_inner_.role == LauncherRole::kSupervisor || handed_on)) return Nesting::kSame;
    if (inner_age == Age::kNewer || outer_age == Age::kOlder) return Nesting::kCarries;
    if (inner_age == Age::kOlder) return Nesting::kUnrelated;
    const bool stale = by_numbers == Nesting::kCarries && IsOfAllTasks();
    return stale ? Nesting::kUnrelated : by_numbers;
  }

 private:
  // The value of `anchor`'s variable at the start of the process that `anchor` started above this one; null:
  // unknown.
  const Environment* StartOf(const Launcher& anchor) const {
    if (!environment_.live()) return nullptr;
    if (anchor.role == LauncherRole::kSlurm) return environment_.process()->slurm_task.get();
    if (anchor.role == LauncherRole::kSupervisor) return environment_.process()->supervisor.get();
    return nullptr;
  }

  // Whether `tuple` was in the environment with which `anchor` started the process above this one. Absent:
  // unknown.
  std::optional<bool> WasThere(const RankTuple& tuple, const Launcher& launcher,
                               const Launcher& anchor) const {
    const Environment* start = StartOf(anchor);
    if (start == nullptr || launcher.name.empty()) return std::nullopt;
    if (!HasNonceOf(*start, launcher, environment_)) return false;
    const Probed then = launcher.Probe(*start, {});
    const auto* candidate = std::get_if<Candidate>(&then);
    return candidate != nullptr && SameWorld(candidate->tuple, tuple) && candidate->tuple.job == tuple.job;
  }

  // Of `tuple`, against the moment when `anchor` started the process above this one.
  Age AgeOf(const RankTuple& tuple, const Launcher& launcher, const Launcher& anchor) const {
    const bool is_dated =
        launcher.has_signature || (environment_.Has(launcher.nonce) && !SameWorld(outer_, inner_));
    if (!is_dated) return Age::kUnknown;
    const auto there = WasThere(tuple, launcher, anchor);
    if (!there) return Age::kUnknown;
    return *there ? Age::kOlder : Age::kNewer;
  }

  bool IsMpirunDaemon() const {
    return of_outer_.role == LauncherRole::kSlurm && of_inner_.daemons_by_srun &&
           outer_.num_nodes == outer_.world_size;
  }

  // One process of the outer launch for each node of the inner one. If the sizes are equal too, other ranks
  // mean a stale tuple, unless the inner launcher numbers its nodes as they arrive.
  bool CarriesNodes() const {
    // Ray counts no nodes.
    if (of_inner_.orders_nodes && !inner_.num_nodes && inner_.node_rank)
      return *inner_.node_rank < outer_.world_size && outer_.world_size < inner_.world_size;
    if (outer_.world_size != inner_.num_nodes) return false;
    return outer_.world_size != inner_.world_size || of_inner_.orders_nodes;
  }

  bool CarriesBlocks() const {
    if (of_inner_.has_signature || !of_inner_.NamesMaster() || inner_.num_nodes || !inner_.local_rank)
      return false;
    if (inner_.world_size % outer_.world_size != 0) return false;
    const int each = inner_.world_size / outer_.world_size;
    return each > 1 && inner_.rank / each == outer_.rank && inner_.rank % each == *inner_.local_rank;
  }

  // Variables exported before a step of several tasks began are the same in all of them, and so no block of
  // one. Task 0 would take a stale RANK=0 of a larger world for its own, and wait for tasks that resolve
  // correctly.
  bool IsOfAllTasks() const {
    return outer_.world_size > 1 && !of_inner_.has_signature &&
           WasThere(inner_, of_inner_, of_outer_).value_or(false);
  }

  Nesting ByNumbers() const {
    if (IsMpirunDaemon()) return Nesting::kCarries;
    if (SameWorld(outer_, inner_)) return Nesting::kSame;
    const bool carries = outer_.world_size == 1 || CarriesNodes() || CarriesBlocks();
    return carries ? Nesting::kCarries : Nesting::kUnrelated;
  }

  const RankTuple& outer_;
  const RankTuple& inner_;
  const Launcher& of_outer_;
  const Launcher& of_inner_;
  const Environment& environment_;
};

}  // namespace

Nesting Relate(const Candidate& outer, const Candidate& inner, const Environment& environment,
               const LauncherTable& launchers) {
  return Pair(outer.tuple, inner.tuple, environment, launchers).Relate();
}

bool IsOlderThanTheTask(const Launcher& launcher, const Environment& environment) {
  const Environment* task = StartOfSlurmTask(environment);
  if (task == nullptr || launcher.role == LauncherRole::kSlurm) return false;
  return HasNonceOf(*task, launcher, environment) &&
         std::ranges::all_of(VariablesOf(launcher), [&](std::string_view variable) {
           return task->Get(variable) == environment.Get(variable);
         });
}

bool MayBeOfTheSubmitter(const Launcher& launcher, const Environment& environment) {
  // A step without a part of its variables resembles a batch script: there, those of srun's plugins are its own.
  if (launcher.seen_in_steps && (!environment.live() || environment.process()->slurm_step.empty()))
    return false;
  return IsOlderThanTheTask(launcher, environment);
}

bool IsOfTheSubmitter(const Launcher& launcher, const Environment& environment) {
  return environment.Has(launcher.nonce) && MayBeOfTheSubmitter(launcher, environment);
}

}  // namespace muster::resolve
