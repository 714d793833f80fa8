#include "comm/rendezvous/join/joiner.h"

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/roster/agreement.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/system_calls.h"

namespace muster::rendezvous {
namespace {

constexpr int kChecksOfDescriptors = 3;
// Handshakes that the root did not answer end within 5 s, and are repeated.
constexpr Duration kRanksReachTheRoot = std::chrono::seconds(10);
// Of JoinRequest::leader_patience: a leader on a crowded node is slow to accept.
constexpr int kPatienceWithListeningLeader = 3;

// Ranks that could not reach it are not to blame.
bool WasStopped(const UnformedGroup& group) {
  return group.stopped >= kStopped &&
         group.before_deadline <= (group.arrived ? kRanksReachTheRoot : Duration::zero());
}

std::string DescribeStop(const std::string& node, const UnformedGroup& group) {
  const std::string until =
      group.before_deadline > Duration::zero() ? FormatSeconds(group.before_deadline) + " before" : "after";
  return fmt::format("{} was stopped for {} or longer, until {} its deadline of {}",
                     DescribeRank(group.rank, node), FormatSeconds(group.stopped), until,
                     FormatDuration(group.limit));
}

}  // namespace

Error DescribeDeadline(const Meeting& meeting, const std::string& node, const UnformedGroup& group) {
  const std::string limit = FormatDuration(group.limit);
  const std::string root = DescribeRoot(meeting, node);
  Error error{Code::kDeadline, "", "raise timeouts.rendezvous to wait longer"};
  if (WasStopped(group)) {
    error = {Code::kDeadline, DescribeStop(node, group)};
  } else if (group.arrived) {
    error.message = fmt::format("the group did not form within {}: {}", limit, *group.arrived);
  } else if (group.accepted) {
    error.message =
        fmt::format("the group did not form within {}, and {} fell silent", limit, group.upstream);
  } else if (group.rejection) {
    error = *group.rejection;
    error.message = fmt::format("the root, {}, was not joined within {}: {}", root, limit, error.message);
  } else if (!group.upstream.empty() && group.below_a_leader) {
    error.message = fmt::format("the root, {}, did not answer within {}; {} waits for it as well", root,
                                limit, group.upstream);
  } else if (!group.upstream.empty()) {
    error.message = fmt::format("{} accepted the connection and sent nothing for {}", group.upstream, limit);
  } else if (group.leader || RootHosts(meeting) != std::vector{node}) {
    const bool no_leader = !group.leader && !group.alone && meeting.find_root != FindRoot::kSameNode;
    error.message = fmt::format("{}the root, {}, did not answer within {}{}{}",
                                no_leader ? fmt::format("local rank 0 on {} did not appear, and ", node) : "",
                                root, limit, group.problem.empty() ? "" : "; ", group.problem);
    error.hint =
        "check that it runs, that this node resolves its name, and that no firewall blocks rendezvous.ports; "
        "if it starts late, raise timeouts.rendezvous; a formed group accepts no further process: this one "
        "may be a duplicate";
  } else {
    error.message = fmt::format("the root, {}, did not appear within {}", root, limit);
    if (group.name_is_taken_elsewhere) {
      error.message += "; a socket of its name is in a directory that this process cannot reach";
      error.hint += "; if it is the root's, bind /dev/shm or /tmp of the node into the container";
    }
  }
  return error;
}

Joiner::Joiner(net::EventLoop& loop, JoinRequest request, OnDone on_done)
    : loop_(loop),
      request_(std::move(request)),
      on_done_(std::move(on_done)),
      deadline_(loop, [this] { OnDeadline(); }),
      formation_(
          loop, request_, deadline_,
          {.on_accepted =
               [this] {
                 root_.StopReporting();
                 root_.StopSearch();
               },
           .on_not_accepted = [this] { meeting_.Retry([this] { StartAgain(); }); },
           .on_leader_lost = [this](const std::string& node) { OnLeaderLost(node); },
           .can_prove = [this] { return root_.CanProve(); },
           .on_silent = [this](const auto& node) { OnSilentAbove(node); },
           .on_restart = [this] { OnRestart(); },
           .on_rank_zero = [this] { root_.BecomeRoot(); },
           .on_formed = [this](auto group) { OnFormed(std::move(group)); },
           .on_failed = [this](auto failure, bool from_above) { Fail(std::move(failure), from_above); }}),
      root_(loop, request_, formation_, deadline_,
            {.on_link = [this](std::unique_ptr<net::FrameStream> link,
                               std::string name) { OnRoot(std::move(link), std::move(name)); },
             .on_failed = [this](const Error& error) { FailWith(error); }}),
      meeting_(
          loop, request_,
          {.on_child = [this](auto link,
                              auto name) { formation_.AddChild(std::move(link), std::move(name), true); },
           .on_leader = [this](auto link) { FollowLeader(std::move(link)); },
           .on_lead = [this] { Lead(); },
           .on_alone = [this] { root_.Search(); },
           .whole_node_is_here = [this] { return formation_.below().arrived().WholeNodeIsHere(); },
           .on_failed = [this](const Error& error) { FailWith(error); }}) {}

void Joiner::StopTimers() {
  descriptor_timer_.Cancel();
  leader_timer_.Cancel();
}

void Joiner::Start() {
  request_.self.id = RandomNumber();
  if (request_.kvs) request_.kvs->Wake();
  deadline_.Set(request_.timeouts.rendezvous);
  WatchDescriptors();
  meeting_.Start();
}

void Joiner::WatchDescriptors() {
  descriptor_timer_ =
      loop_.After(request_.leader_patience / kChecksOfDescriptors, [this] { CheckDescriptors(); });
}

// Without one this process neither accepts nor opens a connection: other ranks would name those that wait for it, or the root.
void Joiner::CheckDescriptors() {
  const int problem = DescriptorProblem();
  checks_without_descriptor_ = problem == 0 ? 0 : checks_without_descriptor_ + 1;
  if (checks_without_descriptor_ == kChecksOfDescriptors) {
    const int rank = request_.self.claims.front().rank;
    return Fail({{Code::kSystem,
                  fmt::format("{} cannot open a connection: {}", DescribeRank(rank, request_.self.node),
                              ErrnoText(problem)),
                  DescriptorLimitHint()},
                 rank});
  }
  WatchDescriptors();
}

void Joiner::Attach(std::unique_ptr<net::FrameStream> upstream, std::string name) {
  meeting_.StopSearch();
  root_.StopSearch();
  formation_.Attach(std::move(upstream), std::move(name));
}

// A leader that is stopped has connections, which its kernel accepts, and answers none.
void Joiner::FollowLeader(std::unique_ptr<net::FrameStream> leader) {
  Attach(std::move(leader), DescribeLeader(request_.meeting, request_.self));
  if (request_.meeting.find_root == FindRoot::kSameNode || request_.self.claims.front().local_rank <= 0)
    return;
  leader_timer_ = loop_.After(
      std::min(kPatienceWithListeningLeader * request_.leader_patience, request_.timeouts.rendezvous / 4),
      [this] { OnSilentLeader(); });
}

// Searches the root without leaving the leader: the first answer counts.
void Joiner::OnSilentLeader() {
  if (!formation_.upstream().is_silent()) return;
  if (request_.self.claims.front().local_rank == 1) {
    LogWarning("{} does not answer; the other ranks of {} connect to the root without it",
               formation_.upstream().Describe(), request_.self.node);
  }
  root_.Search();
}

// It may still answer while this process searches the next one.
void Joiner::OnSilentAbove(const std::optional<std::string>& node) {
  if (root_.search() != nullptr) return;
  if (!node) {
    // Nothing is lost with a leader that has not accepted this process.
    if (root_.below_a_leader()) root_.TryNextAbove();
    return;
  }
  lost_at_ = Clock::now();
  root_.GoAround(*node);
  root_.Search();
}

void Joiner::OnRoot(std::unique_ptr<net::FrameStream> link, std::string name) {
  formation_.ReadUpstream();
  if (formation_.upstream().attached() && !formation_.upstream().is_silent()) return;
  Attach(std::move(link), std::move(name));
  if (formation_.below().members().lost_leader()) LimitReport();
}

void Joiner::Lead() {
  formation_.Lead();
  OpenStatusServer();
  root_.Go();
}

void Joiner::StartAgain() {
  if (formation_.leader()) return root_.Go();
  // The root is another process.
  if (formation_.upstream().lost_known_leader()) return root_.Search();
  if (const auto& lost = formation_.below().members().lost_leader())
    return lost->refused->code == Code::kPeerLost ? meeting_.TakeOver() : root_.Go();
  meeting_.Start();
}

void Joiner::OnRestart() {
  root_.BeginAtParent();
  StartAgain();
}

void Joiner::OnLeaderLost(const std::string& node) {
  lost_at_ = Clock::now();
  LimitReport();
  if (node != request_.self.node) root_.GoAround(node);
  StartAgain();
}

void Joiner::LimitReport() { deadline_.Set(std::min(deadline_.when().Remaining(), kRefusedPatience)); }

// The report with which this process has come: its refusal, or the end of a leader above.
std::optional<Failure> Joiner::Reported() const {
  if (request_.self.refused) return RefusalOf(request_.self);
  if (const auto& lost = formation_.below().members().lost_leader()) return RefusalOf(*lost);
  return std::nullopt;
}

// While it forms: the missing ranks. The ControlPlane describes the formed group.
void Joiner::OpenStatusServer() {
  Result<std::unique_ptr<StatusServer>> server = StatusServer::Open(
      loop_, request_.uid, request_.self.claims.front().rank, request_.shared_directories, request_.versions);
  if (!server) return LogDebug("muster status has no answer here: {}", server.error().message);
  status_server_ = *std::move(server);
  status_server_->SetAnswer([this](const Survey&, const StatusServer::Reply& reply) {
    GroupStatus status;
    status.job = request_.job;
    status.forming = root_.Awaited().text;
    if (status.forming.empty()) {
      status.forming = fmt::format("the root, {}, waits for other ranks",
                                   DescribeRoot(request_.meeting, request_.self.node));
    }
    reply(status);
  });
}

// A rank below has ended and the root lacks this fact: a better reason than the root's silence.
void Joiner::OnDeadline() {
  if (const auto& failure = formation_.failure_below()) return Fail(*failure);
  const auto due = deadline_.when().when();
  GroupFormation::Stop stop = formation_.stop();
  if (const auto now = Clock::now(); now - due >= kStopped) stop = {now - due, now};
  UnformedGroup group{.rank = request_.self.claims.front().rank,
                      .limit = request_.timeouts.rendezvous,
                      .stopped = stop.length,
                      .before_deadline = due - stop.end,
                      .leader = formation_.leader(),
                      .alone = meeting_.alone(),
                      .accepted = formation_.upstream().accepted(),
                      .below_a_leader = root_.below_a_leader() && !formation_.upstream().is_local(),
                      .name_is_taken_elsewhere = meeting_.name_is_taken_elsewhere()};
  if (formation_.roster() != nullptr) group.arrived = root_.Awaited().text;
  if (formation_.upstream().attached()) group.upstream = formation_.upstream().Describe();
  if (const RootFinder* search = root_.search()) {
    group.rejection = search->rejection();
    group.problem = search->Problem();
  }
  FailWith(DescribeDeadline(request_.meeting, request_.self.node, group));
}

void Joiner::OnFormed(FormedGroup group) {
  StopTimers();
  deadline_.Stop();
  meeting_.Stop();
  root_.Close();
  // The next call may come from a program of this rank.
  if (request_.kvs) request_.kvs->Rest();
  const int upstream_rank = formation_.upstream().rank();
  // Immediately: the next messages of the children are for the new owner.
  const OnDone on_done = std::exchange(on_done_, nullptr);
  on_done(Joined{std::make_shared<const FormedGroup>(std::move(group)),
                 formation_.TakeUpstream(),
                 formation_.below().Take(),
                 formation_.leader() ? std::make_shared<const JoinRequest>(request_) : nullptr,
                 {},
                 std::move(status_server_),
                 meeting_.TakeListener(),
                 upstream_rank});
}

Duration Joiner::TimeForLateRanks(bool from_above) const {
  const auto& lost = formation_.below().members().lost_leader();
  if (!lost) return request_.late_nodes;
  // A launcher with its own server ends all ranks of a launch whose leader has ended.
  if (request_.kvs) return Duration::zero();
  // No process above has answered since the loss. Late ranks have connected to this one meanwhile.
  if (!from_above) return std::max(Duration::zero(), request_.late_nodes - (Clock::now() - lost_at_));
  // The root stays for the late ranks of this node, and may have sent the failure to them through the lost leader.
  return lost->node == request_.self.node ? Duration::zero() : request_.late_nodes;
}

void Joiner::Fail(Failure failure, bool from_above) {
  if (!on_done_ || notice_) return;
  StopTimers();
  const ArrivedRanks& arrived = formation_.below().arrived();
  // Not the obstacle on its way to the root.
  if (const auto reported = Reported(); reported && !from_above && !arrived.root) failure = *reported;
  if (arrived.root) failure.logged_in = request_.log_file;
  deadline_.Stop();
  meeting_.Stop();
  root_.Stop();
  // Every rank is there: no other one is to come.
  if (arrived.root && formation_.roster()->complete()) root_.Close();
  notice_ = std::make_unique<FailureNotice>(
      loop_,
      FailureNotice::Params{std::move(failure), from_above, formation_.failure_below().has_value(), arrived,
                            formation_.below().members().TakeUnsent(), request_.self.agreement.restart,
                            request_.self.node, TimeForLateRanks(from_above),
                            formation_.below().members().lost_leader() ? Deadline::Never()
                                                                       : formation_.upstream().RootDeadline(),
                            formation_.below().acceptance()},
      formation_.TakeUpstream(), formation_.below().links(), [this] {
        const OnDone on_done = std::exchange(on_done_, nullptr);
        on_done(tl::unexpected<Failure>(notice_->failure()));
      });
}

}  // namespace muster::rendezvous
