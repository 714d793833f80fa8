#include "tests/simulation/scenario/judge_endings.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/rendezvous/join/tree.h"

namespace muster::simulation {
namespace {

// What a process had sent before its root retired is there.
constexpr Duration kUnderWay = std::chrono::milliseconds(200);
// Of TCP: of the first one; each further interval is twice as long.
constexpr Duration kRetransmission = std::chrono::milliseconds(200);
// The way of a failure to all ranks.
constexpr Duration kPassedOn = std::chrono::seconds(1);

// One launch.
class EndingsJudgement {
 public:
  EndingsJudgement(const Scenario& scenario, const std::deque<Outcome>& outcomes, const Damage& damage,
                   int number)
      : scenario_(scenario), launch_(scenario.launches[static_cast<size_t>(number)]), damage_(damage) {
    for (const Outcome& outcome : outcomes) {
      if (PlanOf(outcome).launch == number && outcome.process != nullptr) all_.push_back(&outcome);
    }
  }

  std::vector<std::string> Take() {
    JudgeStart();
    JudgeRetirement();
    return std::move(violations_);
  }

 private:
  // The kernel of a node that has started again answers what arrives on connections of before with a reset.
  void JudgeStart() {
    if (scenario_.faults.size() != 1 || launch_.follows >= 0 || launch_.map.planned || RootRetires()) return;
    const Fault& fault = scenario_.faults.front();
    if (fault.kind != Fault::Kind::kPowerOff || !fault.restarts || !WasAtWork(fault.at)) return;
    const Time known = fault.at + fault.lasts + std::max(fault.lasts, kRetransmission) +
                       2 * launch_.liveness.heartbeat + kPassedOn;
    if (known > fault.at + launch_.liveness.dead_after) return;
    for (const Outcome* outcome : all_) {
      if (!outcome->process->killed && outcome->failure && outcome->failed_at > known)
        Add("misses", *outcome,
            fmt::format("{} ms too late", (outcome->failed_at - known) / std::chrono::milliseconds(1)));
    }
  }
  bool WasAtWork(Time at) const {
    return std::ranges::all_of(all_, [&](const Outcome* one) { return one->formed && one->formed_at < at; });
  }

  // Without a root no message goes from a node to another one, unless both are below a leader that is left.
  void JudgeRetirement() {
    if (!RootRetires() || launch_.map.planned || !launch_.knows_local_ranks) return;
    if (!damage_.whole || damage_.may_fail || damage_.follows_damage || damage_.outsiders) return;
    const auto root =
        std::ranges::find_if(all_, [&](const Outcome* one) { return PlanOf(*one).first_rank == 0; });
    if (root == all_.end() || !(*root)->left || !(*root)->ended) return;
    const bool early = std::ranges::any_of(all_, [&](const Outcome* one) {
      return one->fails_at >= 0 ||
             (one->process->killed && one->process->ended < (*root)->ended_at + kUnderWay);
    });
    if (early) return;
    for (const Outcome* one : all_) {
      if (one->formed && one->failure && !IsBesideKilled(*one))
        Add("ends with its root", *one, ToString(*one->failure));
    }
  }
  bool RootRetires() const { return launch_.leave_within > Duration::zero(); }
  bool IsBesideKilled(const Outcome& outcome) const {
    return std::ranges::any_of(all_, [&](const Outcome* one) {
      return one->process->killed && TopmostOf(PlanOf(*one).node) == TopmostOf(PlanOf(outcome).node);
    });
  }
  // The node below the root that is above it.
  size_t TopmostOf(int node) const {
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes), launch_.fan_out);
    size_t topmost = static_cast<size_t>(node);
    for (const size_t above : tree.Above(static_cast<size_t>(node))) topmost = above == 0 ? topmost : above;
    return topmost;
  }

  void Add(std::string_view prefix, const Outcome& outcome, const std::string& what) {
    const ProcessPlan& plan = PlanOf(outcome);
    violations_.push_back(
        fmt::format("{}: {} rank {} on n{}: {}", prefix, launch_.key, plan.first_rank, plan.node, what));
  }
  const ProcessPlan& PlanOf(const Outcome& outcome) const { return scenario_.processes[outcome.number]; }

  const Scenario& scenario_;
  const Launch& launch_;
  const Damage& damage_;
  std::vector<const Outcome*> all_;  // that were started
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> JudgeEndings(const Scenario& scenario, const std::deque<Outcome>& outcomes,
                                      const std::vector<Damage>& damages) {
  std::vector<std::string> violations;
  for (size_t number = 0; number < scenario.launches.size(); ++number) {
    EndingsJudgement judgement(scenario, outcomes, damages[number], static_cast<int>(number));
    std::ranges::move(judgement.Take(), std::back_inserter(violations));
  }
  return violations;
}

}  // namespace muster::simulation
