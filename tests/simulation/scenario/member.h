// The program that a simulated process of a launch runs, and what came of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/rendezvous/join/join_request.h"
#include "tests/simulation/scenario/map_member.h"
#include "tests/simulation/scenario/scenario.h"

namespace muster::simulation {

inline constexpr Duration kSurveyPatience = std::chrono::seconds(1);

// To the questions of a supervisor.
struct Answers {
  bool asked = false;
  int missing = 0;     // answers
  Duration survey{};   // its time
  int reports = 0;     // ranks that are not silent
  bool whole = false;  // the root has answered
  int owner = -1;      // a rank; -1: none
};

struct Outcome {
  Process* process = nullptr;  // null: not started
  bool formed = false;
  Time formed_at{};
  std::string group_id;
  std::vector<std::string> members;  // of the roster, by rank: the payloads
  size_t number = 0;                 // of its plan
  bool duplicate = false;            // a second process of its ranks
  bool wrong_secret = false;
  int fails_at = -1;             // the round in which its program fails
  int rounds = 0;                // that went well
  std::optional<Error> failure;  // of forming, or of the group
  Time failed_at{};
  bool left = false;         // in order
  bool is_root = false;      // of a formed group of supervisors
  std::set<int> reported{};  // at the root: ranks whose end it knows
  Answers answers{};
  MapOutcome map{};
  bool ended = false;
  Time began{};
  Time ended_at{};
  int descriptors = 0;  // still open at the end
  ptrdiff_t bytes = 0;  // still allocated
  ptrdiff_t peak = 0;   // bytes
};

// The identity of a member of the roster.
std::string PayloadOf(const Scenario& scenario, const ProcessPlan& plan, int rank);

Placement PlacementOf(const Launch& launch);
rendezvous::JoinRequest RequestOf(const Scenario& scenario, const ProcessPlan& plan, const Outcome& outcome);
void NoteFormed(Outcome& outcome, const Roster& roster);
// The contribution of a rank to an exchange, and why the round is wrong.
std::string GiftOf(int round, int rank);
Error WrongGift(int round, int rank);
std::string RoundName(int round);

// On a fiber of outcome.process, a program that uses the library, for one rank.
void RunLibrary(const Scenario& scenario, const ProcessPlan& plan, Outcome& outcome);
// The same for `muster run`, for one rank or several.
void RunSupervisor(const Scenario& scenario, const ProcessPlan& plan, Outcome& outcome);
// Either.
void RunMember(const Scenario& scenario, const ProcessPlan& plan, Outcome& outcome);

}  // namespace muster::simulation
