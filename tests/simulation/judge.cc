#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/simulation/run_scenario.h"

namespace muster::simulation {
namespace {

// What is allocated once for a process, or once for all (the first of them holds it).
constexpr ptrdiff_t kMostBytesLeft = 64 << 10;

class Judgement {
 public:
  Judgement(const Scenario& scenario, const std::vector<Outcome>& outcomes)
      : scenario_(scenario), outcomes_(outcomes) {}

  void Add(std::string violation) { violations_.push_back(std::move(violation)); }

  void JudgeProcess(size_t number) {
    const Outcome& outcome = outcomes_[number];
    if (outcome.process == nullptr || outcome.process->killed) return;
    const std::string name = Name(number);
    if (!outcome.ended) return Add(fmt::format("hangs: {}", name));
    if (outcome.descriptors != 0) Add(fmt::format("leaks descriptors: {}: {}", name, outcome.descriptors));
    if (outcome.bytes > kMostBytesLeft) Add(fmt::format("leaks memory: {}: {} bytes", name, outcome.bytes));
    if (scenario_.faults.empty() && !outcome.left) {
      Add(fmt::format("fails without a fault: {}: {}", name,
                      outcome.failure ? ToString(*outcome.failure) : "no reason"));
    }
  }

  // The members of one group have one roster, of one launch, with all of its ranks.
  void JudgeGroups() {
    std::map<std::string, size_t> first;
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      const Outcome& outcome = outcomes_[i];
      if (!outcome.formed) continue;
      const ProcessPlan& plan = scenario_.processes[i];
      const Launch& launch = scenario_.launches[static_cast<size_t>(plan.launch)];
      std::vector<std::string> expected;
      for (int rank = 0; rank < launch.world_size; ++rank)
        expected.push_back(PayloadOf(scenario_, plan, rank));
      if (outcome.members != expected)
        Add(fmt::format("merged: {}: {}", Name(i), fmt::join(outcome.members, ", ")));
      const auto [other, is_new] = first.emplace(outcome.group_id, i);
      if (!is_new && scenario_.processes[other->second].launch != plan.launch)
        Add(fmt::format("merged: {} and {}", Name(other->second), Name(i)));
    }
  }

  std::vector<std::string> Take() { return std::move(violations_); }

 private:
  std::string Name(size_t number) const {
    const ProcessPlan& plan = scenario_.processes[number];
    return fmt::format("launch {} rank {} on n{}", plan.launch, plan.first_rank, plan.node);
  }

  const Scenario& scenario_;
  const std::vector<Outcome>& outcomes_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> Judge(const Scenario& scenario, const std::vector<Outcome>& outcomes,
                               bool too_many_events) {
  Judgement judgement(scenario, outcomes);
  if (too_many_events) judgement.Add("runs without end: more events than any run needs");
  for (size_t i = 0; i < outcomes.size(); ++i) judgement.JudgeProcess(i);
  judgement.JudgeGroups();
  return judgement.Take();
}

}  // namespace muster::simulation
