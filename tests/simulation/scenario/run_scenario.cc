#include "tests/simulation/scenario/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <set>

#include "comm/log/log.h"
#include "tests/simulation/scenario/stranger.h"
#include "tests/simulation/scenario/transitions.h"

namespace muster::simulation {
namespace {

constexpr uid_t kUser = 1000;
constexpr uint64_t kMostEvents = 3000000;  // and of each process
constexpr uint64_t kMostOfEach = 30000;
// A leader that searches the root on all nodes makes up to 500 attempts a second (LongestPause).
constexpr uint64_t kMostOfSearch = 10000;  // a second
constexpr uid_t kStranger = 2000;

struct Running {
  const Scenario& scenario;
  World world;
  std::deque<Outcome> outcomes;  // of each plan, then of duplicates
  std::string to_strangers;
  size_t awaited = 0;  // an outcome that was not over when it was last examined
};

bool IsAbsent(const Scenario& scenario, size_t number) {
  return std::ranges::any_of(scenario.faults, [&](const Fault& fault) {
    return fault.kind == Fault::Kind::kAbsent && static_cast<size_t>(fault.process) == number;
  });
}

void StartNext(Running& running, size_t before);

void Start(Running& running, Outcome& outcome) {
  const ProcessPlan& plan = running.scenario.processes[outcome.number];
  Node& node = *running.world.nodes()[static_cast<size_t>(plan.node)];
  if (!node.up) return;
  Process& process =
      running.world.AddProcess(node, kUser, fmt::format("{}.{}", plan.launch, plan.first_rank));
  outcome.process = &process;
  for (const Fault& fault : running.scenario.faults) {
    if (outcome.duplicate || static_cast<size_t>(fault.process) != outcome.number) continue;
    if (fault.kind == Fault::Kind::kKillAtCall) process.kill_at_call = fault.count;
    if (fault.kind == Fault::Kind::kKillAtMessage) process.kill_at_message = fault.count;
    if (fault.kind == Fault::Kind::kFail) outcome.fails_at = static_cast<int>(fault.count);
    if (fault.kind == Fault::Kind::kWrongSecret) outcome.wrong_secret = true;
  }
  if (!outcome.duplicate) process.on_end = [&running, &outcome] { StartNext(running, outcome.number); };
  process.Start([&running, &plan, &outcome] { RunMember(running.scenario, plan, outcome); });
}

// A shell notices the end of a process within a millisecond.
void StartNext(Running& running, size_t before) {
  const KernelMemory kernel;
  const std::vector<ProcessPlan>& plans = running.scenario.processes;
  const auto next = std::ranges::find(plans, static_cast<int>(before), &ProcessPlan::after);
  if (next == plans.end()) return;
  const auto number = static_cast<size_t>(next - plans.begin());
  if (IsAbsent(running.scenario, number)) return;
  const Time noticed = std::chrono::ceil<std::chrono::milliseconds>(running.world.now());
  running.world.At(noticed + next->start, [&running, number] {
    if (running.outcomes[number].process == nullptr) Start(running, running.outcomes[number]);
  });
}

void StartDuplicate(Running& running, size_t number) {
  running.outcomes.push_back({});
  Outcome& outcome = running.outcomes.back();
  outcome.number = number;
  outcome.duplicate = true;
  Start(running, outcome);
}

void StartStranger(Running& running, const Fault& fault) {
  World& world = running.world;
  // A port is held on the node itself.
  Node& node = *world.nodes()[static_cast<size_t>(fault.node)];
  Node& target = *world.nodes()[static_cast<size_t>(fault.other)];
  if (!node.up) return;
  Process& process = world.AddProcess(node, kStranger, "stranger");
  process.Start([&running, &fault, &process, &node, &target] {
    const KernelMemory kernel;
    RunStranger(process, fault.count + 1 == kWaysOfStrangers ? node : target, fault.count, fault.lasts,
                &running.to_strangers);
  });
}

// The processes that follow those that it had begin when it is up.
void PowerOn(Running& running, int node) {
  Node& its = *running.world.nodes()[static_cast<size_t>(node)];
  if (its.up) return;
  running.world.PowerOn(its);
  for (size_t i = 0; i < running.scenario.processes.size(); ++i) {
    const ProcessPlan& plan = running.scenario.processes[i];
    const Outcome& outcome = running.outcomes[i];
    if (plan.node == node && plan.after < 0 && outcome.process != nullptr && outcome.process->killed)
      StartNext(running, i);
  }
}

void CutFor(World& world, int from, int to, Duration lasts) {
  world.network.Cut(from, to);
  world.After(lasts, [&world, from, to] { world.network.Mend(from, to); });
}

void Inflict(Running& running, const Fault& fault) {
  World& world = running.world;
  Process* const process = running.outcomes[static_cast<size_t>(fault.process)].process;
  using enum Fault::Kind;
  switch (fault.kind) {
    case kKill:
      if (process != nullptr) process->End(true);
      return;
    case kStop:
      if (process == nullptr) return;
      process->Stop();
      return world.After(fault.lasts, [process] { process->Continue(); });
    case kSlow:
      if (process == nullptr) return;
      process->slowness = fault.extra;
      return world.After(fault.lasts, [process] { process->slowness = Duration::zero(); });
    case kCutBoth:
      CutFor(world, fault.other, fault.node, fault.lasts);
      [[fallthrough]];
    case kCut:
      return CutFor(world, fault.node, fault.other, fault.lasts);
    case kIsolate:
      for (int other = 0; other < running.scenario.nodes; ++other) {
        CutFor(world, fault.node, other, fault.lasts);
        CutFor(world, other, fault.node, fault.lasts);
      }
      return;
    case kPowerOff:
      for (const int node : running.scenario.NodesOf(fault)) {
        world.PowerOff(*world.nodes()[static_cast<size_t>(node)]);
        if (fault.restarts) world.After(fault.lasts, [&running, node] { PowerOn(running, node); });
      }
      return;
    case kNoDescriptors:
      if (process == nullptr) return;
      process->most_descriptors = fault.count;
      return world.After(fault.lasts,
                         [process] { process->most_descriptors = std::numeric_limits<uint64_t>::max(); });
    case kDuplicate:
      return StartDuplicate(running, static_cast<size_t>(fault.process));
    case kStranger:
      return StartStranger(running, fault);
    case kFail:
    case kAbsent:
    case kWrongSecret:
    case kKillAtCall:
    case kKillAtMessage:
      return;
  }
}

uint64_t MostEvents(const Scenario& scenario) {
  uint64_t most = kMostEvents + kMostOfEach * scenario.processes.size();
  for (const ProcessPlan& plan : scenario.processes) {
    const Launch& launch = scenario.launches[static_cast<size_t>(plan.launch)];
    if (launch.find_root == FindRoot::kSearch && plan.local_rank == 0)
      most += kMostOfSearch * static_cast<uint64_t>(launch.rendezvous / std::chrono::seconds(1));
  }
  return most;
}

double Seconds(Time time) { return std::chrono::duration<double>(time).count(); }

std::string EventsLogged(const World& world) {
  constexpr std::string_view kField = "\"event\":\"";
  std::set<std::string> names;
  for (const auto& process : world.processes()) {
    for (size_t at = process->log.find(kField); at != std::string::npos; at = process->log.find(kField, at)) {
      at += kField.size();
      names.insert(process->log.substr(at, process->log.find('"', at) - at));
    }
  }
  std::string all;
  for (const std::string& name : names) all += name + ",";
  return all;
}

// Those that never start need not end.
bool IsOver(const Running& running, const Outcome& outcome) {
  if (outcome.process != nullptr) return outcome.process->state == Process::State::kEnded;
  const ProcessPlan& plan = running.scenario.processes[outcome.number];
  const bool waits = plan.after < 0 || running.outcomes[static_cast<size_t>(plan.after)].process != nullptr;
  const bool node_up = running.world.nodes()[static_cast<size_t>(plan.node)]->up;
  return IsAbsent(running.scenario, outcome.number) || !node_up || !waits;
}

// Called for each event.
bool AllEnded(Running& running) {
  const auto is_awaited = [&](const Outcome& outcome) { return !IsOver(running, outcome); };
  if (is_awaited(running.outcomes[running.awaited])) return false;
  const auto found = std::ranges::find_if(running.outcomes, is_awaited);
  if (found == running.outcomes.end()) return true;
  running.awaited = static_cast<size_t>(found - running.outcomes.begin());
  return false;
}

// After a loss of all power.
std::map<std::string, JournalView> ReadJournals(Running& running) {
  for (const auto& node : running.world.nodes()) running.world.LoseMemory(*node);
  std::map<std::string, JournalView> journals;
  for (const Launch& launch : running.scenario.launches) {
    if (!launch.map.journal.empty() && !journals.contains(launch.map.journal))
      journals[launch.map.journal] = ReadJournal(running.world, launch.map.journal, kUser);
  }
  return journals;
}

// What came of each process: the log lacks the failures, which their programs would report.
std::string Summaries(const Scenario& scenario, const std::deque<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    const ProcessPlan& plan = scenario.processes[outcome.number];
    text += fmt::format("launch {} rank {} on n{}", plan.launch, plan.first_rank, plan.node);
    if (outcome.formed) text += fmt::format(", formed at {:.3f} s", Seconds(outcome.formed_at));
    if (outcome.process != nullptr && outcome.process->killed)
      text += fmt::format(", killed at {:.3f} s", Seconds(outcome.process->ended));
    if (outcome.ended) text += fmt::format(", over at {:.3f} s", Seconds(outcome.ended_at));
    if (outcome.left) text += ", left";
    if (outcome.failure) text += ": " + ToString(*outcome.failure);
    text += "\n";
  }
  return text;
}

}  // namespace

Verdict RunScenario(const Scenario& scenario, bool with_log) {
  SetUpLog({with_log ? LogLevel::kDebug : LogLevel::kInfo, LogFormat::kJson, std::nullopt});
  Running running{scenario, World(scenario.seed, scenario.machines), {}, {}, 0};
  running.outcomes.resize(scenario.processes.size());
  for (int node = 0; node < scenario.nodes; ++node) running.world.AddNode(fmt::format("n{}", node));
  for (size_t i = 0; i < scenario.processes.size(); ++i) {
    running.outcomes[i].number = i;
    if (IsAbsent(scenario, i) || scenario.processes[i].after >= 0) continue;
    running.world.At(scenario.processes[i].start, [&running, i] { Start(running, running.outcomes[i]); });
  }
  for (const Fault& fault : scenario.faults)
    running.world.At(fault.at, [&running, &fault] { Inflict(running, fault); });
  const bool bounded =
      running.world.Run(scenario.End(), MostEvents(scenario), [&running] { return AllEnded(running); });
  Verdict verdict;
  verdict.trace = running.world.trace();
  verdict.events = running.world.events();
  verdict.time = running.world.now();
  verdict.violations =
      Judge(scenario, running.outcomes, {!bounded, running.to_strangers, ReadJournals(running)});
  verdict.processes = static_cast<int>(running.outcomes.size());
  verdict.formed = static_cast<int>(std::ranges::count_if(running.outcomes, &Outcome::formed));
  verdict.logged = EventsLogged(running.world);
  verdict.received = MessagesReceived(running.world);
  if (with_log) {
    for (const auto& process : running.world.processes())
      verdict.log += fmt::format("--- {} pid {} on {}\n{}", process->name, process->pid, process->node.name,
                                 process->log);
    verdict.log += Summaries(scenario, running.outcomes);
  }
  return verdict;
}

}  // namespace muster::simulation
