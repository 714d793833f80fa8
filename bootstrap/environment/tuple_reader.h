// Reads one launcher's row of variables into a Candidate, strictly: both halves of the pair, whole numbers, a
// rank inside its world. Used by every probe.
#pragma once

#include <initializer_list>
#include <string_view>

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"
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

// A launcher that is nothing but its row of variables.
struct LauncherRow {
  std::string_view name;
  TupleVariables variables;
  std::string_view job_id;  // the variable that names this launch; empty: none
  std::string_view node;    // the variable that names this node; empty: none
};

Probed ToProbed(Result<Candidate> candidate);

// Absent without the pair, else as ReadTuple, with job and node.
Probed ProbeRow(const Environment& environment, const LauncherRow& row);

// The same with MASTER_ADDR and MASTER_PORT, for launchers that name a master.
Probed ProbeTorchRow(const Environment& environment, const LauncherRow& row);

// A value of an allocation for this node, found in place of a process's rank: never a rank. `claim` describes
// it ("PET_NODE_RANK=1 numbers nodes").
Incomplete NodeScoped(std::string claim, std::string hint);

// Each field of the tuple is within the bounds of the rest. `variables` names them in the message.
Status CheckBounds(const RankTuple& tuple, const TupleVariables& variables);

// MASTER_ADDR and MASTER_PORT; absent unless both are set, and for port 0 in a world of one. Error:
// kBadEnvironment naming MASTER_PORT.
Result<std::optional<Endpoint>> ReadMaster(const Environment& environment);
Status ReadMaster(const Environment& environment, Candidate& candidate);

// Sets the field and notes its origin; does nothing if the variable is absent or empty.
void ReadText(const Environment& environment, std::string_view variable, std::string_view field,
              std::optional<std::string>& value, Candidate& candidate);

// As ReadText for the node's name; passes over "localhost", "0.0.0.0" and their like, which name no node.
void ReadNode(const Environment& environment, std::string_view variable, Candidate& candidate);

// The job's id from the first of `variables` that is set and not empty, and the key of its job.
void ReadJobId(const Environment& environment, std::initializer_list<std::string_view> variables,
               Candidate& candidate);

// Of a host's name or address.
bool IsLoopback(std::string_view host);

// "0.0.0.0", "::": for each process its own node. Pods set it on rank 0 alone, so it does not mean that all are there.
bool IsAnyAddress(std::string_view host);

// "launcher:id.step:restart", the name of a launch for users; "-" if there is no id.
std::string JobKey(std::string_view launcher, const JobIdentity& job);

}  // namespace muster
