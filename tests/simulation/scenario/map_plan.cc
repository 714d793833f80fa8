#include "tests/simulation/scenario/map_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "comm/base/parse.h"
#include "tests/simulation/machine/random.h"
#include "tests/simulation/scenario/scenario.h"

namespace muster::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// No seed that was in kFound (search/search.cc) before has a map.
constexpr uint64_t kMaps = uint64_t{894262} << 32;
// Nor does the root retire before its map.
constexpr uint64_t kRetirements = uint64_t{365649} << 32;
// Nor has it a limit of time.
constexpr uint64_t kLimits = uint64_t{2445227} << 32;

enum : uint64_t { kDuration, kFlaky, kBroken };

// The same on each rank.
Random Of(const MapPlan& map, uint64_t what, uint64_t item) { return Random(map.seed ^ what << 56 ^ item); }

bool HasMaps(const Scenario& scenario) {
  return std::ranges::none_of(scenario.processes,
                              [](const ProcessPlan& plan) { return plan.supervisor || plan.ranks > 1; });
}

MapPlan MakeMap(Random& random, int ranks) {
  MapPlan map;
  map.planned = true;
  map.seed = random.Next();
  map.items = random.Below(random.Chance(0.8) ? 30 : 150);
  map.slots = random.Chance(0.6) ? 1 : random.Between(2, 4);
  map.retries = random.Between(0, 3);
  const Duration lasts = random.Chance(0.5) ? random.About(milliseconds(300)) : random.About(seconds(3));
  map.mean = lasts * ranks * map.slots / static_cast<Duration::rep>(map.items + 1);
  if (random.Chance(0.6)) {
    map.flaky = random.Fraction() * 0.2;
    map.broken = random.Fraction() * 0.1;
  }
  map.classified = random.Chance(0.2);
  return map;
}

// A process that stands still may find its item out of time when it goes on, and ends.
bool StandsStill(const Fault& fault) {
  return fault.kind == Fault::Kind::kStop || fault.kind == Fault::Kind::kSlow;
}

// In a fifth: of each item, the whole or both.
void LimitMaps(Scenario& scenario) {
  Random random(scenario.seed ^ kLimits);
  if (!random.Chance(0.2)) return;
  const bool limits_items = random.Chance(0.6) && std::ranges::none_of(scenario.faults, StandsStill);
  const double part = random.Fraction();
  const bool limits_all = !limits_items || random.Chance(0.3);
  for (Launch& launch : scenario.launches) {
    MapPlan& map = launch.map;
    if (limits_all) {
      const Duration needs = map.Work() / (launch.world_size * map.slots);
      map.time_left =
          seconds(5) + std::chrono::floor<milliseconds>(2 * needs * static_cast<int>(100 * part) / 100);
    }
    if (limits_items)
      map.timeout = std::max<Duration>(std::chrono::floor<milliseconds>(2 * map.mean), milliseconds(10));
  }
}

// In a fifth of those that are not started again. Nothing else disturbs them.
bool RetireRoot(Scenario& scenario) {
  Random random(scenario.seed ^ kRetirements);
  Launch& launch = scenario.launches.front();
  if (scenario.launches.size() > 1 || launch.world_size == 1 || !launch.knows_local_ranks ||
      !random.Chance(0.19))
    return false;
  scenario.faults.clear();
  const Duration way = scenario.machines.latency + scenario.machines.jitter + scenario.machines.turn;
  launch.map.root_leaves_within = random.Between(std::chrono::microseconds(1), 5 * way);
  return true;
}

// Kills come later than those of launches without a map. Four in five of those that run undisturbed otherwise
// have a fault meanwhile.
void DisturbMaps(Random& random, Scenario& scenario) {
  for (Fault& fault : scenario.faults) {
    if (fault.kind == Fault::Kind::kKillAtCall && random.Chance(0.5)) fault.count += random.Below(3000);
    if (fault.kind == Fault::Kind::kKillAtMessage && random.Chance(0.5)) fault.count += random.Below(300);
  }
  if (!scenario.faults.empty() || random.Chance(0.2)) return;
  using enum Fault::Kind;
  constexpr std::array kKinds = {kKill, kKill, kKill, kKill, kKill, kKillAtCall, kStop, kPowerOff};
  Fault fault;
  fault.kind = kKinds.at(random.Below(kKinds.size()));
  const Launch& launch = scenario.launches.front();
  const Duration lasts = launch.map.Work() / (launch.world_size * launch.map.slots);
  fault.at = random.Between(Duration::zero(), lasts + milliseconds(200));
  fault.lasts = random.About(seconds(5));
  fault.count = 1 + random.Below(3000);
  // Mostly one that no other process is behind.
  for (int tries = 0; tries < 3; ++tries) {
    fault.process = random.Between(0, static_cast<int>(scenario.processes.size()) - 1);
    if (scenario.processes[static_cast<size_t>(fault.process)].local_rank > 0) break;
  }
  fault.node = random.Between(0, scenario.nodes - 1);
  scenario.faults.push_back(fault);
}

}  // namespace

std::string MapPlan::KeyOf(uint64_t item) const { return fmt::format("item {}", item); }
std::string MapPlan::ResultOf(uint64_t item) const { return fmt::format("{{\"result\":{}}}", 3 * item + 1); }

// One in twenty takes much longer.
Duration MapPlan::WorkOf(uint64_t item) const {
  Random random = Of(*this, kDuration, item);
  const Duration usual = random.Between(Duration::zero(), 2 * mean);
  return std::chrono::floor<milliseconds>(random.Chance(0.05) ? 5 * usual : usual);
}

Duration MapPlan::DurationOf(uint64_t item) const { return IsTooLong(item) ? timeout : WorkOf(item); }

bool MapPlan::IsTooLong(uint64_t item) const { return timeout > Duration::zero() && WorkOf(item) > timeout; }

bool MapPlan::Fails(uint64_t item, uint32_t attempt) const {
  if (IsTooLong(item)) return true;
  if (Of(*this, kBroken, item).Chance(broken)) return true;
  return attempt == 1 && Of(*this, kFlaky, item).Chance(flaky);
}

uint32_t MapPlan::FailuresOf(uint64_t item) const {
  if (!Fails(item, 1)) return 0;
  return Fails(item, 2) ? static_cast<uint32_t>(retries) + 1 : 1;
}

Duration MapPlan::Work() const {
  Duration work{};
  for (uint64_t item = 0; item < items; ++item) work += DurationOf(item) * (1 + FailuresOf(item));
  return work;
}

Duration MapPlan::Longest() const {
  Duration longest{};
  for (uint64_t item = 0; item < items; ++item)
    longest = std::max(longest, DurationOf(item) * (1 + FailuresOf(item)));
  return longest;
}

Duration MapPlan::LongestTime() const {
  return planned ? Work() * (retries + 1) + seconds(20) : Duration::zero();
}

map::Options MapPlan::MakeOptions() const {
  map::Options options;
  options.journal = journal;
  options.retries = retries;
  options.slots = slots;
  options.timeout = timeout;
  options.time_left = time_left;
  for (uint64_t item = 0; classified && item < items; ++item)
    options.classes.push_back(DurationOf(item) > 2 * mean ? 1 : 0);
  return options;
}

void PlanMaps(Scenario& scenario) {
  Random random(scenario.seed ^ kMaps);
  if (!random.Chance(0.33) || !HasMaps(scenario)) return;
  // A late rank of a launch whose leader is killed while it forms may meet the next start.
  const bool may_form = std::ranges::count(scenario.faults, Fault::Kind::kKillAtMessage, &Fault::kind) == 0;
  if (scenario.launches.size() == 1 && may_form && random.Chance(0.4)) AddSuccessor(random, scenario);
  for (Launch& launch : scenario.launches) {
    if (launch.follows >= 0) {
      launch.map = scenario.launches[static_cast<size_t>(launch.follows)].map;
    } else {
      launch.map = MakeMap(random, launch.world_size);
      const bool in_memory = scenario.launches.back().follows < 0 && random.Chance(0.3);
      if (!in_memory) launch.map.journal = "/shared/journal of " + launch.key;
    }
    // The programs of a launch that is started again are the same: ranks of both may meet.
    const bool maps_alone = random.Chance(0.7);
    if (launch.follows >= 0) {
      launch.rounds = scenario.launches[static_cast<size_t>(launch.follows)].rounds;
    } else if (maps_alone) {
      launch.rounds = 0;
    }
    // A root that retires ends the maps.
    launch.leave_within = Duration::zero();
  }
  if (!RetireRoot(scenario)) DisturbMaps(random, scenario);
  LimitMaps(scenario);
}

std::string Describe(const MapPlan& map) {
  return fmt::format(
      "maps {} items of {}, {} slots, {} retries, {:.0f}% flaky, {:.0f}% broken{}{}{}{}{}", map.items,
      FormatDuration(map.mean), map.slots, map.retries, 100 * map.flaky, 100 * map.broken,
      map.classified ? ", classified" : "", map.journal.empty() ? ", no journal" : "",
      map.root_leaves_within > Duration::zero() ? ", the root leaves" : "",
      map.timeout > Duration::zero() ? ", at most " + FormatDuration(map.timeout) + " each" : "",
      map.time_left > Duration::zero() ? ", ends after " + FormatDuration(map.time_left) : "");
}

}  // namespace muster::simulation
