// What one launcher's variables say, before anybody decides who is right.
//
// Every launcher of launchers.cc is one pure function Probe(Environment, ProbeContext) -> Probed. A Candidate
// has all its fields from one launcher and knows which variable each came from.
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
  // This launcher was asked for by name: weaker evidence will do.
  bool forced = false;
  // Whether MUSTER_CONTROL answers and is ours. Only asked in a live environment; empty: taken as alive.
  std::function<bool(const std::string& control)> control_alive;
  // What the PMIx server of this process says; absent: it has not been asked.
  std::optional<PmixPlace> pmix;
};

// Where a field of the tuple came from.
struct FieldSource {
  std::string field;     // as in `resolve --json`: "rank", "world_size", "node", "master", "job.id", ...
  std::string variable;  // "SLURM_PROCID"; may say how: "SLURM_GTIDS (count)"
  std::string launcher;  // other than the winner: borrowed

  friend bool operator==(const FieldSource&, const FieldSource&) = default;
};

// Nothing of this launcher here.
struct Absent {
  std::string reason;
  bool leaked = false;  // there is something, but it is left over from somewhere else
};

// Something of this launcher, but not a whole tuple. Harmless where another launcher's tuple agrees with
// `rank` and `size`; else `error` says what is missing.
struct Incomplete {
  Error error;
  std::string claim;  // "RANK=3, WORLD_SIZE=8": what `rank` and `size` rest on
  std::optional<int> rank;
  std::optional<int> size;
  // It cannot describe the same world as a Slurm step, whatever the numbers say (a PMIx server that is not
  // Slurm's).
  bool foreign_to_slurm = false;
  // Its PMIx server may say what is missing, and has not been asked.
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
