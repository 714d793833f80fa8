// Runs a scenario, and judges it.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/scenario/journal_view.h"
#include "tests/simulation/scenario/member.h"

namespace muster::simulation {

// The first words of a violation name its invariant.
struct Invariant {
  std::string_view prefix;
  std::string_view sentence;
};
inline constexpr std::array<Invariant, 28> kInvariants = {{
    {"hangs", "every process ends by its deadline"},
    {"late", "a process without a group ends within 20 s after its deadline"},
    {"fails without a fault", "a launch without faults forms its group, works and leaves"},
    {"disagree", "the ranks of a group report the same first failure"},
    {"waits",
     "if a process is killed, no rank that it had accepted waits for the deadline, and none if its node "
     "knows the end of it"},
    {"blames", "no rank is blamed that no fault has touched"},
    {"unreported",
     "if a process is killed or a node loses power, the root knows the end of the ranks on all other nodes"},
    {"lingers",
     "the root ends without a wait for exit reports of nodes that lost power, and of ranks that never had "
     "the roster unless a node above them lost power"},
    {"misses",
     "if a node loses power and starts again before it is missed, the other ranks know it two heartbeats "
     "later"},
    {"ends with its root",
     "a rank whose root has retired leaves in order, unless a process near it was killed"},
    {"unanswered",
     "a survey of a launch without faults has all ranks within its patience, and a question has its answer"},
    {"mistaken", "no rank is taken for the owner of another one's connection"},
    {"merged", "the members of a group are the ranks of one launch, and know each other"},
    {"twice", "a rank is one process"},
    {"admitted", "no process takes part without proof, and strangers learn nothing"},
    {"loses items",
     "an item of a map ends once: its result or its failure is in the journal, and what the ranks receive is "
     "there"},
    {"gives up items", "an item of a map is given up after as many failed attempts as it has, or lost ranks"},
    {"works twice", "no item of a map is at work twice at a time, unless a fault has touched the first rank"},
    {"works again", "a map that is started again runs no item whose end its journal has"},
    {"ends apart", "the ranks of a map receive the same end, while the network is whole"},
    {"overruns", "a map without faults ends within the time that its items need"},
    {"stops", "a map goes on if a process is killed that no other one is behind"},
    {"leaks descriptors", "a process that ends has closed its descriptors"},
    {"leaks memory", "a process that ends has freed its memory"},
    {"grows", "a process needs at most 16 MiB"},
    {"runs without end", "no process spins"},
    {"crashes", "no process crashes"},
    {"differs", "a seed replays exactly"},
}};

struct Verdict {
  std::vector<std::string> violations;  // of invariants
  uint64_t trace = 0;
  uint64_t events = 0;
  Time time{};
  int formed = 0;  // processes
  int processes = 0;
  std::string logged;    // the names of the log events, each with a comma behind it
  std::string received;  // messages, by state (transitions.h)
  std::string log;       // of all processes, if requested
};

Verdict RunScenario(const Scenario& scenario, bool with_log);

struct Observed {
  bool too_many_events = false;
  std::string to_strangers;                     // all that they have received
  std::map<std::string, JournalView> journals;  // of maps, by path
};

// run_scenario's; README.md has the list.
std::vector<std::string> Judge(const Scenario& scenario, const std::deque<Outcome>& outcomes,
                               const Observed& observed);

}  // namespace muster::simulation
