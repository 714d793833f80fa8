// Reads one launcher's row of variables into a Candidate, strictly: both halves of the pair, whole numbers, a
// rank inside its world. What every probe shares.
#pragma once

#include <string_view>

#include "bootstrap/launch/candidate.h"
#include "bootstrap/launch/environment.h"
#include "comm/base/error.h"

namespace muster {

// The names of one launcher's variables; empty: it has none for that field.
struct TupleVariables {
  std::string_view rank;
  std::string_view world_size;
  std::string_view local_rank;
  std::string_view local_world_size;
  std::string_view node_rank;
  std::string_view num_nodes;
};

// Neither the rank nor the size is set.
bool HasNoPair(const Environment& environment, const TupleVariables& variables);

// The tuple with the source of each field; job, node and master are the caller's. Error: kBadEnvironment
// naming the variable: half a pair, blank, not a number, negative, too large, outside its world.
Result<Candidate> ReadTuple(std::string_view launcher, const Environment& environment,
                            const TupleVariables& variables);

// Each field of the tuple within the others' bounds. `variables` names them in the message.
Status CheckBounds(const RankTuple& tuple, const TupleVariables& variables);

// MASTER_ADDR and MASTER_PORT; absent unless both are set, and for port 0 in a world of one. Error:
// kBadEnvironment naming MASTER_PORT.
Result<std::optional<Endpoint>> ReadMaster(const Environment& environment);

// Sets the field and notes where it came from; does nothing where the variable is absent or empty.
void ReadText(const Environment& environment, std::string_view variable, std::string_view field,
              std::optional<std::string>& value, Candidate& candidate);

// "launcher:id.step:restart", the name of a launch for people; "-" where there is no id.
std::string JobKey(std::string_view launcher, const JobIdentity& job);

}  // namespace muster
