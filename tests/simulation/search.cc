// Searches the seeds for one that breaks an invariant.
//
//   search [--seeds N | --seconds N] [--first SEED]   many; the last line is "N passed, N failed, N skipped"
//   search --seed SEED [--log]                        one; --log: what its processes logged
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "tests/simulation/child.h"

namespace muster::simulation {
namespace {

constexpr uint64_t kReplayed = 20;  // seeds that run twice
constexpr size_t kMostShown = 5;    // failed seeds

struct Arguments {
  uint64_t first = 1;
  uint64_t seeds = 0;
  Duration time{};
  bool one = false;
  bool log = false;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--log") {
      arguments.log = true;
      continue;
    }
    const uint64_t value = i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
    if (name == "--seeds") {
      arguments.seeds = value;
    } else if (name == "--seconds") {
      arguments.time = std::chrono::seconds(value);
    } else if (name == "--first" || name == "--seed") {
      arguments.first = value;
      arguments.one = name == "--seed";
    } else {
      fmt::print(stderr, "search: unknown argument {}\n", name);
      std::exit(64);
    }
  }
  return arguments;
}

int RunOne(const Arguments& arguments) {
  const Scenario scenario = MakeScenario(arguments.first);
  const Verdict verdict = RunInChild(scenario, arguments.log);
  fmt::print("{}{}trace {:016x}: {} events, {} of {} processes formed a group, over after {:.3f} s\n",
             Describe(scenario), verdict.log, verdict.trace, verdict.events, verdict.formed,
             verdict.processes, std::chrono::duration<double>(verdict.time).count());
  for (const std::string& violation : verdict.violations) fmt::print("{}\n", violation);
  return verdict.violations.empty() ? 0 : 1;
}

class Search {
 public:
  void RunSeed(uint64_t seed) {
    const Scenario scenario = MakeScenario(seed);
    const Verdict verdict = RunInChild(scenario, false);
    ++seeds_;
    events_ += verdict.events;
    processes_ += static_cast<uint64_t>(verdict.processes);
    if (seed % 100 < kReplayed && seeds_ < 2 * kReplayed &&
        RunInChild(scenario, false).trace != verdict.trace)
      Show(seed, scenario, {"differs: the second run of the seed is another one"});
    if (!verdict.violations.empty()) Show(seed, scenario, verdict.violations);
  }

  int Summarize(Duration took) const {
    int failed = 0;
    for (const Invariant& invariant : kInvariants) {
      const auto broken = broken_.find(invariant.prefix);
      const bool ok = broken == broken_.end();
      failed += ok ? 0 : 1;
      fmt::print("{} {}{}\n", ok ? "ok" : "FAILED", invariant.sentence,
                 ok ? "" : fmt::format(" ({} times)", broken->second));
    }
    const double seconds = std::chrono::duration<double>(took).count();
    fmt::print("{} seeds in {:.1f} s, {:.0f} a second; {} processes, {} events\n", seeds_, seconds,
               static_cast<double>(seeds_) / seconds, processes_, events_);
    fmt::print("{} passed, {} failed, 0 skipped\n", kInvariants.size() - static_cast<size_t>(failed), failed);
    return failed == 0 ? 0 : 1;
  }

  uint64_t seeds() const { return seeds_; }

 private:
  void Show(uint64_t seed, const Scenario& scenario, const std::vector<std::string>& violations) {
    for (const std::string& violation : violations) ++broken_[violation.substr(0, violation.find(':'))];
    if (shown_++ >= kMostShown) return;
    fmt::print("seed {} fails (tests/simulation/run --seed {}):\n{}", seed, seed, Describe(scenario));
    for (const std::string& violation : violations) fmt::print("  {}\n", violation);
  }

  uint64_t seeds_ = 0;
  uint64_t events_ = 0;
  uint64_t processes_ = 0;
  size_t shown_ = 0;
  std::map<std::string, int, std::less<>> broken_;
};

int RunMany(const Arguments& arguments) {
  const auto began = Clock::now();
  Search search;
  for (uint64_t seed = arguments.first;; ++seed) {
    if (arguments.time == Duration::zero() ? search.seeds() >= arguments.seeds
                                           : Clock::now() - began >= arguments.time)
      break;
    search.RunSeed(seed);
  }
  return search.Summarize(Clock::now() - began);
}

}  // namespace
}  // namespace muster::simulation

int main(int argc, char** argv) {
  using namespace muster::simulation;
  FixAddresses(argv);
  const Arguments arguments = Parse(argc, argv);
  return arguments.one ? RunOne(arguments) : RunMany(arguments);
}
