// The content of a seed: a cluster, the launches on it, and the faults that happen to them. A value: the
// search leaves out parts of it to find the smallest that still fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/meeting.h"
#include "comm/options.h"
#include "comm/rendezvous/join/tree.h"
#include "tests/simulation/machine/world.h"
#include "tests/simulation/scenario/map_plan.h"

namespace muster::simulation {

// One process of a launch, with the ranks that it stands for.
struct ProcessPlan {
  int launch = 0;
  int node = 0;
  int first_rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_size = 1;
  bool supervisor = false;  // `muster run`; else a program that uses the library
  Time start{};
  int after = -1;  // index into Scenario::processes: starts when that one has ended
};

struct Launch {
  std::string key;
  int world_size = 0;
  int restart = 0;
  FindRoot find_root = FindRoot::kFirstNode;
  bool knows_local_ranks = true;
  bool knows_placement = true;
  Duration rendezvous{};
  LivenessOptions liveness;
  int rounds = 1;
  Duration pause{};           // between rounds
  Duration gather{};          // the deadline of a round
  bool reports_exits = true;  // supervisors, before they leave: run.report
  // Before this round (`rounds`: before they leave) supervisors note that they wait. The one of rank `asker` surveys the group, and
  // asks for the owner of a connection, which is the rank `owner`. -1: never.
  int ask_round = -1;
  int asker = 0;
  int owner = 0;
  // The deadline of programs that use the library when they leave; every other one works on before. Zero: `gather`.
  Duration leave_within{};
  MapPlan map;  // after the rounds; only of programs that use the library
  std::vector<int> node_of_rank;
  size_t fan_out = rendezvous::kFanOut;  // of the tree of leaders
  bool shares = false;                   // the secret and a few ports with the launch beside it
  int follows = -1;  // index into Scenario::launches: the same launch, started again after that one
};

struct Fault {
  enum class Kind {
    kKill,           // process
    kFail,           // process: its program fails in round `count`
    kKillAtCall,     // process, when it makes system call number `count`
    kKillAtMessage,  // process, when it sends message number `count`
    kAbsent,         // process: never starts
    kDuplicate,      // process: a second one with its ranks starts
    kWrongSecret,    // process: has another secret
    kStop,           // process, for a while
    kSlow,           // process, for a while: each turn takes `extra` more
    kNoDescriptors,  // process, for a while: it has `count` at most
    kCut,            // node, other: packets in this direction are lost, for a while
    kCutBoth,        // the same, both ways
    kIsolate,        // node, for a while
    kPowerOff,       // node, or `behind`; if it `restarts`, for a while
    kStranger,       // on node, at the open ports of other, for a while; way `count` (stranger.h)
  };
  Kind kind = Kind::kKill;
  Time at{};
  Duration lasts{};
  int process = 0;  // index into Scenario::processes
  int node = 0;
  int other = 0;
  uint64_t count = 0;
  Duration extra{};
  bool behind = false;  // the node with all nodes below it in the tree of leaders
  bool restarts = false;
};

struct Scenario {
  uint64_t seed = 0;
  Machines machines;
  int nodes = 1;
  std::vector<Launch> launches;
  std::vector<ProcessPlan> processes;
  std::vector<Fault> faults;

  // Beyond this every process has ended.
  Time End() const;
  // That lose power with this fault.
  std::vector<int> NodesOf(const Fault& fault) const;
};

Scenario MakeScenario(uint64_t seed);
// The same ranks again, each when its first process has ended: `muster check && muster run`, or a restart.
void AddSuccessor(Random& random, Scenario& scenario);
std::string Describe(const Scenario& scenario);
std::string Describe(const Scenario& scenario, const Fault& fault);

}  // namespace muster::simulation
