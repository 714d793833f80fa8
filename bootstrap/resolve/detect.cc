#include "bootstrap/resolve/detect.h"

#include <algorithm>
#include <utility>

#include "bootstrap/resolve/assemble.h"
#include "bootstrap/resolve/containment.h"
#include "bootstrap/resolve/entry.h"
#include "bootstrap/resolve/launchers/batch_hosts.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resolve/left_over.h"

namespace muster::resolve {
namespace {

// The rank and size of a launcher that lost, as far as it has them.
struct Claimed {
  std::optional<int> rank;
  std::optional<int> size;
};

using Outcome = tl::expected<Resolution, Refusal>;

class Resolver {
 public:
  Resolver(const Environment& environment, const DetectOptions& options)
      : environment_(environment), options_(options), allocation_(FindAllocation(environment)) {}

  Outcome Run();

 private:
  void ProbeAll(std::string_view forced);
  void DropWhatMusterLeft();
  void DropWhatTheSubmitterHad();
  Entry* Find(std::string_view name);
  Entry* Find(LauncherRole role);
  Outcome RunForced(std::string_view name);
  Outcome RunAuto();
  Outcome ResolveSingleProcess();
  Entry* ProvenByProcess();
  Entry* Innermost();
  const Candidate* WorldOf(const Entry& entry);
  std::optional<Error> FirstMalformed() const;
  Error Contradiction();
  Error Contradicts(const Entry& claim, const Entry& winner) const;
  Error NotLaunched() const;
  bool Disagrees(const Entry& claim, const Entry& winner) const;
  std::optional<Error> Judge(const Entry& winner, bool proven);
  void JudgeCandidate(Entry& entry, const Entry& winner, bool proven);
  void Overrule(Entry& entry, const Entry& winner, const std::string& claim, const Claimed& claimed);
  std::optional<Error> HiddenSupervisor(const RankTuple* winner);
  Outcome Accept(const Entry& winner);
  void NameStrippedStep();
  tl::unexpected<Refusal> Refuse(Error error);
  tl::unexpected<Refusal> RefuseOrAsk(Error error);
  std::optional<Resolution> AwaitedInStep();
  std::vector<Considered> ConsideredBut(const Entry* winner) const;

  const Environment& environment_;
  const DetectOptions& options_;
  std::optional<Allocation> allocation_;
  std::vector<Entry> entries_;
  Surroundings surroundings_;
  std::vector<std::string> warnings_;
};

// A variable exported in the batch script is the same in every task: the first task with another rank warns
// for all.
bool SpeaksFor(const RankTuple& tuple, const Claimed& claimed) {
  const bool is_rank_0 = claimed.rank == 0 && claimed.size.value_or(tuple.world_size) == tuple.world_size;
  return tuple.rank == (is_rank_0 ? 1 : 0);
}

// They start processes themselves, so a PMIx rank that is not theirs is some outer launcher's.
bool StartsProcesses(const Launcher& launcher) {
  return launcher.role != LauncherRole::kSlurm && launcher.has_signature;
}

void Resolver::ProbeAll(std::string_view forced) {
  ProbeContext context{.explicit_tuple = options_.explicit_tuple,
                       .control_alive = options_.control_alive,
                       .pmix = options_.pmix};
  for (const Launcher* launcher : options_.launchers) {
    context.forced = launcher->name == forced;
    Entry entry{launcher, launcher->Probe(environment_, context), {}, {}};
    SetFirstVerdict(entry);
    entries_.push_back(std::move(entry));
  }
  DropWhatMusterLeft();
  surroundings_.node_name_is_ours = !Find(LauncherRole::kSlurm)->leaked();
}

// A supervisor sets RANK and the rest to its own tuple: if it is gone, they are left over with it.
void Resolver::DropWhatMusterLeft() {
  const Entry& supervisor = *Find(LauncherRole::kSupervisor);
  if (!supervisor.leaked()) return;
  // A program may well call srun.
  const bool is_inside = environment_.live() && environment_.process()->below_supervisor == false;
  if (!is_inside) warnings_.push_back(supervisor.reason);
  Entry& torch = *Find(LauncherRole::kBareTuple);
  const auto rank = environment_.GetCount("MUSTER_RANK");
  const auto size = environment_.GetCount("MUSTER_WORLD_SIZE");
  if (torch.candidate() == nullptr || !rank || !size) return;
  const RankTuple& tuple = torch.candidate()->tuple;
  if (*rank != tuple.rank || *size != tuple.world_size) return;
  torch.probed = Absent{"RANK and WORLD_SIZE are left over from another muster run", true};
  SetFirstVerdict(torch);
  surroundings_.master_is_ours = false;
}

// A rank of a training that submits its evaluation is a rank of the training alone.
void Resolver::DropWhatTheSubmitterHad() {
  if (!allocation_ || !std::holds_alternative<Absent>(Find(LauncherRole::kSlurm)->probed)) return;
  for (Entry& entry : entries_) {
    if (!IsOfTheSubmitter(*entry.launcher, environment_)) continue;
    if (entry.launcher->NamesMaster()) surroundings_.master_is_ours = false;
    entry.probed = Absent{"left over from the process that submitted this job: " + entry.reason, true};
    SetFirstVerdict(entry);
  }
}

Entry* Resolver::Find(std::string_view name) {
  for (Entry& entry : entries_) {
    if (entry.name() == name) return &entry;
  }
  return nullptr;
}

Entry* Resolver::Find(LauncherRole role) { return Find(options_.launchers.With(role).name); }

Outcome Resolver::Run() {
  if (const Status known = options_.launchers.CheckName(options_.launcher); !known) {
    ProbeAll({});
    return Refuse(known.error());
  }
  if (options_.explicit_tuple.given()) return RunForced(options_.launchers.With(LauncherRole::kFlags).name);
  return options_.launcher == "auto" ? RunAuto() : RunForced(options_.launcher);
}

Outcome Resolver::RunForced(std::string_view name) {
  ProbeAll(name);
  Entry& entry = *Find(name);
  if (const auto* absent = std::get_if<Absent>(&entry.probed)) {
    if (entry.role() == LauncherRole::kSlurm && allocation_) return Refuse(NotLaunched());
    const Code code = entry.role() == LauncherRole::kFlags ? Code::kUsage : Code::kNotLaunched;
    return Refuse({code,
                   fmt::format("launcher {} was requested, but {}{}", name,
                               absent->reason.substr(0, 3) == "no " ? "there is " : "", absent->reason),
                   code == Code::kUsage
                       ? "write --rank R --world-size N"
                       : fmt::format("start this process with {}, or leave the launcher to muster: "
                                     "--launcher auto",
                                     entry.role() == LauncherRole::kSlurm ? "srun" : name)});
  }
  if (const auto* incomplete = entry.incomplete())
    return incomplete->pmix_may_know ? RefuseOrAsk(incomplete->error) : Refuse(incomplete->error);
  if (const auto* malformed = std::get_if<Malformed>(&entry.probed)) return Refuse(malformed->error);
  for (Entry& other : entries_) {
    if (&other == &entry || other.candidate() == nullptr) continue;
    if (entry.role() == LauncherRole::kAlone || other.role() == LauncherRole::kAlone) continue;
    const bool same = WorldOf(entry) == other.candidate();
    const Nesting nesting =
        same ? Nesting::kSame
             : Relate(*other.candidate(), *entry.candidate(), environment_, options_.launchers);
    if (nesting == Nesting::kSame) surroundings_.same.push_back(other.candidate());
    if (nesting == Nesting::kCarries) surroundings_.carriers.push_back(other.candidate());
    other.verdict = nesting == Nesting::kSame ? "same" : "overruled";
    if (other.launcher->NamesMaster() && nesting != Nesting::kSame) surroundings_.master_is_ours = false;
  }
  return Accept(entry);
}

Outcome Resolver::RunAuto() {
  ProbeAll({});
  DropWhatTheSubmitterHad();
  Entry* winner = ProvenByProcess();
  const bool proven = winner != nullptr;
  if (!proven) {
    if (auto malformed = FirstMalformed()) return Refuse(*std::move(malformed));
    winner = Innermost();
  }
  if (winner == nullptr) {
    for (const Entry& entry : entries_) {
      if (entry.candidate() != nullptr && entry.role() != LauncherRole::kAlone)
        return Refuse(Contradiction());
    }
    return ResolveSingleProcess();
  }
  if (auto error = Judge(*winner, proven)) return RefuseOrAsk(*std::move(error));
  if (auto lost = HiddenSupervisor(&winner->candidate()->tuple)) return Refuse(*std::move(lost));
  return Accept(*winner);
}

// No candidate at all: an allocation without a rank, or a world of one.
Outcome Resolver::ResolveSingleProcess() {
  Entry& none = *Find(LauncherRole::kAlone);
  // Without their supervisor, its programs have Slurm's variables of no task.
  if (auto lost = HiddenSupervisor(nullptr)) return Refuse(*std::move(lost));
  const Incomplete* part = none.incomplete();
  const bool on_several_hosts = part != nullptr && part->error.code == Code::kNotLaunched;
  for (const Entry& entry : entries_) {
    const Incomplete* incomplete = entry.incomplete();
    if (incomplete == nullptr || incomplete->size == 1 || &entry == &none) continue;
    // An exported WORLD_SIZE is no rank: in a batch script the missing srun is the news.
    const bool in_allocation = on_several_hosts || std::holds_alternative<Absent>(none.probed);
    if (in_allocation && !incomplete->rank && entry.role() != LauncherRole::kSlurm) continue;
    return RefuseOrAsk(incomplete->error);
  }
  if (none.candidate() != nullptr) return Accept(none);
  tl::unexpected<Refusal> refusal = Refuse(part != nullptr ? part->error : NotLaunched());
  if (const auto hosts = on_several_hosts ? HostsOfJob(environment_) : std::nullopt)
    refusal.value().allocation = AllocationOf(*hosts, environment_);
  return refusal;
}

// slurmstepd executed this very process, or its parent is the supervisor: no launcher can be further inside.
Entry* Resolver::ProvenByProcess() {
  if (!environment_.live()) return nullptr;
  const Environment::Process& process = *environment_.process();
  const auto is = [&](std::string_view variable, pid_t pid) {
    const auto value = environment_.GetCount(variable);
    return value && *value && **value == pid;
  };
  Entry* slurm = Find(LauncherRole::kSlurm);
  if (slurm->candidate() != nullptr && is("SLURM_TASK_PID", process.pid)) return slurm;
  Entry* supervisor = Find(LauncherRole::kSupervisor);
  if (supervisor->candidate() != nullptr && is("MUSTER_SUPERVISOR_PID", process.parent)) return supervisor;
  return nullptr;
}

// The entry's tuple for the comparison of launchers: null for no candidate and for none, which nests with no
// launcher. The pair that srun --mpi=pmi2 sets is Slurm's own tuple and counts as such; RANK and the rest
// beside a supervisor's own variables are the supervisor's.
const Candidate* Resolver::WorldOf(const Entry& entry) {
  const Candidate* candidate = entry.candidate();
  if (candidate == nullptr || entry.role() == LauncherRole::kAlone) return nullptr;
  const auto stands_for = [&](LauncherRole role) {
    const Candidate* other = Find(role)->candidate();
    const bool same = other != nullptr && other->tuple.rank == candidate->tuple.rank &&
                      other->tuple.world_size == candidate->tuple.world_size;
    return same ? other : candidate;
  };
  if (entry.launcher->seen_in_steps) return stands_for(LauncherRole::kSlurm);
  return entry.role() == LauncherRole::kBareTuple ? stands_for(LauncherRole::kSupervisor) : candidate;
}

// The first candidate that every other one either agrees with or carries.
Entry* Resolver::Innermost() {
  for (Entry& entry : entries_) {
    const Candidate* inner = WorldOf(entry);
    if (inner == nullptr) continue;
    bool innermost = true;
    for (const Entry& other : entries_) {
      const Candidate* outer = WorldOf(other);
      if (outer == nullptr || outer == inner) continue;
      if (Relate(*outer, *inner, environment_, options_.launchers) == Nesting::kUnrelated) innermost = false;
    }
    if (innermost) return &entry;
  }
  return nullptr;
}

std::optional<Error> Resolver::FirstMalformed() const {
  // Variables with which the Slurm task above started are none of a launcher inside it. But if there is no rank at all, they
  // may be what was left of one: a batch script with RANK=4 and WORLD_SIZE=4 is no world of one.
  const bool is_rank = std::ranges::any_of(entries_, [](const Entry& entry) {
    return entry.candidate() != nullptr && entry.role() != LauncherRole::kAlone;
  });
  for (const Entry& entry : entries_) {
    const auto* malformed = std::get_if<Malformed>(&entry.probed);
    if (malformed == nullptr) continue;
    if (is_rank && IsOlderThanTheTask(*entry.launcher, environment_)) continue;
    Error error = malformed->error;
    if (error.hint.empty()) {
      error.hint = fmt::format("correct or unset it, or force another launcher than {}: {}", entry.name(),
                               Force("NAME"));
    }
    return error;
  }
  return std::nullopt;
}

Error Resolver::Contradiction() {
  for (Entry& a : entries_) {
    for (Entry& b : entries_) {
      const Candidate* first = WorldOf(a);
      const Candidate* second = WorldOf(b);
      if (&a >= &b || first == nullptr || second == nullptr || first == second) continue;
      if (Relate(*first, *second, environment_, options_.launchers) != Nesting::kUnrelated) continue;
      if (Relate(*second, *first, environment_, options_.launchers) != Nesting::kUnrelated) continue;
      a.verdict = b.verdict = "contradicts";
      return {Code::kBadEnvironment,
              fmt::format("{} gives {}, but {} gives {}, and neither started the other", a.name(),
                          Describe(*a.candidate()), b.name(), Describe(*b.candidate())),
              fmt::format("{}, or force the right one with {} or {}", WhatToUnset(a, b), Force(a.name()),
                          b.name())};
    }
  }
  return {Code::kBadEnvironment, "the launchers' variables describe different worlds that do not nest",
          fmt::format("force the right one with {}", Force("NAME"))};
}

Error Resolver::Contradicts(const Entry& claim, const Entry& winner) const {
  return {Code::kBadEnvironment,
          fmt::format("{} is set, but {} gives {}", claim.incomplete()->claim, winner.name(),
                      Describe(*winner.candidate())),
          fmt::format("unset it, or force the right one with {}", Force(winner.name()))};
}

Error Resolver::NotLaunched() const {
  if (!allocation_)
    return {Code::kNotLaunched, "this process was not started as a rank",
            "start it with srun: srun muster ..."};
  return {Code::kNotLaunched, fmt::format("this is the {}, not one of its tasks", Describe(*allocation_)),
          fmt::format("start it with srun: srun muster ...; for a world of one: {}",
                      Force(options_.launchers.With(LauncherRole::kAlone).name))};
}

bool Resolver::Disagrees(const Entry& claim, const Entry& winner) const {
  const Incomplete& incomplete = *claim.incomplete();
  if (!incomplete.rank && !incomplete.size) return false;
  if (claim.launcher->inherited && StartsProcesses(*winner.launcher)) return false;
  if (incomplete.foreign_to_slurm && winner.role() == LauncherRole::kSlurm)
    return !IsOlderThanTheTask(*claim.launcher, environment_);
  const auto fits = [&](const Candidate& candidate) {
    return (!incomplete.rank || *incomplete.rank == candidate.tuple.rank) &&
           (!incomplete.size || *incomplete.size == candidate.tuple.world_size);
  };
  if (fits(*winner.candidate())) return false;
  if (!claim.launcher->inherited) return true;
  for (const Candidate* carrier : surroundings_.carriers) {
    if (fits(*carrier)) return false;
  }
  return true;
}

void Resolver::Overrule(Entry& entry, const Entry& winner, const std::string& claim, const Claimed& claimed) {
  entry.verdict = "overruled";
  entry.reason = claim;
  if (winner.role() != LauncherRole::kSlurm) return;
  entry.reason += ": Slurm started this process (SLURM_TASK_PID)";
  if (!SpeaksFor(winner.candidate()->tuple, claimed)) return;
  warnings_.push_back(
      fmt::format("{} is ignored: Slurm started this process (SLURM_TASK_PID) as {}; do not export it "
                  "in the batch script",
                  claim, Describe(*winner.candidate())));
}

void Resolver::JudgeCandidate(Entry& entry, const Entry& winner, bool proven) {
  const Candidate& candidate = *entry.candidate();
  const std::string claim = Describe(candidate);
  const Candidate* world = WorldOf(entry);
  const Nesting nesting = world == winner.candidate()
                              ? Nesting::kSame
                              : Relate(*world, *winner.candidate(), environment_, options_.launchers);
  switch (nesting) {
    case Nesting::kSame:
      entry.verdict = "same";
      entry.reason = claim;
      surroundings_.same.push_back(&candidate);
      return;
    case Nesting::kCarries:
      entry.verdict = "carrier";
      entry.reason = claim;
      surroundings_.carriers.push_back(&candidate);
      return;
    case Nesting::kUnrelated:
      if (proven) {
        Overrule(entry, winner, fmt::format("{} ({})", entry.name(), claim),
                 {candidate.tuple.rank, candidate.tuple.world_size});
      }
      return;
  }
}

// Gives every loser its verdict. An error: a claim that contradicts the winner.
std::optional<Error> Resolver::Judge(const Entry& winner, bool proven) {
  for (Entry& entry : entries_) {
    if (&entry == &winner) continue;
    if (entry.role() == LauncherRole::kAlone) {
      entry.verdict = "absent";
      entry.reason = "there is a launcher";
      continue;
    }
    if (entry.candidate() == nullptr) continue;
    JudgeCandidate(entry, winner, proven);
    if (entry.launcher->NamesMaster() && entry.verdict != "same") surroundings_.master_is_ours = false;
  }
  for (Entry& entry : entries_) {
    if (const auto* malformed = std::get_if<Malformed>(&entry.probed)) {
      Overrule(entry, winner, malformed->error.message, {});
      entry.verdict = "malformed";
      if (entry.launcher->NamesMaster()) surroundings_.master_is_ours = false;
    }
    const Incomplete* incomplete = entry.incomplete();
    if (incomplete == nullptr) continue;
    if (!Disagrees(entry, winner)) {
      if (incomplete->rank || incomplete->size) entry.reason = incomplete->claim + " alone";
      continue;
    }
    if (!proven) {
      entry.verdict = "contradicts";
      return Contradicts(entry, winner);
    }
    Overrule(entry, winner, incomplete->claim, {incomplete->rank, incomplete->size});
  }
  return std::nullopt;
}

// Of a program that has a supervisor, whatever its winner; null: it has none. Not if the launcher was requested by name.
std::optional<Error> Resolver::HiddenSupervisor(const RankTuple* winner) {
  Entry& supervisor = *Find(LauncherRole::kSupervisor);
  if (!supervisor.leaked()) return std::nullopt;
  const std::string control(environment_.Get("MUSTER_CONTROL").value_or(""));
  const auto owner = options_.control_owner ? options_.control_owner(control) : std::nullopt;
  auto lost = LostSupervisor(environment_, allocation_, winner, owner);
  if (!lost) return std::nullopt;
  supervisor.probed = Malformed{*lost};
  SetFirstVerdict(supervisor);
  return lost;
}

Outcome Resolver::Accept(const Entry& winner) {
  Resolution resolution = Assemble(*winner.candidate(), surroundings_, environment_, options_.launchers);
  resolution.warnings.insert(resolution.warnings.end(), warnings_.begin(), warnings_.end());
  resolution.considered = ConsideredBut(&winner);
  NameStrippedStep();
  if (Find(LauncherRole::kSlurm)->candidate() == nullptr) resolution.allocation = allocation_;
  if (options_.launcher == "auto") {
    const auto left_over =
        WarningsOfLeftOver(winner, *Find(LauncherRole::kSlurm), resolution.allocation, environment_);
    resolution.warnings.insert(resolution.warnings.end(), left_over.begin(), left_over.end());
  }
  return resolution;
}

void Resolver::NameStrippedStep() {
  const Entry* slurm = Find(LauncherRole::kSlurm);
  if (slurm != nullptr && slurm->incomplete() != nullptr && allocation_)
    allocation_->kind = "step, its variables removed";
}

tl::unexpected<Refusal> Resolver::Refuse(Error error) {
  const Entry* slurm = Find(LauncherRole::kSlurm);
  if (slurm != nullptr && slurm->candidate() != nullptr) allocation_.reset();
  NameStrippedStep();
  return tl::unexpected<Refusal>(
      Refusal{std::move(error), allocation_, ConsideredBut(nullptr), AwaitedInStep()});
}

// Whichever launcher's variables are missing or disagree: the server of a PMIx rank has the whole tuple.
tl::unexpected<Refusal> Resolver::RefuseOrAsk(Error error) {
  tl::unexpected<Refusal> refusal = Refuse(std::move(error));
  refusal.value().ask_pmix = std::ranges::any_of(entries_, [](const Entry& entry) {
    return entry.incomplete() != nullptr && entry.incomplete()->pmix_may_know;
  });
  return refusal;
}

// A program under muster run is no task of the group: its supervisor is.
std::optional<Resolution> Resolver::AwaitedInStep() {
  const Entry* slurm = Find(LauncherRole::kSlurm);
  const Entry* supervisor = Find(LauncherRole::kSupervisor);
  if (slurm == nullptr || slurm->candidate() == nullptr ||
      !std::holds_alternative<Absent>(supervisor->probed)) {
    return std::nullopt;
  }
  return Assemble(*slurm->candidate(), {}, environment_, options_.launchers);
}

std::vector<Considered> Resolver::ConsideredBut(const Entry* winner) const {
  std::vector<Considered> considered;
  for (const Entry& entry : entries_) {
    if (&entry != winner) considered.push_back({std::string(entry.name()), entry.verdict, entry.reason});
  }
  return considered;
}

}  // namespace

Outcome Resolve(const Environment& environment, const DetectOptions& options) {
  return Resolver(environment, options).Run();
}

}  // namespace muster::resolve
