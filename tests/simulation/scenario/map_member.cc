#include "tests/simulation/scenario/map_member.h"

#include <fmt/format.h>
#include <poll.h>

#include <memory>
#include <utility>

#include "bootstrap/map/worker.h"
#include "comm/map/member.h"
#include "tests/simulation/machine/world.h"

namespace muster::simulation {
namespace {

class Items : public map::ItemSource {
 public:
  explicit Items(const MapPlan& plan) : plan_(plan) {}

  uint64_t size() const override { return plan_.items; }
  Result<map::SourceItem> Read(uint64_t index) const override {
    return map::SourceItem{index, plan_.KeyOf(index), plan_.KeyOf(index), {}};
  }
  std::string Where(uint64_t index) const override { return plan_.KeyOf(index); }

 private:
  const MapPlan& plan_;
};

struct SimulatedPlan : map::AttemptPlan {
  const MapPlan* map = nullptr;
  int fails_after = -1;
  MapOutcome* outcome = nullptr;
};

map::Identity IdentityOf(const MapPlan& plan) {
  map::KeyDigest keys;
  for (uint64_t item = 0; item < plan.items; ++item) keys.Add(plan.KeyOf(item));
  return {plan.items, keys.Finish(), map::DigestOf(AsBytes("the work")), "the work"};
}

// The rank that reports, as in bootstrap/map/map_run.cc.
Status ReadResults(map::Member& member, const MapPlan& plan, MapOutcome& outcome) {
  MUSTER_TRY(const std::vector<map::JournalRecord> records, member.Read(0, plan.items));
  const KernelMemory kernel;
  outcome.reads = true;
  outcome.records = records;
  return {};
}

}  // namespace

Status RunMap(const MapPlan& plan, Group& group, Deadline joined, int fails_after, MapOutcome& outcome) {
  const World& world = *World::Running();
  const map::Options options = plan.MakeOptions();
  MUSTER_TRY(const auto member, map::Member::Join(group, IdentityOf(plan), options, joined));
  outcome.joined = true;
  outcome.joined_at = world.now();
  const Items items(plan);
  SimulatedPlan attempts;
  attempts.rank = group.rank();
  attempts.map = &plan;
  attempts.fails_after = fails_after;
  attempts.outcome = &outcome;
  std::vector<map::Worker::Slot> slots(static_cast<size_t>(plan.slots));
  MUSTER_CHECK(map::Worker(*member, items, attempts, std::move(slots)).Run(&group));
  MUSTER_TRY(const map::Outcome result, member->Finish());
  outcome.over_at = world.now();
  {
    const KernelMemory kernel;
    outcome.result = result;
  }
  return group.rank() == result.first_rank ? ReadResults(*member, plan, outcome) : Status{};
}

}  // namespace muster::simulation

// In place of those of bootstrap/map, which run programs.
namespace muster::map {

Status BindToCores(std::span<const int>) { return {}; }

NextDirectory::NextDirectory(const std::string&, std::string_view, int, int) {}
void NextDirectory::Remove() {}

Result<AttemptEnd> RunAttempt(const AttemptPlan& plan, const AttemptSlot&, const SourceItem& item,
                              uint32_t attempt, const StopFlag& stop, NextDirectory&) {
  using simulation::KernelMemory;
  const auto& simulated = static_cast<const simulation::SimulatedPlan&>(plan);
  const simulation::MapPlan& map = *simulated.map;
  simulation::MapOutcome& outcome = *simulated.outcome;
  const simulation::World& world = *simulation::World::Running();
  const size_t number = outcome.runs.size();
  if (std::cmp_equal(number, simulated.fails_after))
    return Fail(Code::kSystem, "rank {} has no space for an item", plan.rank);
  const Duration took = map.DurationOf(item.index);
  {
    const KernelMemory kernel;
    outcome.runs.push_back({item.index, attempt, world.now()});
  }
  pollfd stopped{stop.fd(), POLLIN, 0};
  const bool interrupted = poll(&stopped, 1, static_cast<int>(took / std::chrono::milliseconds(1))) > 0;
  simulation::ItemRun& run = outcome.runs[number];
  run.ended = world.now();
  if (interrupted) return AttemptEnd{AttemptEnd::Kind::kInterrupted, "", {}};
  run.failed = map.Fails(item.index, attempt);
  if (run.failed) return AttemptEnd{AttemptEnd::Kind::kFailed, "it fails", took};
  return AttemptEnd{AttemptEnd::Kind::kDone, map.ResultOf(item.index), took};
}

}  // namespace muster::map
