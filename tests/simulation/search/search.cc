// Searches the seeds for one that breaks an invariant.
//
//   search [--seeds N] [--seconds N] [--first SEED]   many; the last line is "N passed, N failed, N skipped"
//   ... --jobs N                                      as many at a time; by default one
//   ... --until COMPLAINT                             ends with the first seed that has it; the exit status is 1 if none has
//   search --seed SEED [--log]                        one; --log: the log of its processes
//   search --scale NODESxRANKS [--fan-out N]          no seed: the cost of a group of that size
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "comm/base/parse.h"
#include "comm/rendezvous/join/tree.h"
#include "tests/simulation/scenario/transitions.h"
#include "tests/simulation/search/child.h"
#include "tests/simulation/search/scale.h"
#include "tests/simulation/search/side_by_side.h"

namespace muster::simulation {
namespace {

// Each found a defect, which is mended. They come first.
constexpr auto kFound = std::to_array<uint64_t>({
    20,   // a map's root granted the last item and recalled it, without end
    48,   // a root stood still, and blamed the ranks that had ended because of its silence
    334,  // a root lost power while the group formed: a rank below a leader blamed the leader at its deadline
    3386,  // a leader between others was stopped: the root named a rank behind it at its deadline
    3662,  // the same, earlier than the deadline by more than liveness.dead_after
    5304,  // of the simulation: a root retired before its map, and a leader ended with that error before ranks below it had it
    20065,  // a leader and all nodes behind it lost power: the root stayed 14 s for exit reports
    85479,  // of the simulation: ranks are late after one that was killed and started again: the judge excused each wait of their launch
    100286,  // a request for a map was on its way to a root that retired: the rank waited for its deadline
    400658,  // a leader was killed: the root stayed for one of the ranks behind it, and not for the next
    502537,  // the root's node lost power: ranks that gave an exchange up ended, and ranks below one of them blamed it
    503137,  // a leader had no descriptor for the ranks of its node: they waited for their deadline, and named it by its node alone
    508738,  // a root was stopped until its deadline, and named the ranks that had not reached it
    600130,  // of the simulation: a rank was started twice, and two groups of one launch had different ends of their maps
    830680,  // a leader was killed while the group formed: the next one of its node stayed 10 s for a rank that had ended
    1000002,  // a leader was killed after its own leave message: two sentences in one group
    1000274,  // of the simulation: ranks of a launch met those of its next start, which had another number of rounds
    1001528,  // the root was killed before all had come: they waited for it, and blamed rank 0
    1001832,  // the same; its followers had left without a message to their peers
    1101149,  // a leader was killed: the root counted the rank behind it twice, and did not stay for one to come
    1120166,  // of the simulation: killed within the initialisation of a static, which all its processes share
    1407909,  // a leader was killed before a late rank's hello had gone up: the root stayed 10 s for that rank
    2001634,  // a leader between others was killed: the root had no exit reports of the ranks behind it
    3002283,  // a process was stopped until after its deadline: it named the root, which had waited for it
    3001332,  // of the simulation: ranks of a launch met those of its next start, of which none is touched by a fault
    3002894,  // of the simulation: a process that waits for the end of another launch has no deadline meanwhile
    3003270,  // of the simulation: a leader was stopped, and its node fell silent
    3004951,  // two of four nodes lost power, 2 s apart: the root took itself for cut off
    3004996,  // of the simulation: a leader between others lost power, and the root did not answer ranks behind it
    3005252,  // of the simulation: a root was killed, and the one in its place missed ranks that had ended with it
    3007671,  // of the simulation: a leader was stopped, and the root did not answer other ranks of its node
    3031217,  // a leader was killed after the root had the ranks behind it, which it had not accepted: they waited for the root
    3050899,  // the same, with several ranks a node
    5004943,  // of the simulation: with 314 processes that wait for others, its own checks of these were more events than a run may have
    5014847,  // as 2001634, whose kill is earlier than the roster since hellos go up later
    7001426,  // a leader had no descriptor for a connection to the root, which waited until its deadline and named the whole node
    7002217,  // of the simulation: a process was killed and started again, and counted as the late rank of its node
    7002516,  // a leader lost two of the nodes below it, and took itself for cut off, although the root reached it
    7006724,  // of the simulation: items of a map failed at ranks of two starts of a launch, and those of one were counted
    7008266,  // a process was stopped until its group had ended: it began a map, waited for its deadline, and blamed the journal
    7020847,  // of the simulation: killed while it wrote to the log, whose lock all its processes share: the search stood still
    7090777,  // a leader was killed while its group left: ranks that had left closed their connections, and waited 12 s
    7526197,  // a leader was killed before it had passed the roster on: the rank below it waited for the end of its own group, then for
              // the root; the root stayed 14 s for its exit report
    9000465,  // of the simulation: local ranks were unknown, and another rank of the root's node than rank 0 was the root
    9002002,  // of the simulation: a root was killed in a star, and a rank in its place waited for leaders that had ended
    9005799,  // a process at its deadline ended with a part of its last message sent: the one above named it as the cause
    9006604,  // of the simulation: a group had ranks of two starts of a launch, and its map lost one of the first
    9010209,  // of the simulation: the same, and a rank of the second start was killed
    9013481,  // of the simulation: a second process of the one rank read the journal of the group before
    9014533,  // a root had no descriptor for the journal of its map: the ranks named neither it nor its node
    9017480,  // a run was killed in the middle of its first write to a journal, which then counted as damaged
    9025023,  // of the simulation: the root lost power, and the deadline to join its map came before its silence
    15956922,  // a leader was killed while its group left without exit reports: the root stayed 14 s for those of ranks that had left
    21648487,  // a leader was killed with a part of its answer sent to a leader whose hello had gone up: that one waited for the root
    40723413,  // leaders of a failed group ended before the kernel had taken all hellos: the root stayed 10 s for those ranks
    41266148,  // a leader was killed before it had found the root: the leaders below the process in its place stayed for no late rank
    52989821,  // a leader was killed with a part of a leave message sent: the root stayed 14 s for ranks that had left
    72048358,  // a leader came to a failed group after ranks below it: it stayed 10 s for them, and the root for this leader
    90004884,  // a leader was killed when some ranks of its node had its second acceptance: the rank in its place ended after 15.5 s
    700002729,  // of the simulation: a root was killed, and a late leader stayed for ranks that had gone to the root
});
constexpr uint64_t kReplayed = 20;  // seeds that run twice
constexpr size_t kMostShown = 5;    // failed seeds
constexpr Duration kProgress = std::chrono::minutes(1);

struct Arguments {
  uint64_t first = 1;
  uint64_t seeds = 0;
  uint64_t jobs = 1;
  Duration time{};
  bool one = false;
  bool log = false;
  std::string_view until;  // a prefix of kInvariants
  std::optional<std::string> scale;
  size_t fan_out = rendezvous::kFanOut;  // of --scale
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--log") {
      arguments.log = true;
      continue;
    }
    if (name == "--until") {
      arguments.until = i + 1 < argc ? argv[++i] : "";
      if (std::ranges::count(kInvariants, arguments.until, &Invariant::prefix) == 1) continue;
      fmt::print(stderr, "search: unknown complaint \"{}\"\n", arguments.until);
      std::exit(64);
    }
    if (name == "--scale") {
      arguments.scale = i + 1 < argc ? argv[++i] : "";
      continue;
    }
    const std::string_view text = i + 1 < argc ? argv[++i] : "";
    const auto number = ParseInteger<uint64_t>(text);
    const uint64_t value = number.value_or(0);
    if (name == "--seeds") {
      arguments.seeds = value;
    } else if (name == "--jobs" && value > 0) {
      arguments.jobs = value;
    } else if (name == "--seconds") {
      arguments.time = std::chrono::seconds(value);
    } else if (name == "--fan-out") {
      arguments.fan_out = value;
    } else if (name == "--first" || name == "--seed") {
      arguments.first = value;
      arguments.one = name == "--seed";
    } else {
      fmt::print(stderr, "search: unknown argument {}\n", name);
      std::exit(64);
    }
    if (number) continue;
    fmt::print(stderr, "search: {} wants a number, not \"{}\"\n", name, text);
    std::exit(64);
  }
  return arguments;
}

bool Fails(const Scenario& scenario, std::string_view prefix) {
  const Verdict verdict = RunInChild(scenario, false);
  return std::ranges::any_of(verdict.violations,
                             [&](const auto& violation) { return violation.starts_with(prefix); });
}

// The same violation with fewer faults, rounds and disturbances.
Scenario Shrink(Scenario scenario, std::string_view prefix) {
  for (size_t i = scenario.faults.size(); i-- > 0;) {
    Scenario smaller = scenario;
    smaller.faults.erase(smaller.faults.begin() + static_cast<ptrdiff_t>(i));
    if (Fails(smaller, prefix)) scenario = std::move(smaller);
  }
  const auto attempt = [&](const std::function<void(Scenario&)>& change) {
    Scenario smaller = scenario;
    change(smaller);
    if (Fails(smaller, prefix)) scenario = std::move(smaller);
  };
  attempt([](Scenario& one) { one.machines.short_transfers = 0; });
  attempt([](Scenario& one) { one.machines.jitter = Duration::zero(); });
  attempt([](Scenario& one) {
    for (Launch& launch : one.launches) launch.rounds = std::min(launch.rounds, 1);
  });
  attempt([](Scenario& one) {
    for (ProcessPlan& plan : one.processes) plan.start = Duration::zero();
  });
  return scenario;
}

int RunOne(const Arguments& arguments) {
  const Scenario scenario = MakeScenario(arguments.first);
  const Verdict verdict = RunInChild(scenario, arguments.log);
  fmt::print("{}{}trace {:016x}: {} events, {} of {} processes formed a group, over after {:.3f} s\n",
             Describe(scenario), verdict.log, verdict.trace, verdict.events, verdict.formed,
             verdict.processes, std::chrono::duration<double>(verdict.time).count());
  for (const std::string& violation : verdict.violations) fmt::print("{}\n", violation);
  if (!verdict.violations.empty() && !arguments.log) {
    const std::string& first = verdict.violations.front();
    fmt::print("the smallest that fails alike:\n{}",
               Describe(Shrink(scenario, first.substr(0, first.find(':')))));
  }
  return verdict.violations.empty() ? 0 : 1;
}

class Search {
 public:
  void Take(uint64_t seed, const Scenario& scenario, const Verdict& verdict) {
    ++seeds_;
    events_ += verdict.events;
    processes_ += static_cast<uint64_t>(verdict.processes);
    if (seed % 100 < kReplayed && seeds_ < 2 * kReplayed &&
        RunInChild(scenario, false).trace != verdict.trace)
      Show(seed, scenario, {"differs: the second run of the seed is another one"});
    for (const std::string_view name : Split(verdict.logged, ',')) ++logged_[std::string(name)];
    for (const std::string_view name : Split(verdict.received, ',')) ++received_[std::string(name)];
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
    fmt::print("log events, and the number of seeds with each:{}\n", Listed(logged_));
    fmt::print("messages by the receiver's state, and the number of seeds with each:{}\n", Listed(received_));
    std::string never;
    for (const std::string& message : MessagesOfAGroup()) {
      const bool seen =
          std::ranges::any_of(received_, [&](const auto& one) { return one.first.ends_with(":" + message); });
      if (!seen) never += " " + message;
    }
    fmt::print("messages that no process received:{}\n", never);
    const double seconds = std::chrono::duration<double>(took).count();
    fmt::print("{} seeds in {:.1f} s, {:.0f} a second; {} processes, {} events\n", seeds_, seconds,
               static_cast<double>(seeds_) / seconds, processes_, events_);
    fmt::print("{} passed, {} failed, 0 skipped\n", kInvariants.size() - static_cast<size_t>(failed), failed);
    return failed == 0 ? 0 : 1;
  }

  bool Has(std::string_view complaint) const { return broken_.contains(complaint); }

  // Once a minute.
  void Report(uint64_t seed, Duration took) {
    if (took < reported_ + kProgress) return;
    reported_ = took;
    fmt::print(stderr, "{} seeds, {:.0f} a second, {} fail; to continue later: --first {}\n", seeds_,
               static_cast<double>(seeds_) / std::chrono::duration<double>(took).count(), shown_, seed + 1);
  }

 private:
  void Show(uint64_t seed, const Scenario& scenario, const std::vector<std::string>& violations) {
    for (const std::string& violation : violations) ++broken_[violation.substr(0, violation.find(':'))];
    if (shown_++ >= kMostShown) return fmt::print("seed {} fails: {}\n", seed, violations.front());
    fmt::print("seed {} fails (tests/simulation/run --seed {}):\n{}", seed, seed, Describe(scenario));
    for (const std::string& violation : violations) fmt::print("  {}\n", violation);
  }

  static std::string Listed(const std::map<std::string, uint64_t>& counts) {
    std::string text;
    for (const auto& [name, count] : counts) {
      if (!name.empty()) text += fmt::format(" {} {}", name, count);
    }
    return text;
  }

  uint64_t seeds_ = 0;
  uint64_t events_ = 0;
  uint64_t processes_ = 0;
  size_t shown_ = 0;
  Duration reported_{};
  std::map<std::string, uint64_t> logged_;
  std::map<std::string, uint64_t> received_;
  std::map<std::string, int, std::less<>> broken_;
};

int RunMany(const Arguments& arguments) {
  const auto began = Clock::now();
  Search search;
  SideBySide running(arguments.jobs, [&](uint64_t seed, const Scenario& scenario, const Verdict& verdict) {
    search.Take(seed, scenario, verdict);
    search.Report(seed, Clock::now() - began);
  });
  const auto found = arguments.first == 1 ? kFound.begin() : kFound.end();
  const auto over = [&] { return search.Has(arguments.until); };
  for (auto seed = found; seed != kFound.end() && !over(); ++seed) running.Run(*seed);
  for (uint64_t seed = arguments.first; !over(); ++seed) {
    if (arguments.seeds > 0 && seed - arguments.first >= arguments.seeds) break;
    if (arguments.time > Duration::zero() && Clock::now() - began >= arguments.time) break;
    running.Run(seed);
  }
  running.Finish();
  const int status = search.Summarize(Clock::now() - began);
  if (arguments.until.empty()) return status;
  return over() ? 0 : 1;
}

}  // namespace
}  // namespace muster::simulation

int main(int argc, char** argv) {
  using namespace muster::simulation;
  FixAddresses(argv);
  const Arguments arguments = Parse(argc, argv);
  if (arguments.scale) return RunScale(*arguments.scale, arguments.fan_out);
  return arguments.one ? RunOne(arguments) : RunMany(arguments);
}
