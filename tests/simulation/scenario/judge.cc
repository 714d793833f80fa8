#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/simulation/scenario/damage.h"
#include "tests/simulation/scenario/judge_endings.h"
#include "tests/simulation/scenario/judge_map.h"
#include "tests/simulation/scenario/named_ranks.h"
#include "tests/simulation/scenario/run_scenario.h"

namespace muster::simulation {
namespace {

// Memory allocated once for all processes is held by the first.
constexpr ptrdiff_t kMostBytesLeft = 64 << 10;
constexpr ptrdiff_t kMostBytes = 16 << 20;
// JoinRequest::late_nodes, and a pause between two attempts to reach the root.
constexpr Duration kKnownToAll = std::chrono::seconds(15);
// Less than JoinRequest::late_nodes.
constexpr Duration kRootStays = std::chrono::seconds(8);
// kRefusedPatience to report a lost leader, JoinRequest::late_nodes, and the end of connections.
constexpr Duration kLossReported = std::chrono::seconds(18);
// FailureNotifier's time for every process to confirm, and the way of exit reports around a lost leader.
constexpr Duration kReportedToRoot = std::chrono::seconds(10);
// If no rank is still to come: JoinRequest::leader_patience, then the end of connections.
constexpr Duration kKnownToAllThere = std::chrono::seconds(7);
// Two attempts of 1.5 s to reach a node, and what the root of a failed group does besides.
constexpr Duration kSilentNodesKnown = std::chrono::seconds(4);
// kVerdictGrace, kRefusedPatience or JoinRequest::late_nodes, and the end of connections.
constexpr Duration kEndsAfterDeadline = std::chrono::seconds(20);
// The root of a failed group stays for late ranks (JoinRequest::late_nodes, 10 s). A leader without a parent tries each node above for
// JoinRequest::leader_patience: with more nodes than these it finds the root gone. No launch is as deep: with kFanOut its fourth level
// begins at 1.4 million nodes.
constexpr size_t kMostAbove = 4;
constexpr Duration kForEachAbove = std::chrono::seconds(3);
constexpr Duration kToConnect = std::chrono::seconds(1);

class Judgement {
 public:
  Judgement(const Scenario& scenario, const std::deque<Outcome>& outcomes)
      : scenario_(scenario), outcomes_(outcomes), damages_(DamagesOf(scenario)) {}

  void Add(std::string violation) { violations_.push_back(std::move(violation)); }

  void JudgeProcess(const Outcome& outcome) {
    if (outcome.process == nullptr || outcome.process->killed) return;
    const std::string name = Name(outcome);
    if (!outcome.ended) return Add(fmt::format("hangs: {}", name));
    if (outcome.descriptors != 0) Add(fmt::format("leaks descriptors: {}: {}", name, outcome.descriptors));
    if (outcome.bytes > kMostBytesLeft) Add(fmt::format("leaks memory: {}: {} bytes", name, outcome.bytes));
    if (outcome.peak > kMostBytes) Add(fmt::format("grows: {}: {} bytes", name, outcome.peak));
    const Damage& damage = DamageOf(outcome);
    const Duration limit = LaunchOf(outcome).rendezvous + damage.standstill + kEndsAfterDeadline;
    // One that follows another, or a second process, waits for the end of the group without a deadline.
    const bool waits = damage.follows_damage || outcome.duplicate;
    if (!outcome.formed && !waits && outcome.ended_at > outcome.began + limit)
      Add(fmt::format(
          "late: {}: {} ms more than its deadline", name,
          (outcome.ended_at - outcome.began - LaunchOf(outcome).rendezvous) / std::chrono::milliseconds(1)));
    if (damage.causes == 0 && !damage.may_fail && !damage.follows_damage && !outcome.left) {
      Add(fmt::format("fails without a fault: {}: {}", name,
                      outcome.failure ? ToString(*outcome.failure) : "no reason"));
    }
    if (outcome.failure) JudgeFailure(outcome, damage);
  }

  // A process of the node has seen the end of the one that was killed, and can report it to all that are there.
  void JudgeWaits() {
    std::map<int, Time> known;  // by launch
    std::map<int, Time> last;   // process's start
    for (const Outcome& outcome : outcomes_) {
      const Damage& damage = DamageOf(outcome);
      Time& latest = last[PlanOf(outcome).launch];
      latest = outcome.process == nullptr ? Time::max() : std::max(latest, outcome.began);
      if (!IsCertain(damage) || damage.causes != 1 || !IsWitness(outcome, damage)) continue;
      const auto [first, is_first] = known.emplace(PlanOf(outcome).launch, outcome.ended_at);
      if (!is_first) first->second = std::min(first->second, outcome.ended_at);
    }
    for (const Outcome& outcome : outcomes_) {
      const auto found = known.find(PlanOf(outcome).launch);
      // A map goes on without the ranks of that node.
      if (found == known.end() || !outcome.ended || outcome.map.joined || FindsRootGone(outcome) ||
          IsCountedAsKilled(outcome))
        continue;
      Time due = outcome.began > found->second ? Time::max() : found->second + kKnownToAll;
      const Time latest = std::max(last[found->first], found->second);
      // The last one has come while the root stays.
      const bool knows_all =
          !StaysForEndedLeaders(outcome) && !StaysForEndedRanks(outcome) && !StaysForRanksOfRoot(outcome);
      if (latest < found->second + kRootStays && knows_all) due = std::min(due, latest + kKnownToAllThere);
      if (outcome.ended_at > due) Add(fmt::format("waits: {}", Name(outcome)));
    }
  }

  // The process that had accepted them was killed: they have no roster, and none comes.
  void JudgeAccepted() {
    for (const Outcome& outcome : outcomes_) {
      const Damage& damage = DamageOf(outcome);
      if (outcome.process == nullptr || outcome.process->killed || !outcome.ended || outcome.formed) continue;
      if (!IsCertain(damage) || damage.causes != 1) continue;
      const Outcome* const killed = FindKilled(outcome);
      if (killed != nullptr && outcome.ended_at > killed->process->ended + kLossReported)
        Add(fmt::format("waits: {}: {} had accepted it", Name(outcome), Name(*killed)));
    }
  }

  // The reports go around a leader that was killed. Ranks that never had the roster have none.
  void JudgeReports() {
    for (const Outcome& root : outcomes_) {
      const Damage& damage = DamageOf(root);
      const bool certain = IsCertain(damage) && damage.causes == 1 && !damage.outsiders;
      if (!root.is_root || !root.ended || !root.failure || !certain) continue;
      JudgeReportsTo(root, damage.nodes);
      JudgeWaitForReports(root);
    }
  }

  // A node lost power, alone or with those behind it. The root waits for no exit report of theirs, and for all others.
  void JudgePowerFailures() {
    if (scenario_.faults.size() != 1 || scenario_.launches.size() != 1) return;
    const Fault& fault = scenario_.faults.front();
    if (fault.restarts) return;
    const std::vector<int> lost = scenario_.NodesOf(fault);
    // If none is left beside the root, nothing proves that nodes answer.
    if (fault.kind != Fault::Kind::kPowerOff || std::cmp_equal(lost.size() + 1, scenario_.nodes)) return;
    const LivenessOptions& liveness = scenario_.launches.front().liveness;
    for (const Outcome& root : outcomes_) {
      // An exchange may have ended before: then the root stays for no silent node.
      if (!root.is_root || !root.ended || !root.failure || root.formed_at > fault.at ||
          root.failure->message.find("fell silent") == std::string::npos)
        continue;
      Time due = fault.at + liveness.dead_after + 2 * liveness.heartbeat + kSilentNodesKnown;
      if (RanksBehindLackRoster(lost)) due += kReportedToRoot;
      if (root.ended_at > due) Add(fmt::format("lingers: {}", Name(root)));
      JudgeReportsTo(root, {lost.begin(), lost.end()});
    }
  }

  void JudgeAnswers() {
    for (const Outcome& outcome : outcomes_) {
      const Answers& answers = outcome.answers;
      if (!answers.asked) continue;
      const Launch& launch = scenario_.launches[static_cast<size_t>(PlanOf(outcome).launch)];
      if (answers.owner >= 0 && answers.owner != launch.owner)
        Add(fmt::format("mistaken: {}: rank {} instead of {}", Name(outcome), answers.owner, launch.owner));
      const Damage& damage = DamageOf(outcome);
      if (damage.causes != 0 || !IsCertain(damage)) continue;
      // After the last round the ranks leave: a process that has ended has no connection.
      const bool has_owner = launch.ask_round < launch.rounds;
      if (answers.missing > 0 || !answers.whole || answers.reports != launch.world_size ||
          answers.survey >= kSurveyPatience || (has_owner && answers.owner != launch.owner)) {
        Add(fmt::format("unanswered: {}: {} missing; {} of {} ranks in {} ms{}; owner {} instead of {}",
                        Name(outcome), answers.missing, answers.reports, launch.world_size,
                        answers.survey / std::chrono::milliseconds(1),
                        answers.whole ? "" : ", without the root", answers.owner, launch.owner));
      }
    }
  }

  // The members of one group have one roster, of one launch, with all of its ranks.
  void JudgeGroups() {
    std::map<std::pair<std::string, int>, const Outcome*> ranks;
    std::map<std::string, const Outcome*> first;
    for (const Outcome& outcome : outcomes_) {
      if (!outcome.formed) continue;
      const ProcessPlan& plan = PlanOf(outcome);
      const Launch& launch = scenario_.launches[static_cast<size_t>(plan.launch)];
      std::vector<std::string> expected;
      for (int rank = 0; rank < launch.world_size; ++rank)
        expected.push_back(PayloadOf(scenario_, plan, rank));
      if (outcome.members != expected)
        Add(fmt::format("merged: {}: {}", Name(outcome), fmt::join(outcome.members, ", ")));
      const auto [other, is_first] = first.emplace(outcome.group_id, &outcome);
      if (!is_first && !IsSameLife(PlanOf(*other->second).launch, plan.launch))
        Add(fmt::format("merged: {} and {}", Name(*other->second), Name(outcome)));
      if (!ranks.emplace(std::pair(outcome.group_id, plan.first_rank), &outcome).second)
        Add(fmt::format("twice: {}", Name(outcome)));
      if (IsOutsider(outcome)) Add(fmt::format("admitted: {} has another secret", Name(outcome)));
    }
  }

  const std::vector<Damage>& damages() const { return damages_; }
  std::vector<std::string> Take() { return std::move(violations_); }

 private:
  void JudgeWaitForReports(const Outcome& root) {
    Time killed = kNever;
    for (const Outcome& other : outcomes_) {
      if (PlanOf(other).launch != PlanOf(root).launch || other.process == nullptr) continue;
      if (other.process->killed) killed = other.process->ended;
    }
    if (killed != kNever && root.ended_at > std::max(killed, root.formed_at) + kReportedToRoot)
      Add(fmt::format("lingers: {}", Name(root)));
  }
  void JudgeReportsTo(const Outcome& root, const std::set<int>& lost_nodes) {
    for (const Outcome& other : outcomes_) {
      const ProcessPlan& plan = PlanOf(other);
      if (other.group_id != root.group_id || !other.formed || !plan.supervisor || !other.ended) continue;
      if (other.left || !other.failure || lost_nodes.contains(plan.node)) continue;
      for (int rank = plan.first_rank; rank < plan.first_rank + plan.ranks; ++rank) {
        if (!root.reported.contains(rank)) Add(fmt::format("unreported: {}: rank {}", Name(root), rank));
      }
    }
  }
  // The process that follows the killed one received the failure of this launch. It counts as the late rank of its node, or of any
  // node if these are not known: no process stays for that rank, which meets the next start.
  bool IsCountedAsKilled(const Outcome& outcome) const {
    if (WasAccepted(outcome)) return false;
    const ProcessPlan& late = PlanOf(outcome);
    const Launch& launch = LaunchOf(outcome);
    return std::ranges::any_of(outcomes_, [&](const Outcome& next) {
      const int after = PlanOf(next).after;
      if (after < 0 || next.process == nullptr || !next.failure || next.formed) return false;
      const Outcome& before = outcomes_[static_cast<size_t>(after)];
      if (PlanOf(before).node != late.node && launch.knows_local_ranks && launch.knows_placement)
        return false;
      return PlanOf(before).launch == late.launch && before.process != nullptr && before.process->killed &&
             next.failure->code == Code::kPeerLost;
    });
  }
  // By a process of its own launch.
  bool WasAccepted(const Outcome& outcome) const {
    return std::ranges::any_of(outcomes_, [&](const Outcome& other) {
      return other.process != nullptr && PlanOf(other).launch == PlanOf(outcome).launch &&
             PlanOf(other).first_rank == outcome.process->accepted_by &&
             outcome.process->accepted_at <= EndOf(other);
    });
  }
  // The root was killed, and had accepted leaders of other nodes. These end immediately, and report it to none: the rank that takes
  // its place stays for them (comm/rendezvous/README.md, "A group forms").
  bool StaysForEndedLeaders(const Outcome& outcome) const {
    if (PlanOf(outcome).node != 0) return false;
    const int launch = PlanOf(outcome).launch;
    return std::ranges::any_of(outcomes_, [&](const Outcome& leader) {
      const ProcessPlan& plan = PlanOf(leader);
      if (plan.launch != launch || plan.node == 0 || leader.process == nullptr) return false;
      const Outcome* const above = FindKilled(leader);
      return above != nullptr && PlanOf(*above).node == 0;
    });
  }
  // The root was killed. Ranks of its node had gone to the root without their leader, which was late: they have ended, and the leader
  // stays for them. Only the root had them all.
  bool StaysForRanksOfRoot(const Outcome& leader) const {
    const Outcome* const root = FindKilled(leader);
    if (root == nullptr || PlanOf(*root).node == PlanOf(leader).node) return false;
    return std::ranges::any_of(outcomes_, [&](const Outcome& other) {
      return &other != &leader && other.process != nullptr && PlanOf(other).node == PlanOf(leader).node &&
             FindKilled(other) == root;
    });
  }
  // The leader of its node was killed when some ranks of the node had its second acceptance, or the roster. These end immediately,
  // and report it to none: the rank that takes its place stays for them (comm/rendezvous/README.md, "A group forms").
  bool StaysForEndedRanks(const Outcome& outcome) const {
    const Outcome* const leader = FindKilled(outcome);
    if (leader == nullptr || PlanOf(*leader).node != PlanOf(outcome).node) return false;
    return std::ranges::any_of(outcomes_, [&](const Outcome& other) {
      return other.process != nullptr && (other.process->acceptances > 1 || other.formed) &&
             PlanOf(other).node == PlanOf(outcome).node && FindKilled(other) == leader;
    });
  }
  // The node lost power before it had passed the roster on. No heartbeat reports that to the ranks behind it; keep-alive does after
  // 30 s, the default of liveness.dead_after (comm/rendezvous/tree.md, "Exit reports"). Scenarios have 1 to 6 s.
  bool RanksBehindLackRoster(const std::vector<int>& lost) const {
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes),
                                      scenario_.launches.front().fan_out);
    return std::ranges::any_of(outcomes_, [&](const Outcome& outcome) {
      if (outcome.process == nullptr || outcome.process->killed || outcome.formed) return false;
      const std::vector<size_t> above = tree.Above(static_cast<size_t>(PlanOf(outcome).node));
      return std::ranges::any_of(lost, [&](int node) { return std::ranges::count(above, node) > 0; });
    });
  }
  // The process above, if it was killed.
  const Outcome* FindKilled(const Outcome& below) const {
    for (const Outcome& other : outcomes_) {
      if (other.process != nullptr && other.process->killed && PlanOf(other).launch == PlanOf(below).launch &&
          PlanOf(other).first_rank == below.process->accepted_by)
        return &other;
    }
    return nullptr;
  }
  bool IsWitness(const Outcome& outcome, const Damage& damage) const {
    return outcome.ended && !outcome.formed && outcome.failure && outcome.failure->code == Code::kPeerLost &&
           damage.nodes.contains(PlanOf(outcome).node);
  }

  void JudgeFailure(const Outcome& outcome, const Damage& damage) {
    if (damage.follows_damage || outcome.duplicate || (damage.outsiders && !outcome.formed)) return;
    const std::string text = ToString(*outcome.failure);
    // A failure of its own: it can attempt no item.
    if (outcome.map.joined && damage.guilty.contains(PlanOf(outcome).first_rank) && !outcome.map.result)
      return;
    const std::set<int> named = RanksIn(text);
    const std::set<int> guilty = GuiltyFor(outcome);
    const bool one_is_guilty = std::ranges::any_of(named, [&](int rank) { return guilty.contains(rank); });
    const std::set<int>& silent = text.starts_with("the exchange ") ? damage.silent : damage.cut;
    const bool all_are = std::ranges::all_of(named, [&](int rank) {
      return guilty.contains(rank) || IsBehind(rank, outcome, silent) || IsMissing(rank, outcome, text);
    });
    // Of two that disagree one is right.
    const bool is_true = text.find("disagree") != std::string::npos
                             ? one_is_guilty || IsAboutRestart(text, outcome)
                             : all_are && (one_is_guilty || !outcome.formed);
    const bool is_behind =
        IsBehind(PlanOf(outcome).first_rank, outcome, outcome.formed ? damage.silent : damage.cut) ||
        damage.silent.contains(PlanOf(outcome).node);
    const bool has_no_answer = !outcome.formed || text.find("did not answer") != std::string::npos;
    const bool root_is_gone =
        NamesRoot(named, outcome) && (FindsRootGone(outcome) || (has_no_answer && is_behind));
    if (StoodStill(outcome, text, damage)) return;
    const bool loses_root = is_behind || damage.silent.contains(0);
    const bool is_node = named.empty() && (NamesSilentNode(text, damage) ||
                                           (loses_root && text.starts_with("the group's root did not open")));
    if (named.empty() ? !is_node : !is_true && !root_is_gone && !NamesItsLeader(text, outcome, damage))
      Add(fmt::format("blames: {}: {}", Name(outcome), text));
    if (damage.causes > 1 || !damage.whole || !outcome.formed) return;
    const auto [first, is_first] = failures_.emplace(outcome.group_id, text);
    if (!is_first && first->second != text)
      Add(fmt::format("disagree: {}: \"{}\" instead of \"{}\"", Name(outcome), text, first->second));
  }

  // Its group may have processes of two starts of a launch.
  std::set<int> GuiltyFor(const Outcome& outcome) const {
    std::set<int> guilty = DamageOf(outcome).guilty;
    for (const Outcome& other : outcomes_) {
      const std::set<int>& its = DamageOf(other).guilty;
      if (outcome.formed && other.group_id == outcome.group_id) guilty.insert(its.begin(), its.end());
    }
    return guilty;
  }
  // If local ranks are unknown, any rank of its node may be the root.
  bool NamesRoot(const std::set<int>& named, const Outcome& outcome) const {
    const Launch& launch = LaunchOf(outcome);
    return named.size() == 1 &&
           (*named.begin() == 0 ||
            (!launch.knows_local_ranks && launch.node_of_rank[static_cast<size_t>(*named.begin())] == 0));
  }
  static bool NamesSilentNode(const std::string& text, const Damage& damage) {
    return std::ranges::any_of(damage.silent, [&](int node) {
      return text.starts_with(fmt::format("n{} is cut off: ", node)) ||
             text.starts_with(fmt::format("the leader of n{} (process ", node)) ||
             text.starts_with(fmt::format("the leader of n{} accepted ", node));
    });
  }
  // Its peers have ended without it: it receives the roster when it continues, and then their end.
  bool StoodStill(const Outcome& outcome, const std::string& text, const Damage& damage) const {
    const bool stopped = damage.stopped.contains(PlanOf(outcome).first_rank);
    if (text.starts_with("the group's control plane has ended")) return stopped || damage.root_retires;
    return stopped && text.ends_with(" ended without leaving its group");
  }
  // And below the root. What it sends does not arrive, nor what is sent to it. While the group forms the ranks behind a silent leader
  // report it; those behind a cut link do not notice that their messages are lost.
  bool IsBehind(int rank, const Outcome& witness, const std::set<int>& silent) const {
    const Launch& launch = LaunchOf(witness);
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes), launch.fan_out);
    const std::vector<size_t> above =
        tree.Above(static_cast<size_t>(launch.node_of_rank[static_cast<size_t>(rank)]));
    return std::ranges::any_of(silent, [&](int lost) {
      return lost != 0 && std::ranges::count(above, static_cast<size_t>(lost)) > 0;
    });
  }

  // The root was killed, and a rank of its node that it had not accepted took its place. Ranks that it had accepted have ended, with a
  // failure of their own, and report it to none.
  bool IsMissing(int rank, const Outcome& witness, const std::string& text) const {
    if (!text.starts_with("the group did not form")) return false;
    return std::ranges::any_of(outcomes_, [&](const Outcome& other) {
      const ProcessPlan& plan = PlanOf(other);
      return plan.launch == PlanOf(witness).launch && plan.first_rank <= rank &&
             rank < plan.first_rank + plan.ranks && other.ended && other.failure &&
             other.failure->code == Code::kPeerLost && other.ended_at < witness.ended_at;
    });
  }

  // Its leader did not accept it, for a fault. The group has failed for that, and the root has ended.
  bool NamesItsLeader(const std::string& text, const Outcome& outcome, const Damage& damage) const {
    const int node = PlanOf(outcome).node;
    return text.starts_with(fmt::format("local rank 0 on n{} did not appear", node)) &&
           std::ranges::any_of(scenario_.processes, [&](const ProcessPlan& plan) {
             return plan.launch == PlanOf(outcome).launch && plan.node == node && plan.local_rank == 0 &&
                    damage.guilty.contains(plan.first_rank);
           });
  }
  // Ranks of this launch meet those of its next start: some of its processes have ended, and some not yet.
  bool IsAboutRestart(const std::string& text, const Outcome& outcome) const {
    return text.find("disagree on the restart") != std::string::npos &&
           std::ranges::any_of(scenario_.launches, [&](const Launch& next) {
             return next.follows == PlanOf(outcome).launch && next.restart != LaunchOf(outcome).restart;
           });
  }
  // A process that is started again takes the place of one that died before its group had formed.
  bool IsSameLife(int one, int other) const {
    const Launch& a = scenario_.launches[static_cast<size_t>(one)];
    const Launch& b = scenario_.launches[static_cast<size_t>(other)];
    return a.key == b.key && a.restart == b.restart;
  }

  // Inside a node the user id is the proof; between nodes a leader's secret is.
  bool IsOutsider(const Outcome& outcome) const {
    const ProcessPlan& plan = PlanOf(outcome);
    const Launch& launch = scenario_.launches[static_cast<size_t>(plan.launch)];
    const bool several_nodes = std::ranges::max(launch.node_of_rank) > 0;
    return outcome.wrong_secret && several_nodes && launch.knows_local_ranks && plan.local_rank == 0;
  }

  // Its leader, or the topmost of those above that has accepted its leader, is below more than kMostAbove nodes, or began late, or the
  // root ended at its deadline (no process stays then), and none of the nodes above has accepted it.
  bool FindsRootGone(const Outcome& outcome) const {
    if (outcome.formed) return false;
    const int launch = PlanOf(outcome).launch;
    int node = PlanOf(outcome).node;
    for (int above = node; above >= 0; above = NodeThatAccepted(launch, node)) node = above;
    const rendezvous::LeaderTree tree(static_cast<size_t>(scenario_.nodes),
                                      scenario_.launches[static_cast<size_t>(launch)].fan_out);
    size_t above = tree.Above(static_cast<size_t>(node)).size();
    Time root_ended{};
    Time began = kNever;
    bool at_deadline = false;
    for (const Outcome& other : outcomes_) {
      const ProcessPlan& plan = PlanOf(other);
      if (plan.launch != launch || other.process == nullptr) continue;
      if (plan.node == node) began = std::min(began, other.began);
      if (plan.node != 0 || EndOf(other) < root_ended) continue;
      root_ended = EndOf(other);
      at_deadline = root_ended >= other.began + scenario_.launches[static_cast<size_t>(launch)].rendezvous;
    }
    // The group had failed before this process began.
    const bool late = std::ranges::any_of(outcomes_, [&](const Outcome& other) {
      return PlanOf(other).launch == launch && other.ended && !other.formed && other.ended_at < outcome.began;
    });
    if (above <= kMostAbove && !at_deadline && !late) return false;
    // Its leader has ended.
    if (late) {
      above = tree.Above(static_cast<size_t>(PlanOf(outcome).node)).size();
      began = outcome.began;
    }
    return root_ended < began + kForEachAbove * static_cast<Duration::rep>(above - 1) + kToConnect;
  }
  // -1: none.
  int NodeThatAccepted(int launch, int node) const {
    for (const Outcome& other : outcomes_) {
      const ProcessPlan& plan = PlanOf(other);
      if (plan.launch != launch || plan.node != node || other.process == nullptr) continue;
      const int by = other.process->accepted_by;
      if (by < 0) continue;
      const int above = scenario_.launches[static_cast<size_t>(launch)].node_of_rank[static_cast<size_t>(by)];
      if (above != node) return above;
    }
    return -1;
  }
  static Time EndOf(const Outcome& outcome) {
    if (outcome.process->killed) return outcome.process->ended;
    return outcome.ended ? outcome.ended_at : kNever;
  }

  static bool IsCertain(const Damage& damage) { return damage.whole && !damage.follows_damage; }
  const ProcessPlan& PlanOf(const Outcome& outcome) const { return scenario_.processes[outcome.number]; }
  const Launch& LaunchOf(const Outcome& outcome) const {
    return scenario_.launches[static_cast<size_t>(PlanOf(outcome).launch)];
  }
  const Damage& DamageOf(const Outcome& outcome) const {
    return damages_[static_cast<size_t>(PlanOf(outcome).launch)];
  }
  std::string Name(const Outcome& outcome) const {
    const ProcessPlan& plan = PlanOf(outcome);
    return fmt::format("launch {} rank {} on n{}{}", plan.launch, plan.first_rank, plan.node,
                       outcome.duplicate ? " (the second)" : "");
  }

  const Scenario& scenario_;
  const std::deque<Outcome>& outcomes_;
  std::vector<Damage> damages_;
  std::map<std::string, std::string> failures_;  // by group
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> Judge(const Scenario& scenario, const std::deque<Outcome>& outcomes,
                               const Observed& observed) {
  Judgement judgement(scenario, outcomes);
  if (observed.too_many_events) judgement.Add("runs without end: more events than any run needs");
  if (observed.to_strangers.find("launch ") != std::string::npos)
    judgement.Add("admitted: a stranger has read the name of a launch");
  for (const Outcome& outcome : outcomes) judgement.JudgeProcess(outcome);
  judgement.JudgeWaits();
  judgement.JudgeAccepted();
  judgement.JudgeReports();
  judgement.JudgePowerFailures();
  judgement.JudgeAnswers();
  judgement.JudgeGroups();
  std::vector<std::string> violations = judgement.Take();
  std::ranges::move(JudgeEndings(scenario, outcomes, judgement.damages()), std::back_inserter(violations));
  std::ranges::move(JudgeMaps(scenario, outcomes, judgement.damages(), observed),
                    std::back_inserter(violations));
  return violations;
}

}  // namespace muster::simulation
