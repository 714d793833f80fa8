#include "tests/simulation/scenario/damage.h"

#include <algorithm>
#include <utility>

#include "comm/rendezvous/join/tree.h"

namespace muster::simulation {
namespace {

// Less than a gather, than the deadline to form, and than what a leader has to appear before its followers go on without it.
constexpr Duration kHarmlessStop = std::chrono::seconds(2);
// Retransmission ends up to twice as late.
constexpr Duration kHarmlessCut = std::chrono::seconds(1);
constexpr Duration kHarmlessTurn = std::chrono::milliseconds(20);

class Counting {
 public:
  explicit Counting(const Scenario& scenario) : scenario_(scenario), damages_(scenario.launches.size()) {
    for (const Fault& fault : scenario.faults) AddUp(fault);
    for (const Fault& fault : scenario.faults) Count(fault);
    for (size_t i = 0; i < damages_.size(); ++i) {
      if (scenario.launches[i].map.root_leaves_within > Duration::zero())
        RetireRoot(scenario.launches[i], damages_[i]);
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
        if (IsHarmless(fault, static_cast<size_t>(plan.launch))) return;
        damage.may_fail = true;
        if (fault.kind == kStop) damage.stopped.insert(plan.first_rank);
        // Its messages are those of its node, and of the nodes below.
        if (fault.kind != kNoDescriptors && MayLead(plan))
          BlameNode(plan.node, static_cast<size_t>(plan.launch));
        return Blame(plan, damage);
      case kCut:
      case kCutBoth:
        return CutLink(fault, fault.other);
      case kIsolate:
        for (int other = 0; other < scenario_.nodes; ++other) CutLink(fault, other);
        return;
      case kPowerOff:
        for (size_t i = 0; i < damages_.size(); ++i) {
          damages_[i].whole = false;
          damages_[i].may_fail = true;
          for (const int node : scenario_.NodesOf(fault)) BlameNode(node, i);
        }
        return;
      case kStranger:
        return;
    }
  }
  // Ranks that have begun the map name the root, others no rank. Each ends with an error: a rank below it may notice that first.
  static void RetireRoot(const Launch& launch, Damage& damage) {
    damage.root_retires = true;
    for (int rank = 0; rank < launch.world_size; ++rank) damage.guilty.insert(rank);
    damage.whole = false;
    damage.may_fail = true;
  }
  bool MayLead(const ProcessPlan& plan) const {
    return plan.local_rank == 0 || !scenario_.launches[static_cast<size_t>(plan.launch)].knows_local_ranks;
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
  void CutLink(const Fault& fault, int other) {
    const int one = fault.node;
    if (one == other) return;
    for (size_t i = 0; i < damages_.size(); ++i) {
      if (!IsAbove(scenario_.launches[i], one, other) && !IsAbove(scenario_.launches[i], other, one))
        continue;
      damages_[i].whole = false;
      if (IsHarmless(fault, i)) continue;
      damages_[i].may_fail = true;
      BlameNode(one, i);
      BlameNode(other, i);
      damages_[i].cut.insert({one, other});
    }
  }
  bool IsAbove(const Launch& launch, int node, int below) const {
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes), launch.fan_out);
    return std::ranges::count(tree.Above(static_cast<size_t>(below)), static_cast<size_t>(node)) > 0;
  }

  // Faults of one kind may come one after the other.
  void AddUp(const Fault& fault) {
    using enum Fault::Kind;
    const int launch = scenario_.processes[static_cast<size_t>(fault.process)].launch;
    if (fault.kind == kCut || fault.kind == kCutBoth || fault.kind == kIsolate) cut_ += fault.lasts;
    if (fault.kind == kStop || fault.kind == kSlow)
      damages_[static_cast<size_t>(launch)].standstill += fault.lasts;
    if (fault.kind == kStop) stopped_ += fault.lasts;
    if (fault.kind == kSlow) slowed_ += fault.extra;
  }
  // No peer takes it for a loss.
  bool IsHarmless(const Fault& fault, size_t launch) const {
    using enum Fault::Kind;
    const LivenessOptions& liveness = scenario_.launches[launch].liveness;
    const Duration silence = liveness.dead_after - 3 * liveness.heartbeat;
    if (fault.kind == kNoDescriptors) return false;
    if (fault.kind == kSlow) return slowed_ <= kHarmlessTurn;
    if (fault.kind == kStop) return stopped_ <= kHarmlessStop && stopped_ < silence;
    return cut_ <= kHarmlessCut && 2 * cut_ < silence;
  }

  const Scenario& scenario_;
  Duration cut_{};
  Duration stopped_{};
  Duration slowed_{};  // each turn
  std::vector<Damage> damages_;
};

}  // namespace

std::vector<Damage> DamagesOf(const Scenario& scenario) { return Counting(scenario).Take(); }

}  // namespace muster::simulation
