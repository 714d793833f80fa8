#include "tests/simulation/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "comm/base/parse.h"
#include "tests/simulation/scenario/stranger.h"

namespace muster::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Another sequence, so that a seed's faults are what they were before there were trees.
constexpr uint64_t kTrees = uint64_t{4} << 32;
constexpr uint64_t kSubtrees = uint64_t{5} << 32;
constexpr uint64_t kReports = uint64_t{6} << 32;
constexpr uint64_t kMessages = uint64_t{7} << 32;
// No seed that was in kFound (search/search.cc) before draws questions.
constexpr uint64_t kQuestions = uint64_t{204} << 32;
constexpr uint64_t kCyclic = uint64_t{807} << 32;  // nor is one cyclic
constexpr uint64_t kStops = uint64_t{901} << 32;   // nor is a leader stopped in one

// No seed that was in kFound before draws one of these.
constexpr uint64_t kNodeStarts = uint64_t{53360} << 32;
constexpr uint64_t kRetirements = uint64_t{109193} << 32;
constexpr uint64_t kSharedSecrets = uint64_t{3581727} << 32;
constexpr uint64_t kQuickStarts = uint64_t{1529999} << 32;

constexpr uint64_t kRealKeyAgreement = 16;  // every 16th seed has X25519

Machines MakeMachines(Random& random) {
  Machines machines;
  machines.turn = microseconds(random.Between(1, 30));
  machines.latency = microseconds(random.Chance(0.8) ? random.Between(5, 200) : random.Between(200, 20000));
  machines.jitter = machines.latency * random.Between(0, 20) / 10;
  machines.bytes_per_second = random.Chance(0.8) ? 1e9 : 1e6;
  machines.socket_buffer = random.Chance(0.7) ? size_t{256} << 10 : size_t{1} << random.Between(11, 17);
  machines.short_transfers = random.Chance(0.3) ? random.Fraction() * 0.5 : 0;
  machines.unreachable_hosts = random.Chance(0.5);
  return machines;
}

int NumberOfNodes(Random& random) {
  if (random.Chance(0.9)) return random.Between(1, 6);
  return random.Chance(0.8) ? random.Between(7, 16) : random.Between(17, 60);
}

Launch MakeLaunch(Random& random, int number, int nodes) {
  Launch launch;
  launch.key = fmt::format("launch {}", number);
  constexpr std::array kWays = {FindRoot::kFirstNode, FindRoot::kHost, FindRoot::kSearch, FindRoot::kEndpoint,
                                FindRoot::kEndpointStore};
  launch.find_root = kWays.at(random.Below(kWays.size()));
  launch.knows_local_ranks = random.Chance(0.8);
  launch.knows_placement =
      launch.find_root == FindRoot::kFirstNode || launch.find_root == FindRoot::kSearch || random.Chance(0.7);
  if (nodes == 1 && random.Chance(0.6)) launch.find_root = FindRoot::kSameNode;
  launch.rendezvous = seconds(random.Between(10, 60));
  if (random.Chance(0.5)) {
    launch.liveness.heartbeat = milliseconds(random.Between(100, 500));
    launch.liveness.suspect_after = 3 * launch.liveness.heartbeat;
    launch.liveness.dead_after = 10 * launch.liveness.heartbeat;
  }
  launch.rounds = random.Between(0, 4);
  launch.pause = random.Chance(0.5) ? random.About(milliseconds(50)) : random.About(seconds(2));
  launch.gather = seconds(random.Between(5, 30));
  return launch;
}

void AddProcesses(Random& random, Scenario& scenario, int number) {
  Launch& launch = scenario.launches[static_cast<size_t>(number)];
  const int most = random.Chance(0.7) ? random.Between(1, 3) : random.Between(1, 8);
  const Duration spread = random.Chance(0.6) ? milliseconds(random.Between(0, 50)) : random.About(seconds(1));
  const bool one_process_a_node = launch.knows_local_ranks && random.Chance(0.2);
  const bool supervisors = random.Chance(0.4);
  for (int node = 0; node < scenario.nodes; ++node) {
    const int size = random.Chance(0.7) ? most : random.Between(1, most);
    for (int local = 0; local < size; ++local) {
      const int rank = launch.world_size + local;
      launch.node_of_rank.push_back(node);
      const Time start = random.Between(Duration::zero(), spread + Duration(1));
      if (one_process_a_node && local > 0) continue;
      const int ranks = one_process_a_node ? size : 1;
      scenario.processes.push_back(
          {number, node, rank, ranks, local, size, supervisors || one_process_a_node, start});
    }
    launch.world_size += size;
  }
}

Time When(Random& random) {
  return random.Chance(0.5) ? random.About(milliseconds(100)) : random.About(seconds(3));
}

// A third has a tree of leaders, from three nodes on.
void MakeTrees(Scenario& scenario) {
  Random random(scenario.seed ^ kTrees);
  if (!random.Chance(0.33)) return;
  for (Launch& launch : scenario.launches) {
    launch.find_root = FindRoot::kFirstNode;
    launch.knows_placement = true;
    launch.fan_out = static_cast<size_t>(random.Between(2, 4));
  }
  // One launch, started again.
  if (scenario.launches.back().follows >= 0)
    scenario.launches.back().fan_out = scenario.launches.front().fan_out;
}

// In a sixth of the launches with one process a rank, rank r is on node r mod n, as with `srun -m cyclic`.
void DealRanks(Scenario& scenario) {
  if (!Random(scenario.seed ^ kCyclic).Chance(0.17)) return;
  for (size_t number = 0; number < scenario.launches.size(); ++number) {
    std::vector<ProcessPlan*> plans;
    for (ProcessPlan& plan : scenario.processes) {
      if (std::cmp_equal(plan.launch, number)) plans.push_back(&plan);
    }
    if (std::ranges::any_of(plans, [](const ProcessPlan* plan) { return plan->ranks > 1; })) continue;
    std::ranges::stable_sort(plans, {}, &ProcessPlan::local_rank);
    for (size_t rank = 0; rank < plans.size(); ++rank) {
      plans[rank]->first_rank = static_cast<int>(rank);
      scenario.launches[number].node_of_rank[rank] = plans[rank]->node;
    }
  }
}

Fault::Kind KindOf(Random& random, int nodes) {
  using enum Fault::Kind;
  constexpr std::array kOfProcesses = {kKill,        kKill,          kKillAtCall, kKillAtCall, kKillAtCall,
                                       kFail,        kAbsent,        kDuplicate,  kStop,       kSlow,
                                       kWrongSecret, kNoDescriptors, kStranger};
  constexpr std::array kOfNodes = {kCut, kCutBoth, kIsolate, kPowerOff};
  if (nodes > 1 && random.Chance(0.2)) return kOfNodes.at(random.Below(kOfNodes.size()));
  return kOfProcesses.at(random.Below(kOfProcesses.size()));
}

// In a quarter of the trees that run undisturbed otherwise, a leader above others loses power, mostly with all behind it: a
// rack. The group is at work then, and notices it by the silence.
void CutPowerOfSubtree(Scenario& scenario) {
  Random random(scenario.seed ^ kSubtrees);
  Launch& launch = scenario.launches.front();
  const rendezvous::LeaderTree tree(static_cast<size_t>(scenario.nodes), launch.fan_out);
  if (!scenario.faults.empty() || scenario.launches.size() > 1 || tree.Children(1) == 0 ||
      !random.Chance(0.25))
    return;
  int last = 1;  // with nodes behind it
  while (tree.Children(static_cast<size_t>(last) + 1) > 0) ++last;
  launch.rounds = 4;
  launch.pause = seconds(2);
  launch.gather = seconds(30);
  launch.liveness = {milliseconds(200), milliseconds(600), milliseconds(random.Between(1000, 6000))};
  for (ProcessPlan& plan : scenario.processes) plan.supervisor = true;
  Fault fault;
  fault.kind = Fault::Kind::kPowerOff;
  fault.at = milliseconds(random.Between(0, 6000));
  fault.node = random.Between(1, last);
  fault.behind = random.Chance(0.7);
  scenario.faults.push_back(fault);
}

// In half of the trees that run undisturbed otherwise, a leader above others is stopped while the group forms, mostly until after the
// deadline, and a rank behind it is late.
void StopLeader(Scenario& scenario) {
  Random random(scenario.seed ^ kStops);
  Launch& launch = scenario.launches.front();
  const rendezvous::LeaderTree tree(static_cast<size_t>(scenario.nodes), launch.fan_out);
  if (!scenario.faults.empty() || scenario.launches.size() > 1 || tree.Children(1) == 0 ||
      !random.Chance(0.5))
    return;
  std::vector<size_t> leaders;
  for (size_t i = 0; i < scenario.processes.size(); ++i) {
    const ProcessPlan& plan = scenario.processes[i];
    if (plan.local_rank == 0 && tree.Children(static_cast<size_t>(plan.node)) > 0) leaders.push_back(i);
  }
  Fault fault;
  fault.kind = Fault::Kind::kStop;
  fault.process = static_cast<int>(leaders[random.Below(leaders.size())]);
  const ProcessPlan& plan = scenario.processes[static_cast<size_t>(fault.process)];
  fault.at = plan.start + (random.Chance(0.5) ? random.About(milliseconds(20)) : random.About(seconds(1)));
  fault.lasts =
      random.Chance(0.7) ? launch.rendezvous + seconds(random.Between(-2, 40)) : random.About(seconds(10));
  scenario.faults.push_back(fault);
  const std::vector<size_t> behind = tree.Below(static_cast<size_t>(plan.node));
  const size_t late = behind[random.Below(behind.size())];
  for (ProcessPlan& other : scenario.processes | std::views::reverse) {
    if (std::cmp_not_equal(other.node, late)) continue;
    other.start += random.Between(Duration::zero(), launch.rendezvous / 3);
    return;
  }
}

// In a third of the launches that run undisturbed otherwise, a leader is killed when it sends a message, mostly while the group forms:
// some of the processes below it have this message, others do not.
void KillLeaderAtMessage(Scenario& scenario) {
  Random random(scenario.seed ^ kMessages);
  if (!scenario.faults.empty() || scenario.launches.size() > 1 || !random.Chance(0.33)) return;
  std::vector<size_t> leaders;
  for (size_t i = 0; i < scenario.processes.size(); ++i) {
    if (scenario.processes[i].local_rank == 0) leaders.push_back(i);
  }
  Fault fault;
  fault.kind = Fault::Kind::kKillAtMessage;
  fault.process = static_cast<int>(leaders[random.Below(leaders.size())]);
  const ProcessPlan& plan = scenario.processes[static_cast<size_t>(fault.process)];
  const rendezvous::LeaderTree tree(static_cast<size_t>(scenario.nodes), scenario.launches.front().fan_out);
  const size_t below = static_cast<size_t>(plan.local_size) + tree.Children(static_cast<size_t>(plan.node));
  fault.count = 1 + random.Below(5 * below);
  scenario.faults.push_back(fault);
}

// In a fifth. A group whose root has retired detects no failure: only undisturbed launches have that.
void AskQuestions(Scenario& scenario) {
  Random random(scenario.seed ^ kQuestions);
  if (!random.Chance(0.2)) return;
  for (size_t number = 0; number < scenario.launches.size(); ++number) {
    Launch& launch = scenario.launches[number];
    std::vector<int> supervisors;
    for (const ProcessPlan& plan : scenario.processes) {
      if (plan.supervisor && std::cmp_equal(plan.launch, number)) supervisors.push_back(plan.first_rank);
    }
    if (!supervisors.empty()) {
      launch.ask_round = random.Between(0, launch.rounds);
      launch.asker = supervisors[random.Below(supervisors.size())];
      launch.owner = random.Between(0, launch.world_size - 1);
    } else if (scenario.faults.empty() && scenario.launches.size() == 1) {
      launch.leave_within = random.Between(microseconds(1), milliseconds(20));
    }
  }
}

// In a fifth of the disturbed launches of programs that use the library, without a map. If the root has retired, no message
// goes from one node to another.
void LeaveEarly(Scenario& scenario) {
  Random random(scenario.seed ^ kRetirements);
  Launch& launch = scenario.launches.front();
  const bool supervisors = std::ranges::any_of(scenario.processes, &ProcessPlan::supervisor);
  if (scenario.faults.empty() || scenario.launches.size() > 1 || supervisors || launch.map.planned ||
      !random.Chance(0.2))
    return;
  launch.leave_within = random.Between(microseconds(1), milliseconds(20));
  // Mostly early: the faults come then.
  if (random.Chance(0.7)) launch.rounds = std::min(launch.rounds, 1);
}

// Half of the nodes that lose power start again, many before they are missed.
void StartNodesAgain(Scenario& scenario) {
  Random random(scenario.seed ^ kNodeStarts);
  for (Fault& fault : scenario.faults) {
    if (fault.kind != Fault::Kind::kPowerOff || !random.Chance(0.5)) continue;
    fault.restarts = true;
    fault.lasts = random.Chance(0.5) ? random.About(milliseconds(500)) : random.About(seconds(10));
  }
}

// In a fifth of the scenarios with two launches: as of one user, whose jobs have a secret of the user.
void ShareSecrets(Scenario& scenario) {
  if (scenario.launches.size() < 2 || scenario.launches.back().follows >= 0 ||
      !Random(scenario.seed ^ kSharedSecrets).Chance(0.2))
    return;
  for (Launch& launch : scenario.launches) launch.shares = true;
}

// In a tenth of the launches that run undisturbed otherwise, without a map: while the group is at work, a node loses power and
// starts again, before it is missed.
void StartNodeAgainAtWork(Scenario& scenario) {
  Random random(scenario.seed ^ kQuickStarts);
  Launch& launch = scenario.launches.front();
  if (!scenario.faults.empty() || scenario.launches.size() > 1 || scenario.nodes == 1 || launch.map.planned ||
      launch.leave_within > Duration::zero() || !random.Chance(0.1))
    return;
  launch.rounds = 4;
  launch.pause = seconds(2);
  launch.gather = seconds(60);
  launch.liveness = {milliseconds(random.Between(200, 1000)), seconds(5), seconds(30)};
  Fault fault;
  fault.kind = Fault::Kind::kPowerOff;
  fault.at = milliseconds(random.Between(200, 7000));
  fault.node = random.Between(0, scenario.nodes - 1);
  fault.restarts = true;
  fault.lasts = random.About(seconds(1));
  scenario.faults.push_back(fault);
}

Fault MakeFault(Random& random, const Scenario& scenario) {
  Fault fault;
  fault.at = When(random);
  fault.lasts = random.Chance(0.5) ? random.About(milliseconds(500)) : random.About(seconds(10));
  fault.process = random.Between(0, static_cast<int>(scenario.processes.size()) - 1);
  fault.node = random.Between(0, scenario.nodes - 1);
  fault.other = random.Between(0, scenario.nodes - 1);
  fault.count = 1 + random.Below(400);
  fault.extra = random.About(milliseconds(20));
  fault.kind = KindOf(random, scenario.nodes);
  if (fault.kind == Fault::Kind::kFail) fault.count = random.Below(3);
  if (fault.kind == Fault::Kind::kStranger) fault.count = random.Below(kWaysOfStrangers);
  if (fault.kind == Fault::Kind::kNoDescriptors) fault.count = 3 + random.Below(20);
  if (fault.node == fault.other) fault.other = (fault.node + 1) % scenario.nodes;
  return fault;
}

}  // namespace

void AddSuccessor(Random& random, Scenario& scenario) {
  Launch next = scenario.launches.front();
  next.follows = 0;
  if (random.Chance(0.5)) ++next.restart;
  scenario.launches.push_back(next);
  const size_t count = scenario.processes.size();
  for (size_t i = 0; i < count; ++i) {
    ProcessPlan plan = scenario.processes[i];
    plan.launch = 1;
    plan.after = static_cast<int>(i);
    plan.start = random.About(milliseconds(5));
    scenario.processes.push_back(plan);
  }
}

Scenario MakeScenario(uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.machines = MakeMachines(random);
  scenario.machines.real_key_agreement = seed % kRealKeyAgreement == 0;
  scenario.nodes = NumberOfNodes(random);
  const int launches = random.Chance(0.12) ? 2 : 1;
  for (int i = 0; i < launches; ++i) {
    scenario.launches.push_back(MakeLaunch(random, i, scenario.nodes));
    AddProcesses(random, scenario, i);
  }
  if (launches == 1 && random.Chance(0.15)) AddSuccessor(random, scenario);
  if (scenario.nodes > 2) MakeTrees(scenario);
  DealRanks(scenario);
  // A third runs undisturbed.
  const int faults = random.Chance(0.33) ? 0 : random.Between(1, random.Chance(0.8) ? 2 : 6);
  for (int i = 0; i < faults; ++i) scenario.faults.push_back(MakeFault(random, scenario));
  CutPowerOfSubtree(scenario);
  StopLeader(scenario);
  KillLeaderAtMessage(scenario);
  AskQuestions(scenario);
  PlanMaps(scenario);
  StartNodesAgain(scenario);
  LeaveEarly(scenario);
  StartNodeAgainAtWork(scenario);
  ShareSecrets(scenario);
  const bool reports_exits = Random(seed ^ kReports).Chance(0.5);
  for (Launch& launch : scenario.launches) launch.reports_exits = reports_exits;
  return scenario;
}

std::vector<int> Scenario::NodesOf(const Fault& fault) const {
  std::vector<int> lost{fault.node};
  if (!fault.behind) return lost;
  const rendezvous::LeaderTree tree(static_cast<size_t>(nodes), launches.front().fan_out);
  for (const size_t node : tree.Below(static_cast<size_t>(fault.node)))
    lost.push_back(static_cast<int>(node));
  return lost;
}

Time Scenario::End() const {
  Time end{};
  for (const ProcessPlan& plan : processes) {
    const Launch& launch = launches[static_cast<size_t>(plan.launch)];
    const Duration work = launch.rounds * (launch.gather + launch.pause) + 3 * launch.liveness.dead_after +
                          launch.map.LongestTime();
    const Duration here = plan.start + launch.rendezvous + work + seconds(90);
    end = std::max(end, plan.after < 0 ? here : 2 * here + seconds(60));
  }
  Duration standstill{};
  for (const Fault& fault : faults) standstill += fault.lasts;
  return end + 2 * standstill;
}

std::string Describe(const Scenario& scenario, const Fault& fault) {
  const ProcessPlan& process = scenario.processes[static_cast<size_t>(fault.process)];
  const std::string rank = fmt::format("launch {} rank {}", process.launch, process.first_rank);
  const auto timed = [&](const std::string& what) {
    return fmt::format("at {:.6f} s {}", std::chrono::duration<double>(fault.at).count(), what);
  };
  const auto lasting = [&](const std::string& what) {
    return timed(fmt::format("{} for {:.3f} s", what, std::chrono::duration<double>(fault.lasts).count()));
  };
  using enum Fault::Kind;
  switch (fault.kind) {
    case kKill:
      return timed("kill " + rank);
    case kFail:
      return fmt::format("the program of {} fails in round {}", rank, fault.count);
    case kKillAtCall:
      return fmt::format("kill {} at its system call {}", rank, fault.count);
    case kKillAtMessage:
      return fmt::format("kill {} at its message {}", rank, fault.count);
    case kAbsent:
      return rank + " never starts";
    case kDuplicate:
      return timed("start a second " + rank);
    case kWrongSecret:
      return rank + " has another secret";
    case kStop:
      return lasting("stop " + rank);
    case kSlow:
      return lasting(fmt::format("slow down {} by {} us", rank, fault.extra / microseconds(1)));
    case kNoDescriptors:
      return lasting(fmt::format("{} descriptors at most for {}", fault.count, rank));
    case kCut:
      return lasting(fmt::format("cut n{} -> n{}", fault.node, fault.other));
    case kCutBoth:
      return lasting(fmt::format("cut n{} <-> n{}", fault.node, fault.other));
    case kIsolate:
      return lasting(fmt::format("isolate n{}", fault.node));
    case kPowerOff:
      return timed(fmt::format("power off n{}{}{}", fault.node, fault.behind ? " and all behind it" : "",
                               fault.restarts
                                   ? fmt::format(", which starts again after {:.3f} s",
                                                 std::chrono::duration<double>(fault.lasts).count())
                                   : ""));
    case kStranger:
      return lasting(fmt::format("a stranger on n{}, way {}, at n{}", fault.node, fault.count, fault.other));
  }
  return "";
}

std::string Describe(const Scenario& scenario) {
  std::string text =
      fmt::format("seed {}: {} nodes, latency {}, {} processes\n", scenario.seed, scenario.nodes,
                  FormatDuration(scenario.machines.latency), scenario.processes.size());
  for (const Launch& launch : scenario.launches) {
    text += fmt::format(
        "  {}{}: {} ranks{}, root {}, local ranks {}, placement {}, {} rounds, deadline {}, dead after {}, "
        "fan-out {}{}{}\n",
        launch.key, launch.follows < 0 ? "" : " again", launch.world_size,
        std::ranges::is_sorted(launch.node_of_rank) ? "" : " in turn", static_cast<int>(launch.find_root),
        launch.knows_local_ranks ? "known" : "unknown", launch.knows_placement ? "known" : "unknown",
        launch.rounds, FormatDuration(launch.rendezvous), FormatDuration(launch.liveness.dead_after),
        launch.fan_out, launch.reports_exits ? "" : ", no reports of exits",
        launch.shares ? ", secret and ports shared" : "");
  }
  for (const Launch& launch : scenario.launches) {
    if (launch.map.planned) text += fmt::format("  {}: {}\n", launch.key, Describe(launch.map));
    if (launch.ask_round >= 0) {
      text += fmt::format("  {}: rank {} asks before round {}, also for the connection of rank {}\n",
                          launch.key, launch.asker, launch.ask_round, launch.owner);
    }
    if (launch.leave_within > Duration::zero())
      text += fmt::format("  {}: leaves within {}\n", launch.key, FormatDuration(launch.leave_within));
  }
  for (const Fault& fault : scenario.faults) text += "  " + Describe(scenario, fault) + "\n";
  return text;
}

}  // namespace muster::simulation
