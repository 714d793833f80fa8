#include "tests/simulation/scenario/damage.h"

#include <algorithm>
#include <utility>

#include "comm/rendezvous/join/tree.h"

namespace muster::simulation {
namespace {

class Counting {
 public:
  explicit Counting(const Scenario& scenario) : scenario_(scenario), damages_(scenario.launches.size()) {
    for (const Fault& fault : scenario.faults) Count(fault);
    for (size_t i = 0; i < damages_.size(); ++i) {
      const int before = scenario.launches[i].follows;
      if (before < 0) continue;
      const Damage& first = damages_[static_cast<size_t>(before)];
      damages_[i].follows_damage = first.causes > 0 || !first.whole;
    }
  }
  std::vector<Damage> Take() { return std::move(damages_); }

 private:
  void Count(const Fault& fault) {
    using enum Fault::Kind;
    const ProcessPlan& plan = scenario_.processes[static_cast<size_t>(fault.process)];
    Damage& damage = damages_[static_cast<size_t>(plan.launch)];
    switch (fault.kind) {
      case kDuplicate:
        // It takes part in the launch of its time.
        if (const int before = scenario_.launches[static_cast<size_t>(plan.launch)].follows; before >= 0)
          AddCause(plan, damages_[static_cast<size_t>(before)]).outsiders = true;
        [[fallthrough]];
      case kWrongSecret:
        damage.outsiders = true;
        [[fallthrough]];
      case kKill:
      case kFail:
      case kKillAtCall:
      case kKillAtMessage:
      case kAbsent:
        AddCause(plan, damage);
        if (fault.kind == kKill || fault.kind == kKillAtCall || fault.kind == kKillAtMessage)
          damage.nodes.insert(plan.node);
        return;
      case kStop:
      case kSlow:
      case kNoDescriptors:
        damage.whole = false;
        return Blame(plan, damage);
      case kCut:
      case kCutBoth:
        return CutLink(fault.node, fault.other);
      case kIsolate:
        for (int other = 0; other < scenario_.nodes; ++other) CutLink(fault.node, other);
        return;
      case kPowerOff:
        for (size_t i = 0; i < damages_.size(); ++i) {
          damages_[i].whole = false;
          for (const int node : scenario_.NodesOf(fault)) BlameNode(node, i);
        }
        return;
      case kStranger:
        return;
    }
  }
  static Damage& AddCause(const ProcessPlan& plan, Damage& damage) {
    ++damage.causes;
    Blame(plan, damage);
    return damage;
  }
  // A process that leads is named for the ranks behind it.
  static void Blame(const ProcessPlan& plan, Damage& damage) {
    for (int i = 0; i < plan.ranks; ++i) damage.guilty.insert(plan.first_rank + i);
  }
  void BlameNode(int node, size_t launch) {
    for (const ProcessPlan& plan : scenario_.processes) {
      if (plan.node == node && std::cmp_equal(plan.launch, launch)) Blame(plan, damages_[launch]);
    }
    damages_[launch].silent.insert(node);
  }
  // A launch without connections between these nodes does not notice it.
  void CutLink(int one, int other) {
    if (one == other) return;
    for (size_t i = 0; i < damages_.size(); ++i) {
      if (!IsAbove(scenario_.launches[i], one, other) && !IsAbove(scenario_.launches[i], other, one))
        continue;
      damages_[i].whole = false;
      BlameNode(one, i);
      BlameNode(other, i);
    }
  }
  bool IsAbove(const Launch& launch, int node, int below) const {
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes), launch.fan_out);
    return std::ranges::count(tree.Above(static_cast<size_t>(below)), static_cast<size_t>(node)) > 0;
  }

  const Scenario& scenario_;
  std::vector<Damage> damages_;
};

}  // namespace

std::vector<Damage> DamagesOf(const Scenario& scenario) { return Counting(scenario).Take(); }

}  // namespace muster::simulation
