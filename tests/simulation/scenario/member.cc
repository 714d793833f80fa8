#include "tests/simulation/scenario/member.h"

#include <fmt/format.h>
#include <poll.h>

#include <utility>

#include "comm/base/bytes.h"
#include "comm/rendezvous/control/join.h"
#include "tests/simulation/system_calls/exit.h"

namespace muster::simulation {
namespace {

constexpr uint16_t kEndpointPort = 29500;
constexpr int kOtherSecrets = 99;
constexpr PortRange kFewPorts{61000, 61007};
constexpr int kLastTurnsMilliseconds = 1000;

std::string NodeName(int node) { return fmt::format("n{}", node); }

}  // namespace

Placement PlacementOf(const Launch& launch) {
  Placement placement;
  for (const int node : launch.node_of_rank) {
    if (std::cmp_equal(node, placement.nodes.size())) placement.nodes.push_back({NodeName(node), 0});
    ++placement.nodes.own()[static_cast<size_t>(node)].tasks;
    placement.node_of_rank.push_back(node);
  }
  return placement;
}

namespace {

Meeting MeetingOf(const Launch& launch, int number) {
  Meeting meeting;
  meeting.key = launch.key;
  meeting.job_key = fmt::format("{} of {} ranks, restart {}", launch.key, launch.world_size, launch.restart);
  meeting.find_root = launch.find_root;
  meeting.host = NodeName(launch.node_of_rank.front());
  meeting.endpoint = Endpoint{meeting.host, static_cast<uint16_t>(kEndpointPort + std::max(number, 0))};
  if (launch.find_root == FindRoot::kEndpointStore) meeting.directory = "/shared";
  if (launch.knows_placement) meeting.placement = PlacementOf(launch);
  return meeting;
}

}  // namespace

rendezvous::JoinRequest RequestOf(const Scenario& scenario, const ProcessPlan& plan, const Outcome& outcome) {
  const Process& process = *outcome.process;
  const Launch& launch = scenario.launches[static_cast<size_t>(plan.launch)];
  rendezvous::JoinRequest request;
  request.meeting = MeetingOf(launch, launch.follows >= 0 ? launch.follows : plan.launch);
  request.job = launch.key;
  request.self.node = NodeName(plan.node);
  request.self.pid = process.pid;
  request.self.agreement.world_size = launch.world_size;
  request.self.agreement.launcher = "slurm";
  request.self.agreement.restart = launch.restart;
  request.self.agreement.job_key = request.meeting.job_key;
  request.self.agreement.backend = "socket";
  for (int i = 0; i < plan.ranks; ++i) {
    const std::string payload = PayloadOf(scenario, plan, plan.first_rank + i);
    request.self.claims.push_back({plan.first_rank + i, launch.knows_local_ranks ? plan.local_rank + i : -1,
                                   launch.knows_local_ranks ? plan.local_size : -1,
                                   Bytes(payload.begin(), payload.end())});
  }
  request.options.auth = AuthMethod::kSecret;
  // Two processes with one other secret would be a group of their own.
  const int secret = outcome.wrong_secret  ? kOtherSecrets + static_cast<int>(outcome.number)
                     : launch.follows >= 0 ? launch.follows
                     : launch.shares       ? 0
                                           : plan.launch;
  if (launch.shares) request.options.ports = kFewPorts;
  request.secret =
      *auth::JobSecret::Parse(fmt::format("{:016x}{:048x}", scenario.seed, secret), "the scenario");
  request.timeouts.rendezvous = launch.rendezvous;
  request.liveness = launch.liveness;
  request.uid = process.uid;
  request.fan_out = launch.fan_out;
  return request;
}

void NoteFormed(Outcome& outcome, const Roster& roster) {
  const KernelMemory kernel;
  outcome.formed = true;
  outcome.process->phase = Process::Phase::kGroup;
  outcome.formed_at = outcome.process->world.now();
  outcome.group_id = roster.group_id;
  for (const Roster::Member& member : roster.members)
    outcome.members.emplace_back(AsText(member.payload.view()));
}

std::string RoundName(int round) { return fmt::format("round {}", round); }

std::string GiftOf(int round, int rank) { return fmt::format("{} of {}", round, rank); }

Error WrongGift(int round, int rank) {
  return {Code::kInternal, fmt::format("round {}: rank {} gave something else", round, rank), ""};
}

std::string PayloadOf(const Scenario& scenario, const ProcessPlan& plan, int rank) {
  return fmt::format("{} rank {}", scenario.launches[static_cast<size_t>(plan.launch)].key, rank);
}

namespace {

// Until the time, or the group's failure.
void Work(const Group& group, Duration time) {
  pollfd failed{group.failure_fd(), POLLIN, 0};
  poll(&failed, 1, static_cast<int>(time / std::chrono::milliseconds(1)));
}

Status RunRounds(const Launch& launch, Group& group, Outcome& outcome) {
  for (int round = 0; round < launch.rounds; ++round) {
    Work(group, launch.pause);
    if (outcome.fails_at == round) {
      group.Fail({Code::kPeerLost, fmt::format("rank {} gives up", group.rank()), ""});
      Work(group, launch.gather);
    }
    MUSTER_TRY(const auto all, group.KeyedAllGather(RoundName(round), AsBytes(GiftOf(round, group.rank())),
                                                    Deadline::After(launch.gather)));
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const auto number = static_cast<int>(rank);
      if (AsText(all[rank]) != GiftOf(round, number)) return Fail(WrongGift(round, number));
    }
    ++outcome.rounds;
  }
  const bool leaves_before_map = group.rank() == 0 && launch.map.root_leaves_within > Duration::zero();
  if (leaves_before_map) return group.Leave(Deadline::After(launch.map.root_leaves_within));
  if (launch.map.planned)
    MUSTER_CHECK(RunMap(launch.map, group, Deadline::After(launch.gather), outcome.fails_at, outcome.map));
  if (launch.leave_within == Duration::zero()) return group.Leave(Deadline::After(launch.gather));
  if (group.rank() % 2 == 1) Work(group, launch.pause);
  return group.Leave(Deadline::After(launch.leave_within));
}

}  // namespace

void RunLibrary(const Scenario& scenario, const ProcessPlan& plan, Outcome& outcome) {
  const Launch& launch = scenario.launches[static_cast<size_t>(plan.launch)];
  Result<std::unique_ptr<Group>> joined = rendezvous::JoinGroup(RequestOf(scenario, plan, outcome));
  if (joined) NoteFormed(outcome, (*joined)->roster());
  const Status status = joined ? RunRounds(launch, **joined, outcome) : Fail(joined.error());
  const KernelMemory kernel;
  outcome.left = status.has_value();
  outcome.process->phase = status ? Process::Phase::kLeft : Process::Phase::kFailed;
  if (status) return;
  outcome.failure = status.error();
  outcome.failed_at = outcome.process->world.now();
}

void RunMember(const Scenario& scenario, const ProcessPlan& plan, Outcome& outcome) {
  outcome.began = outcome.process->world.now();
  (plan.supervisor ? RunSupervisor : RunLibrary)(scenario, plan, outcome);
  outcome.ended_at = outcome.process->world.now();
  // Threads that are left behind end when they have a turn.
  poll(nullptr, 0, kLastTurnsMilliseconds);
  outcome.descriptors = outcome.process->OpenDescriptors();
  outcome.bytes = outcome.process->account.live;
  outcome.peak = outcome.process->account.peak;
  RemoveNamesAtExit();
  outcome.ended = true;
}

}  // namespace muster::simulation
