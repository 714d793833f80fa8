#include "tests/simulation/scenario/judge_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "comm/base/parse.h"
#include "comm/rendezvous/join/tree.h"

namespace muster::simulation {
namespace {

// The journal's disk, and a turn of the root's timer.
constexpr Duration kOverhead = std::chrono::seconds(3);
// Messages of an item on its way through the tree, there and back.
constexpr int kCrossings = 12;
// Before a map is over: what happens later may meet its end.
constexpr Duration kSurelyAtWork = std::chrono::milliseconds(100);

// One launch.
class MapJudgement {
 public:
  MapJudgement(const Scenario& scenario, const std::deque<Outcome>& outcomes,
               const std::vector<Damage>& damages, const JournalView* journal, int number)
      : scenario_(scenario),
        outcomes_(outcomes),
        launch_(scenario.launches[static_cast<size_t>(number)]),
        map_(launch_.map),
        damages_(damages),
        damage_(damages[static_cast<size_t>(number)]),
        journal_(journal) {
    for (const Outcome& outcome : outcomes) {
      if (outcome.process == nullptr || PlanOf(outcome).launch != number) continue;
      all_.push_back(&outcome);
      if (outcome.map.joined) members_.push_back(&outcome);
    }
  }

  std::vector<std::string> Take() {
    for (const Outcome* member : members_) JudgeResult(*member);
    JudgeEnds();
    JudgeRuns();
    if (journal_ != nullptr) JudgeJournal();
    JudgeGoingOn();
    for (const Outcome* outcome : all_) JudgeLosses(*outcome);
    return std::move(violations_);
  }

 private:
  void JudgeResult(const Outcome& member) {
    const auto& result = member.map.result;
    if (!result) return;
    const uint64_t ended = result->committed + result->poisoned;
    const bool may_be_left = damage_.causes > 0 || damage_.may_fail || map_.time_left > Duration::zero();
    if (result->items != map_.items || ended > map_.items || result->time_is_up != (ended < map_.items) ||
        (ended < map_.items && !may_be_left)) {
      Add("loses items", "{}: {} committed, {} given up, of {}", Name(member), result->committed,
          result->poisoned, result->items);
    }
    if (member.map.reads) {
      if (member.map.records.size() != ended)
        Add("loses items", "{} reads {} of {}", Name(member), member.map.records.size(), ended);
      // Of an earlier group they lack its id.
      const std::string group = result->resumed == 0 ? member.group_id : "";
      for (const map::JournalRecord& record : member.map.records) JudgeRecord(record, group);
    }
    if (journal_ != nullptr && journal_->items.size() < ended)
      Add("loses items", "{} had the end of {}, the journal has {}", Name(member), ended,
          journal_->items.size());
    if (!IsUndisturbed()) return;
    if (member.map.over_at > LastJoined() + TimeNeeded())
      Add("overruns", "{}: {} ms instead of {}", Name(member),
          (member.map.over_at - LastJoined()) / std::chrono::milliseconds(1),
          TimeNeeded() / std::chrono::milliseconds(1));
  }

  // Of this group; "": of another one. Ranks of two starts of a launch may take part in it.
  void JudgeRecord(const map::JournalRecord& record, const std::string& group) {
    const bool fails = map_.FailuresOf(record.item) > static_cast<uint32_t>(map_.retries);
    if (record.ending == map::Ending::kCommitted) {
      if (fails || AsText(record.payload) != map_.ResultOf(record.item) ||
          record.key != map_.KeyOf(record.item))
        Add("loses items", "the result of item {} is \"{}\" of \"{}\"", record.item, AsText(record.payload),
            record.key);
      return;
    }
    if (group.empty()) return;
    // A rank that is lost costs an attempt at each item that the root takes for begun.
    int attempts = 0;
    for (const Outcome& outcome : outcomes_) {
      if (outcome.group_id != group) continue;
      attempts += IsTouched(outcome) ? 1 : 0;
      attempts += static_cast<int>(std::ranges::count_if(
          outcome.map.runs, [&](const ItemRun& run) { return run.item == record.item && run.failed; }));
    }
    if (attempts <= map_.retries) Add("gives up items", "item {} after {} attempts", record.item, attempts);
  }

  // A rank that is started again, or twice, may take part in the group before.
  void JudgeEnds() {
    std::map<std::string, const Outcome*> first;  // by group
    for (const Outcome* member : members_) {
      if (member->map.result) first.emplace(member->group_id, member);
    }
    for (const Outcome* member : members_) {
      const auto found = first.find(member->group_id);
      if (found == first.end()) continue;
      const auto& result = member->map.result;
      if (!result && damage_.whole && member->ended && !IsTouched(*member) && !HasLostLeader())
        Add("ends apart", "{} has no end, {} has", Name(*member), Name(*found->second));
      const map::Outcome& expected = *found->second->map.result;
      if (!result) continue;
      if (result->committed != expected.committed || result->poisoned != expected.poisoned ||
          result->resumed != expected.resumed || result->first_poisoned != expected.first_poisoned)
        Add("ends apart", "{} has {} items, {} has {}", Name(*member), result->committed,
            Name(*found->second), expected.committed);
    }
  }

  void JudgeRuns() {
    struct Work {
      const Outcome* by;
      Time began;
      Time ended;
    };
    std::map<uint64_t, std::vector<Work>> by_item;
    for (const Outcome* member : members_) {
      const Time end = member->process->state == Process::State::kEnded ? member->process->ended : kNever;
      for (const ItemRun& run : member->map.runs)
        by_item[run.item].push_back({member, run.began, std::min(run.ended, end)});
    }
    for (auto& [item, work] : by_item) {
      std::ranges::sort(work, {}, &Work::began);
      for (size_t i = 1; i < work.size(); ++i) {
        const Work& before = work[i - 1];
        if (before.ended <= work[i].began || (IsTouched(*before.by) && before.by != work[i].by)) continue;
        Add("works twice", "item {}: {} and {}", item, Name(*before.by), Name(*work[i].by));
      }
    }
  }

  void JudgeJournal() {
    if (!journal_->problem.empty() && !members_.empty()) Add("loses items", "{}", journal_->problem);
    if (journal_->second_commits > 0)
      Add("loses items", "the journal has {} second results", journal_->second_commits);
    for (const JournalView::Ended& one : journal_->items) {
      const bool is_own =
          std::ranges::any_of(all_, [&](const Outcome* outcome) { return outcome->group_id == one.group; });
      JudgeRecord(one.record, is_own ? one.group : "");
      if (is_own || launch_.follows < 0) continue;
      for (const Outcome* member : members_) {
        if (std::ranges::count(member->map.runs, one.record.item, &ItemRun::item) > 0)
          Add("works again", "{}: item {}", Name(*member), one.record.item);
      }
    }
  }

  // A process was killed that no other one is behind, while the map was at work.
  void JudgeGoingOn() {
    if (!damage_.whole || damage_.follows_damage || damage_.causes != 1 || damage_.outsiders) return;
    if (std::cmp_less(members_.size(), launch_.world_size) || !launch_.knows_local_ranks) return;
    const auto killed = std::ranges::find_if(all_, [](const Outcome* one) { return one->process->killed; });
    if (killed == all_.end() || !IsAlone(PlanOf(**killed))) return;
    Time over = kNever;
    for (const Outcome* member : members_) {
      if (member->map.result) over = std::min(over, member->map.over_at);
    }
    const Time at = (*killed)->process->ended;
    if (at < LastJoined() || at > over - kSurelyAtWork) return;
    for (const Outcome* member : members_) {
      if (member == *killed || (member->map.result && member->left)) continue;
      Add("stops", "{}: {}", Name(*member), member->failure ? ToString(*member->failure) : "no reason");
    }
  }

  // The ranks that the root has logged as lost. One that stood still has been given up by its peers, and they have ended.
  void JudgeLosses(const Outcome& root) {
    if (damage_.stopped.contains(PlanOf(root).first_rank)) return;
    for (const std::string_view event : {"\"event\":\"map_rank_lost\"", "\"event\":\"map_rank_silent\""}) {
      constexpr std::string_view kRank = "\"rank\":";
      const std::string& log = root.process->log;
      for (size_t at = log.find(event); at != std::string::npos; at = log.find(event, at + 1)) {
        const size_t digits = log.find(kRank, at) + kRank.size();
        const auto rank =
            ParseInteger<int>(log.substr(digits, log.find_first_not_of("0123456789", digits) - digits));
        if (!HasTouchedProcess(root, rank.value_or(-1)))
          Add("blames", "{}: its map has lost rank {}", Name(root), rank.value_or(-1));
      }
    }
  }

  // Of this rank, in the root's group: that may have processes of two starts of a launch. One that was killed may not have noted its
  // group.
  bool HasTouchedProcess(const Outcome& root, int rank) const {
    return std::ranges::any_of(outcomes_, [&](const Outcome& one) {
      const bool is_member = one.group_id == root.group_id || (one.process != nullptr && one.process->killed);
      const Launch& launch = scenario_.launches[static_cast<size_t>(PlanOf(one).launch)];
      return is_member && launch.key == launch_.key && PlanOf(one).first_rank == rank && IsTouched(one);
    });
  }
  // No other process reaches the root through it.
  bool IsAlone(const ProcessPlan& plan) const {
    if (plan.local_rank > 0) return true;
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes), launch_.fan_out);
    return plan.node > 0 && plan.local_size == 1 && tree.Children(static_cast<size_t>(plan.node)) == 0;
  }
  // The root may have informed some of the ranks.
  bool HasLostLeader() const {
    return std::ranges::any_of(all_, [&](const Outcome* one) {
      return one->process->killed && (PlanOf(*one).local_rank == 0 || !launch_.knows_local_ranks);
    });
  }
  bool IsUndisturbed() const {
    return damage_.causes == 0 && damage_.whole && !damage_.may_fail && !damage_.follows_damage;
  }
  // A fault may keep it or the leader of its node from the root.
  bool IsTouched(const Outcome& outcome) const {
    const ProcessPlan& plan = PlanOf(outcome);
    return std::ranges::any_of(scenario_.processes, [&](const ProcessPlan& other) {
      const bool is_above = other.node == plan.node && (other.local_rank == 0 || !launch_.knows_local_ranks);
      return other.launch == plan.launch && (is_above || other.first_rank == plan.first_rank) &&
             damages_[static_cast<size_t>(plan.launch)].guilty.contains(other.first_rank);
    });
  }
  Time LastJoined() const {
    Time last{};
    for (const Outcome* member : members_) last = std::max(last, member->map.joined_at);
    return last;
  }
  // Graham's bound of any list schedule, and the messages.
  Duration TimeNeeded() const {
    const Duration message = scenario_.machines.latency + scenario_.machines.jitter;
    const Duration work = map_.Work() / (launch_.world_size * map_.slots);
    // Nothing is begun after it.
    const Duration begun = map_.time_left > Duration::zero() ? std::min(work, map_.time_left) : work;
    return begun + map_.Longest() + static_cast<Duration::rep>(map_.items + 1) * kCrossings * message +
           kOverhead;
  }
  template <typename... Args>
  void Add(std::string_view prefix, fmt::format_string<Args...> format, Args&&... args) {
    violations_.push_back(
        fmt::format("{}: {}: {}", prefix, launch_.key, fmt::format(format, std::forward<Args>(args)...)));
  }
  const ProcessPlan& PlanOf(const Outcome& outcome) const { return scenario_.processes[outcome.number]; }
  std::string Name(const Outcome& outcome) const {
    return fmt::format("rank {} on n{}", PlanOf(outcome).first_rank, PlanOf(outcome).node);
  }

  const Scenario& scenario_;
  const std::deque<Outcome>& outcomes_;
  const Launch& launch_;
  const MapPlan& map_;
  const std::vector<Damage>& damages_;
  const Damage& damage_;
  const JournalView* const journal_;  // null: in memory
  std::vector<const Outcome*> all_;   // that were started
  std::vector<const Outcome*> members_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> JudgeMaps(const Scenario& scenario, const std::deque<Outcome>& outcomes,
                                   const std::vector<Damage>& damages, const Observed& observed) {
  std::vector<std::string> violations;
  for (size_t number = 0; number < scenario.launches.size(); ++number) {
    const MapPlan& map = scenario.launches[number].map;
    if (!map.planned) continue;
    const auto journal = observed.journals.find(map.journal);
    MapJudgement judgement(scenario, outcomes, damages,
                           journal == observed.journals.end() ? nullptr : &journal->second,
                           static_cast<int>(number));
    std::ranges::move(judgement.Take(), std::back_inserter(violations));
  }
  return violations;
}

}  // namespace muster::simulation
