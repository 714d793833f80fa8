#include "tests/simulation/search/scale.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <limits>
#include <set>
#include <utility>

#include "comm/base/fields.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/join/joiner.h"
#include "comm/rendezvous/join/tree.h"
#include "tests/simulation/scenario/member.h"
#include "tests/simulation/search/bounds.h"

namespace muster::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uid_t kUser = 1000;
// The root is there first, as rank 0's node is when a launcher starts all nodes.
constexpr Duration kLeadersStart = milliseconds(1);
// From a process's own forming on.
constexpr Duration kIdle = seconds(10);
constexpr Duration kExchangeAt = kIdle + seconds(2);
constexpr Duration kSurveyAt = kIdle + seconds(8);
constexpr Duration kKillAt = kIdle + seconds(15);
constexpr Duration kLimit = seconds(120);
constexpr Duration kPatience = seconds(2);
constexpr Duration kGather = seconds(30);
constexpr int kAbsentOneIn = 100;
constexpr Duration kAllHaveAPlaceAt = seconds(10);
// The larger exchanges are computed only: all their bytes would be in this machine's memory.
constexpr size_t kMostExchanged = size_t{1} << 30;
constexpr rlim_t kDescriptors = 524288;  // systemd's hard limit

struct Leader {
  Process* process = nullptr;
  Time formed{};
  Time gathered{};
  Time told{};
  Duration computed{};  // until it had formed
  int connections = 0;  // the most when it had formed, before the kill, or when it knew the failure
  Error error;
};

struct ScaleOfGroup {
  int nodes = 0;
  int ranks = 0;  // of each
  size_t fan_out = 0;
};

struct Cluster {
  int nodes = 0;
  int ranks = 0;  // of each
  size_t fan_out = 0;
  Scenario scenario{};
  Placement placement{};
  World world;
  std::deque<Leader> leaders{};
  std::shared_ptr<const rendezvous::FormedGroup> group{};
  size_t roster_bytes = 0;
  size_t exchange_bytes = 0;
  bool exchanges = false;
  int formed = 0;
  int gathered = 0;
  int told = 0;
  Time surveyed{};
  size_t reports = 0;

  int world_size() const { return nodes * ranks; }
};

Machines MeteredMachines() {
  Machines machines;
  machines.turn = microseconds(1);
  machines.latency = microseconds(25);
  machines.jitter = Duration::zero();
  machines.bytes_per_second = 1e9;
  machines.socket_buffer = size_t{128} << 10;
  machines.metered = true;
  machines.call = microseconds(2);
  return machines;
}

// The claims of `muster run` (bootstrap/store/master_port.cc): the first rank of a node has its addresses.
Bytes PayloadOf(const Node& node, int local) {
  if (local != 0) return {};
  const uint32_t a = node.address;
  return EncodeFields(uint16_t{0}, std::vector<std::string>{fmt::format("{}.{}.{}.{}", a >> 24, a >> 16 & 255,
                                                                        a >> 8 & 255, a & 255)});
}

rendezvous::JoinRequest RequestOf(Cluster& cluster, int number, Process& process) {
  Outcome outcome;
  outcome.process = &process;
  ProcessPlan plan;
  plan.node = number;
  plan.first_rank = number * cluster.ranks;
  plan.ranks = cluster.ranks;
  plan.local_size = cluster.ranks;
  plan.supervisor = true;
  rendezvous::JoinRequest request = RequestOf(cluster.scenario, plan, outcome);
  for (int local = 0; local < cluster.ranks; ++local)
    request.self.claims[static_cast<size_t>(local)].payload = PayloadOf(process.node, local);
  request.meeting.placement = cluster.placement;
  return request;
}

// `muster run` of one node, without programs.
class NodeProcess {
 public:
  NodeProcess(Cluster& cluster, int number, net::EventLoop& loop)
      : cluster_(cluster), number_(number), me_(cluster.leaders[static_cast<size_t>(number)]), loop_(loop) {
    for (int local = 0; local < cluster.ranks; ++local) own_ranks_.push_back(number * cluster.ranks + local);
  }

  void Start() {
    joiner_ = std::make_unique<rendezvous::Joiner>(
        loop_, RequestOf(cluster_, number_, *me_.process),
        [this](tl::expected<rendezvous::Joined, rendezvous::Failure> joined) {
          OnJoined(std::move(joined));
        });
    joiner_->Start();
  }
  bool done() const { return done_; }

 private:
  void OnJoined(tl::expected<rendezvous::Joined, rendezvous::Failure> joined) {
    loop_.Post([this] { joiner_.reset(); });
    if (!joined) {
      Note(joined.error().error);
      done_ = true;
      return;
    }
    {
      const Unmetered harness;
      me_.formed = cluster_.world.now();
      ++cluster_.formed;
      me_.computed = me_.process->computed;
      me_.connections = me_.process->OpenConnections();
      if (!cluster_.group) {
        cluster_.group = joined->group;
        cluster_.roster_bytes = Encode(*joined->group).size();
      }
      // Each node has opened it; one copy is enough for this machine.
      if (joined->group->roster.group_id == cluster_.group->roster.group_id) joined->group = cluster_.group;
    }
    rendezvous::ControlPlane::Events events;
    events.on_failure = [this](const rendezvous::Failure& failure) {
      Note(failure.error);
      loop_.Post([this] { plane_->exit_reports().Finish({}, kPatience); });
    };
    events.on_ends_reported = [this] { done_ = true; };
    events.on_gathered = [this](const rendezvous::KeyedAllGather&) {
      me_.gathered = cluster_.world.now();
      ++cluster_.gathered;
    };
    plane_ = std::make_unique<rendezvous::ControlPlane>(loop_, *std::move(joined), own_ranks_,
                                                        cluster_.scenario.launches.front().liveness,
                                                        std::move(events));
    if (cluster_.exchanges) loop_.After(kExchangeAt, [this] { Contribute(); });
    if (number_ == 0) loop_.After(kSurveyAt, [this] { AskAll(); });
  }

  void Note(const Error& error) {
    const Unmetered harness;
    me_.told = cluster_.world.now();
    me_.connections = std::max(me_.connections, me_.process->OpenConnections());
    ++cluster_.told;
    me_.error = error;
  }

  void Contribute() {
    rendezvous::KeyedAllGather part{
        "data endpoints", rendezvous::MillisecondsLeft(Deadline::After(kGather)), {}};
    for (const int rank : own_ranks_) part.entries.emplace_back(rank, Bytes(32));
    plane_->exchanges().Contribute(part);
  }

  void AskAll() {
    plane_->survey().AskAll(kPatience, [this,
                                        asked = cluster_.world.now()](const rendezvous::Surveyed& answer) {
      cluster_.surveyed = cluster_.world.now() - asked;
      cluster_.reports = static_cast<size_t>(std::ranges::count_if(
          answer.reports, [](const auto& report) { return report.state != rendezvous::RankState::kSilent; }));
    });
  }

  Cluster& cluster_;
  const int number_;
  Leader& me_;
  net::EventLoop& loop_;
  std::vector<int> own_ranks_;
  std::unique_ptr<rendezvous::Joiner> joiner_;
  std::unique_ptr<rendezvous::ControlPlane> plane_;
  bool done_ = false;
};

struct Usage {
  Duration computed{};
  uint64_t calls = 0;
  uint64_t sent = 0;
};
Usage Of(const Process& process) { return {process.computed, process.metered_calls, process.sent}; }
Usage operator-(const Usage& a, const Usage& b) {
  return {a.computed - b.computed, a.calls - b.calls, a.sent - b.sent};
}

// The second node has others below it in each tree.
bool IsAbsent(int number) { return number == 1 || number % kAbsentOneIn == kAbsentOneIn - 1; }

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }
double MiB(ptrdiff_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string Describe(const Usage& usage) {
  return fmt::format("{:.3f} s computed, {} system calls, {:.1f} MB sent", Seconds(usage.computed),
                     usage.calls, static_cast<double>(usage.sent) / 1e6);
}

void Print(std::string_view what, const std::string& text) { fmt::print("{:<12}{}\n", what, text); }

void StartAll(Cluster& cluster, bool some_are_absent) {
  Launch launch;
  launch.key = "launch";
  launch.world_size = cluster.world_size();
  launch.find_root = FindRoot::kFirstNode;
  launch.knows_placement = false;
  launch.rendezvous = some_are_absent ? seconds(20) : kLimit;
  launch.fan_out = cluster.fan_out;
  for (int rank = 0; rank < launch.world_size; ++rank) launch.node_of_rank.push_back(rank / cluster.ranks);
  cluster.placement = PlacementOf(launch);
  cluster.scenario.launches.push_back(launch);
  cluster.leaders.resize(static_cast<size_t>(cluster.nodes));
  for (int number = 0; number < cluster.nodes; ++number) {
    // Each machine has been up for another time.
    cluster.world.AddNode(fmt::format("n{}", number)).next_pid = cluster.world.random.Between(1000, 4000000);
  }
  for (int number = 0; number < cluster.nodes; ++number) {
    if (some_are_absent && IsAbsent(number)) continue;
    Process& process = cluster.world.AddProcess(*cluster.world.nodes()[static_cast<size_t>(number)], kUser,
                                                fmt::format("{}", number));
    process.descriptors = {kDescriptors, kDescriptors};
    cluster.leaders[static_cast<size_t>(number)].process = &process;
    cluster.world.At(number == 0 ? Time{} : kLeadersStart, [&cluster, &process, number] {
      process.Start([&cluster, number] {
        auto loop = net::EventLoop::Create();
        if (!loop) return;
        NodeProcess node(cluster, number, **loop);
        node.Start();
        (*loop)->RunUntil([&] { return node.done(); }, Deadline::Never());
      });
    });
  }
}

void Run(Cluster& cluster, Time until, const std::function<bool()>& done) {
  cluster.world.Run(until, std::numeric_limits<uint64_t>::max(), done);
}

Cluster MakeCluster(const ScaleOfGroup& scale) {
  return Cluster{.nodes = scale.nodes,
                 .ranks = scale.ranks,
                 .fan_out = scale.fan_out,
                 .world = World(1, MeteredMachines())};
}

// Of a process, also of those that run now.
int MostConnections(const Cluster& cluster) {
  int most = 0;
  for (const Leader& leader : cluster.leaders) {
    if (leader.process != nullptr)
      most = std::max({most, leader.connections, leader.process->OpenConnections()});
  }
  return most;
}

bool PrintForming(const Cluster& cluster, const Usage& root) {
  const Leader& first = cluster.leaders.front();
  Duration last{};
  Duration computed{};
  Duration busiest{};
  int connections = 0;
  ptrdiff_t peak = 0;
  for (const Leader& leader : cluster.leaders) {
    last = std::max(last, leader.formed);
    if (&leader == &first) continue;
    computed += leader.computed;
    busiest = std::max(busiest, leader.computed);
    connections = std::max(connections, leader.connections);
    peak = std::max(peak, leader.process->account.peak);
  }
  if (cluster.formed < cluster.nodes) {
    Print("broken",
          fmt::format("{} of {} have formed: {}", cluster.formed, cluster.nodes, first.error.message));
    return false;
  }
  Print("forming", fmt::format("all after {:.3f} s", Seconds(last)));
  Print("  root", fmt::format("{}, {} connections, {:.1f} MiB at most", Describe(root), first.connections,
                              MiB(first.process->account.peak)));
  Print("  others", fmt::format("{:.2f} ms computed each, {:.1f} ms at most, {:.2f} s all together; {} "
                                "connections, {:.1f} MiB at most",
                                1e3 * Seconds(computed) / std::max(1, cluster.nodes - 1),
                                1e3 * Seconds(busiest), Seconds(computed), connections, MiB(peak)));
  Print("  roster", fmt::format("{} bytes, {:.1f} a rank", cluster.roster_bytes,
                                static_cast<double>(cluster.roster_bytes) / cluster.world_size()));
  return true;
}

// The other processes that have the name of that node.
int Know(const Cluster& cluster, size_t killed) {
  const std::string name = fmt::format(" on n{} ", killed);
  return static_cast<int>(std::ranges::count_if(cluster.leaders, [&](const Leader& leader) {
    return leader.error.message.find(name) != std::string::npos;
  }));
}

int RunWhole(const ScaleOfGroup& scale) {
  Cluster cluster = MakeCluster(scale);
  Bounds bounds;
  const int nodes = scale.nodes;
  const auto n = static_cast<size_t>(nodes);
  cluster.exchange_bytes = n * static_cast<size_t>(scale.ranks) * (32 + 8);
  cluster.exchanges = cluster.exchange_bytes * n <= kMostExchanged;
  StartAll(cluster, false);
  World& world = cluster.world;
  const Process& root = *cluster.leaders.front().process;
  Run(cluster, kLimit, [&] { return cluster.formed == nodes || cluster.told > 0; });
  if (!PrintForming(cluster, Of(root))) return 1;
  bounds.Roster(cluster.roster_bytes);
  const Time formed = world.now();

  Run(cluster, formed + seconds(1), [] { return false; });
  const Usage before_idle = Of(root);
  Run(cluster, formed + kIdle, [] { return false; });
  Print("idle",
        fmt::format("{:.0f} s; root: {}", Seconds(kIdle - seconds(1)), Describe(Of(root) - before_idle)));

  if (cluster.exchanges) {
    Run(cluster, formed + kExchangeAt - seconds(1), [] { return false; });
    const Usage before = Of(root);
    Run(cluster, formed + kSurveyAt - seconds(1), [&] { return cluster.gathered == nodes; });
    Duration took{};
    for (const Leader& leader : cluster.leaders)
      took = std::max(took, leader.gathered - leader.formed - kExchangeAt);
    Print("exchange",
          fmt::format("all after {:.3f} s; root: {}", Seconds(took), Describe(Of(root) - before)));
  } else {
    Print("exchange", fmt::format("not run: 32 bytes a rank are {:.1f} GB from the root",
                                  static_cast<double>(cluster.exchange_bytes) * nodes / 1e9));
  }
  Run(cluster, formed + kSurveyAt - seconds(1), [] { return false; });
  const Usage before_survey = Of(root);
  Run(cluster, formed + kKillAt - seconds(1), [&] { return cluster.surveyed > Time{}; });
  Print("survey",
        fmt::format("{} of {} ranks after {:.3f} s; root: {}", cluster.reports, cluster.world_size(),
                    Seconds(cluster.surveyed), Describe(Of(root) - before_survey)));
  bounds.Survey(static_cast<int>(cluster.reports), cluster.world_size(), cluster.surveyed);
  Run(cluster, formed + kKillAt, [] { return false; });
  const int most = MostConnections(cluster);
  const Usage before_kill = Of(root);
  const Time killed = world.now();
  cluster.leaders[n / 2].process->End(true);
  Run(cluster, killed + kLimit, [&] { return cluster.told == nodes - 1; });
  Print("one killed", fmt::format("{} of {} know after {:.3f} s; root: {}", cluster.told, nodes - 1,
                                  Seconds(world.now() - killed), Describe(Of(root) - before_kill)));
  Print("", cluster.leaders.front().error.message);
  bounds.Kill(Know(cluster, n / 2), nodes - 1, world.now() - killed);
  bounds.Connections(std::max(most, MostConnections(cluster)));
  return bounds.status();
}

std::set<int> AbsentOf(int nodes) {
  std::set<int> absent;
  for (int node = 0; node < nodes; ++node) {
    if (IsAbsent(node)) absent.insert(node);
  }
  return absent;
}

int RunAbsent(const ScaleOfGroup& scale) {
  Cluster cluster = MakeCluster(scale);
  Bounds bounds;
  const int nodes = scale.nodes;
  StartAll(cluster, true);
  const int present = static_cast<int>(std::ranges::count_if(cluster.leaders, &Leader::process));
  // The children of those that are absent have another place.
  Run(cluster, kAllHaveAPlaceAt, [] { return false; });
  const int most = MostConnections(cluster);
  Run(cluster, 3 * kLimit, [&] { return cluster.told == present; });
  const Leader& root = cluster.leaders.front();
  Duration last{};
  for (const Leader& leader : cluster.leaders) last = std::max(last, leader.told);
  Print(fmt::format("{} absent", nodes - present),
        fmt::format("{} of {} know {:.3f} s after the deadline; root: {}, {:.1f} MiB at most; {} connections "
                    "at most",
                    cluster.told, present, Seconds(last - cluster.scenario.launches.front().rendezvous),
                    Describe(Of(*root.process)), MiB(root.process->account.peak), most));
  Print("", fmt::format("{} bytes: {}", root.error.message.size(), root.error.message));
  bounds.Expect(cluster.told == present,
                fmt::format("{} of {} know that the group did not form", cluster.told, present));
  bounds.Names(root.error.message, AbsentOf(nodes));
  bounds.Connections(most);
  return bounds.status();
}

// In a process of its own: a world leaves much behind.
int InChild(const std::function<int()>& what) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int status = what();
    fflush(stdout);
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) Print("", fmt::format("ended by signal {}", WTERMSIG(status)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int RunScale(std::string_view size, size_t fan_out) {
  const size_t x = size.find('x');
  const auto nodes = ParseInteger<int>(size.substr(0, x));
  const auto ranks = x == std::string_view::npos ? std::optional(1) : ParseInteger<int>(size.substr(x + 1));
  if (!nodes || !ranks || *nodes < 2 || *ranks < 1 || *nodes > 60000 || *ranks > 1024) {
    fmt::print(stderr, "search: --scale wants LEADERSxRANKS, as 12500x8, not {}\n", size);
    return 64;
  }
  SetUpLog({LogLevel::kError, LogFormat::kJson, std::nullopt});
  const ScaleOfGroup scale{*nodes, *ranks, fan_out};
  const size_t last = static_cast<size_t>(*nodes) - 1;
  const size_t levels = rendezvous::LeaderTree(last + 1, fan_out).AboveParent(last).size() + 1;
  fmt::print(
      "{} nodes x {} ranks = {}, {} below the root; one way 25 us, 1 GB/s a node, 2 us a system call\n",
      *nodes, *ranks, *nodes * *ranks, Counted(static_cast<int>(levels), "level"));
  const int whole = InChild([&] { return RunWhole(scale); });
  const int absent = *nodes >= kAbsentOneIn ? InChild([&] { return RunAbsent(scale); }) : 0;
  return whole != 0 ? whole : absent;
}

}  // namespace muster::simulation
