// environment -> RankTuple: the rank of this process within its launch, and the evidence.
//
// All candidates are collected; nested launchers are settled by containment, not by order alone (two
// candidates describe the same world, or one launched the other, or one is left over). A conflict that cannot
// be settled is refused with both sides shown. Pure: no I/O but ProbeContext's callback and the host files of
// batch systems. The order is launchers.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resolve/slurm/allocation.h"
#include "comm/base/error.h"
#include "comm/pmix_place.h"
#include "comm/rank_tuple.h"

namespace muster::resolve {

struct DetectOptions {
  // The configuration's `launcher` (also MUSTER_LAUNCHER, --launcher): "auto", a launcher's name, or "none".
  std::string launcher = "auto";
  // From the flags; wins over everything if given().
  ExplicitTuple explicit_tuple;
  // Whether a MUSTER_CONTROL answers and belongs to this user and group. Called at most once and only for a
  // live environment; empty: taken as alive.
  std::function<bool(const std::string& control)> control_alive;
  // The other user to whom a MUSTER_CONTROL that does not answer belongs, if it exists. Empty: unknown.
  std::function<std::optional<uid_t>(const std::string& control)> control_owner;
  // The answer of this process's PMIx server, once it has been queried (Refusal::ask_pmix).
  std::optional<PmixPlace> pmix;
  // The launchers to choose from.
  LauncherTable launchers = Launchers();
};

// One launcher that did not win.
struct Considered {
  std::string launcher;
  std::string verdict;  // "absent" "incomplete" "same" "carrier" "leak" "overruled" "malformed" "contradicts"
  std::string reason;

  friend bool operator==(const Considered&, const Considered&) = default;
};

struct Resolution {
  RankTuple tuple;
  std::vector<FieldSource> sources;    // in the order of resolve --json
  std::vector<Considered> considered;  // every other launcher, in the order of launchers.h
  std::vector<std::string> warnings;
  std::optional<Allocation> allocation;  // only if this process is not itself a task of a Slurm step
  std::vector<RankTuple> carriers;       // outer launchers whose processes started this launch

  friend bool operator==(const Resolution&, const Resolution&) = default;
};

struct Refusal {
  Error
      error;  // kNotLaunched, kBadEnvironment, kUsage (explicit), kConfiguration (an unknown launcher's name)
  std::optional<Allocation> allocation;
  std::vector<Considered> considered;
  // The rank that the group expects of this process, if it is certain: the task that it is of a Slurm step.
  std::optional<Resolution> awaited = std::nullopt;
  // The PMIx server of this process may have the missing part: query it, and resolve again with its answer
  // (DetectOptions::pmix).
  bool ask_pmix = false;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

tl::expected<Resolution, Refusal> Resolve(const Environment& environment, const DetectOptions& options = {});

}  // namespace muster::resolve
