// The contents of one launcher's variables, before detection compares launchers.
//
// Every launcher of launchers.cc is one pure function Probe(Environment, ProbeContext) -> Probed. A Candidate
// has all its fields from one launcher, and the variable from which each came.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bootstrap/environment/environment.h"
#include "comm/address.h"
#include "comm/base/error.h"
#include "comm/pmix_place.h"
#include "comm/rank_tuple.h"

namespace muster {

// --rank --world-size --local-rank --endpoint.
struct ExplicitTuple {
  std::optional<int> rank;
  std::optional<int> world_size;
  std::optional<int> local_rank;
  std::optional<Endpoint> endpoint;

  bool given() const { return rank || world_size || local_rank; }
  friend bool operator==(const ExplicitTuple&, const ExplicitTuple&) = default;
};

struct ProbeContext {
  ExplicitTuple explicit_tuple;
  // This launcher was requested by name: weaker evidence suffices.
  bool forced = false;
  // Whether MUSTER_CONTROL answers and is ours. Only tried in a live environment; empty: taken as alive.
  std::function<bool(const std::string& control)> control_alive;
  // The answer of this process's PMIx server; absent: it has not been queried.
  std::optional<PmixPlace> pmix;
};

// The origin of a field of the tuple.
struct FieldSource {
  std::string field;     // as in `resolve --json`: "rank", "world_size", "node", "master", "job.id", ...
  std::string variable;  // "SLURM_PROCID"; may have a note: "SLURM_GTIDS (count)"
  std::string launcher;  // other than the winner: borrowed

  friend bool operator==(const FieldSource&, const FieldSource&) = default;
};

// Nothing of this launcher here.
struct Absent {
  std::string reason;
  bool leaked = false;  // there is something, but it is left over from somewhere else
};

// Some variables of this launcher, but not a whole tuple. Harmless if another launcher's tuple agrees with
// `rank` and `size`; else `error` names the missing part.
struct Incomplete {
  Error error;
  std::string claim;  // "RANK=3, WORLD_SIZE=8": the evidence for `rank` and `size`
  std::optional<int> rank = {};
  std::optional<int> size = {};
  // It cannot describe the same world as a Slurm step, whatever its numbers (a PMIx server that is not
  // Slurm's).
  bool foreign_to_slurm = false;
  // Its PMIx server may have the missing part, and has not been queried.
  bool pmix_may_know = false;
};

struct Candidate {
  RankTuple tuple;
  std::vector<FieldSource> sources;
  std::vector<std::string> warnings;
};

// Wrong on its own: half a pair, a rank outside its world, not a number.
struct Malformed {
  Error error;
};

using Probed = std::variant<Absent, Incomplete, Candidate, Malformed>;

}  // namespace muster
