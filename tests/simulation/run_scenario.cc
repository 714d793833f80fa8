#include "tests/simulation/run_scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/log/log.h"

namespace muster::simulation {
namespace {

constexpr uid_t kUser = 1000;
constexpr uint64_t kMostEvents = 3000000;

struct Running {
  const Scenario& scenario;
  World world;
  std::vector<Outcome> outcomes;
};

void StartProcess(Running& running, size_t number) {
  const ProcessPlan& plan = running.scenario.processes[number];
  Node& node = *running.world.nodes()[static_cast<size_t>(plan.node)];
  if (!node.up) return;
  Outcome& outcome = running.outcomes[number];
  Process& process =
      running.world.AddProcess(node, kUser, fmt::format("{}.{}", plan.launch, plan.first_rank));
  outcome.process = &process;
  for (const Fault& fault : running.scenario.faults) {
    if (static_cast<size_t>(fault.process) != number) continue;
    if (fault.kind == Fault::Kind::kKillAtCall) process.kill_at_call = fault.count;
    if (fault.kind == Fault::Kind::kFail) outcome.fails_at = static_cast<int>(fault.count);
  }
  process.Start([&running, &plan, &outcome] { RunMember(running.scenario, plan, outcome); });
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
      return world.PowerOff(*world.nodes()[static_cast<size_t>(fault.node)]);
    case kNoDescriptors:
    case kFail:
    case kKillAtCall:
    case kStranger:
      return;
  }
}

bool AllEnded(const Running& running) {
  size_t ended = 0;
  for (const auto& process : running.world.processes()) {
    if (process->state == Process::State::kEnded) ++ended;
  }
  return ended == running.outcomes.size();
}

}  // namespace

Verdict RunScenario(const Scenario& scenario, bool with_log) {
  SetUpLog({with_log ? LogLevel::kDebug : LogLevel::kInfo, LogFormat::kJson, std::nullopt});
  Running running{scenario, World(scenario.seed, scenario.machines), {}};
  running.outcomes.resize(scenario.processes.size());
  for (int node = 0; node < scenario.nodes; ++node) running.world.AddNode(fmt::format("n{}", node));
  for (size_t i = 0; i < scenario.processes.size(); ++i)
    running.world.At(scenario.processes[i].start, [&running, i] { StartProcess(running, i); });
  for (const Fault& fault : scenario.faults)
    running.world.At(fault.at, [&running, &fault] { Inflict(running, fault); });
  const bool bounded =
      running.world.Run(scenario.End(), kMostEvents, [&running] { return AllEnded(running); });
  Verdict verdict;
  verdict.violations = Judge(scenario, running.outcomes, !bounded);
  verdict.trace = running.world.trace();
  verdict.events = running.world.events();
  verdict.time = running.world.now();
  verdict.processes = static_cast<int>(running.outcomes.size());
  verdict.formed = static_cast<int>(std::ranges::count_if(running.outcomes, &Outcome::formed));
  if (with_log) {
    for (const auto& process : running.world.processes())
      verdict.log += fmt::format("--- {} pid {} on {}\n{}", process->name, process->pid, process->node.name,
                                 process->log);
  }
  return verdict;
}

}  // namespace muster::simulation
