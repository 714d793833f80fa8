#include "comm/rendezvous/join/joiner.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/join/advertise.h"
#include "comm/rendezvous/join/agreement.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a leader collects late ranks of its node into one message; longer for each message, where the
// whole node is known to go at once.
constexpr Duration kCollect = milliseconds(20);
constexpr Duration kLongestCollect = milliseconds(200);
// The root's verdict travels; it must win over the own clock of those who started earlier.
constexpr Duration kVerdictGrace = seconds(5);

}  // namespace

Joiner::Joiner(net::EventLoop& loop, JoinRequest request, OnDone on_done)
    : loop_(loop),
      request_(std::move(request)),
      on_done_(std::move(on_done)),
      munge_worker_(loop.mailbox()),
      node_meeting_(
          loop, request_,
          {.on_child = [this](std::unique_ptr<net::FrameStream> stream,
                              std::string name) { children_->Add(std::move(stream), std::move(name), true); },
           .on_leader =
               [this](std::unique_ptr<net::FrameStream> stream) {
                 AttachUpstream(std::move(stream), fmt::format("the leader of {}", request_.self.node));
               },
           .on_lead = [this] { BecomeLeader(); },
           .on_alone = [this] { SearchRoot(); },
           .whole_node_is_here = [this] { return arrived_.WholeNodeIsHere(); },
           .on_failed = [this](const Error& error) { Fail(error); }}) {
  arrived_.world_size = request_.self.agreement.world_size;
  arrived_.nodes = request_.meeting.placement.nodes.size();
  arrived_.local_size = first_claim().local_size;
  arrived_.local = static_cast<int>(request_.self.claims.size());
  children_->SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnChildFrame(source, frame); },
                         [this](ChildLinks::Source source, const ChildLinks::Child& child, const Error&) {
                           OnChildClosed(source, child);
                         });
}

Joiner::~Joiner() { CancelTimers(); }

void Joiner::Start() {
  if (request_.kvs) request_.kvs->Wake();
  SetDeadline(request_.timeouts.rendezvous);
  node_meeting_.Start();
}

void Joiner::BecomeLeader() {
  leader_ = true;
  OpenStatusServer();
  members_.emplace_back(ChildLinks::kSelf, request_.self);
  GoToRoot();
}

void Joiner::StartAgain() {
  if (leader_) return GoToRoot();
  node_meeting_.Start();
}

// While it forms: what is missing. The group itself is described by its ControlPlane.
void Joiner::OpenStatusServer() {
  Result<std::unique_ptr<StatusServer>> server = StatusServer::Open(
      loop_, request_.uid, first_claim().rank, request_.shared_directories, request_.versions);
  if (!server) return LogDebug("muster status cannot ask here: {}", server.error().message);
  status_server_ = *std::move(server);
  status_server_->SetAnswer([this](const Survey&, const StatusServer::Reply& reply) {
    GroupStatus status;
    status.job = request_.job;
    status.forming = root_ ? root_->Describe() : DescribeWait();
    if (status.forming.empty())
      status.forming = fmt::format("the root, {}, waits for others", DescribeRoot());
    reply(status);
  });
}

// ---- upstream and below

void Joiner::AttachUpstream(std::unique_ptr<net::FrameStream> stream, std::string name) {
  if (over_) return;
  node_meeting_.StopSearch();
  search_.reset();
  upstream_ = std::move(stream);
  upstream_name_ = std::move(name);
  upstream_->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                   [this](const Error& reason) { OnUpstreamClosed(reason); });
  if (members_.empty()) members_.emplace_back(ChildLinks::kSelf, request_.self);
  sent_ = 0;
  // On another node the handshake compares them.
  if (net::LocalAddress(upstream_->fd()).family() == AF_UNIX) upstream_->Send(Encode(request_.versions));
  if (failure_below_) upstream_->Send(Encode(*failure_below_));
  if (leader_) return ScheduleHello();
  SendHello();
}

// A whole node is one message; late ranks of it are collected for a moment.
void Joiner::ScheduleHello() {
  if (arrived_.WholeNodeIsHere()) {
    loop_.Cancel(std::exchange(hello_timer_, 0));
    return SendHello();
  }
  if (hello_timer_ != 0) return;
  const bool size_known = first_claim().local_size >= 0;
  collect_ = size_known ? std::clamp(2 * collect_, kCollect, kLongestCollect) : kCollect;
  hello_timer_ = loop_.After(collect_, [this] {
    hello_timer_ = 0;
    SendHello();
  });
}

void Joiner::SendHello() {
  if (!upstream_ || sent_ == members_.size()) return;
  Hello hello;
  const net::SocketAddress local = net::LocalAddress(upstream_->fd());
  if (local.family() != AF_UNIX) {
    Result<std::vector<std::string>> advertised =
        AddressesToAdvertise(request_.options.interface, {local.Host()});
    if (!advertised) return Fail(advertised.error());
    hello.addresses = *std::move(advertised);
  }
  for (; sent_ < members_.size(); ++sent_) hello.members.push_back(members_[sent_].second);
  upstream_->Send(Encode(hello));
}

void Joiner::OnUpstreamFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (over_ || !type) return;
  switch (*type) {
    case ControlType::kAccepted:
      if (const auto remaining = DecodeAccepted(frame)) OnAccepted(*remaining, frame);
      return;
    case ControlType::kLater:
      parked_ = true;
      // One line a node is enough.
      if (leader_ || first_claim().local_rank <= 1) {
        LogEvent(LogLevel::kInfo, "later", {},
                 "this launch's previous group is still at work; waiting for it to end");
      }
      loop_.Cancel(deadline_timer_);
      children_->SendAll(frame);
      return;
    case ControlType::kRoster:
      if (auto group = DecodeRoster(frame);
          group && group->roster.size() == request_.self.agreement.world_size) {
        return Form(*std::move(group), frame);
      }
      return Fail(Error{Code::kInternal, fmt::format("{} sent a malformed roster", upstream_name_), ""});
    case ControlType::kVersions:
      return CompareWithUpstream(frame);
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) return Fail(*std::move(failure), true);
      return Fail(
          {{Code::kInternal, fmt::format("{} sent a malformed failure", upstream_name_), ""}, -1, -1, ""},
          true);
    default:
      return;
  }
}

// Once for each of those below, whatever the number of messages that the node goes up in: 64 ranks that wake
// up for each part of their node are most of what a crowded node does.
void Joiner::OnAccepted(uint64_t remaining_milliseconds, ByteView frame) {
  reporter_.reset();
  const bool first = !accepted_ || parked_;
  accepted_ = true;
  parked_ = false;
  if (first) children_->SendAll(frame);
  if (request_.self.refused) return;
  SetDeadline(FromMilliseconds(remaining_milliseconds) + kVerdictGrace);
}

void Joiner::OnUpstreamClosed(const Error& reason) {
  if (over_) return;
  // From here the stream is of no use; it must not be destroyed within its own call.
  loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
  if (parked_) return Restart();
  // Who has not heard us is no peer of ours that died, but the previous group's process, just ended.
  if (!accepted_) return node_meeting_.Retry([this] { StartAgain(); });
  const std::string detail = reason.message.empty() ? "" : ": " + reason.message;
  Fail(Error{Code::kPeerLost, fmt::format("{} ended while the group was forming{}", upstream_name_, detail),
             ""});
}

// The previous group has ended: everything from the start, with a clock of its own.
void Joiner::Restart() {
  parked_ = false;
  accepted_ = false;
  SetDeadline(request_.timeouts.rendezvous);
  StartAgain();
}

void Joiner::OnChildFrame(ChildLinks::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  if (*type == ControlType::kVersions) return CompareWithBranch(source, frame);
  if (*type == ControlType::kHello) {
    Result<Hello> hello = DecodeHello(frame);
    if (hello) return HearFromBelow(source, *std::move(hello));
    LogWarning("{}", hello.error().message);
    auto node = children_->all().extract(source);
    return OnChildClosed(source, node.mapped());
  }
  if (*type == ControlType::kFailure) OnFailureFromBelow(frame);
}

void Joiner::CompareWithUpstream(ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return;
  const std::string self = fmt::format("rank {} on {}", first_claim().rank, request_.self.node);
  const Status same = CheckSameVersion({self, request_.versions}, {upstream_name_, *theirs});
  if (!same) Fail(same.error());
}

// A rank of this node. Its messages may be different ones: it reads this process's versions, and fails.
void Joiner::CompareWithBranch(ChildLinks::Source source, ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return children_->Remove(source);
  const std::string leader = fmt::format("the leader of {}", request_.self.node);
  const Status same = CheckSameVersion({leader, request_.versions}, {children_->Find(source)->name, *theirs});
  if (same) return;
  children_->Send(source, Encode(request_.versions));
  Failure failure{same.error(), -1, -1, ""};
  if (root_) return Fail(std::move(failure));
  TakeFailureBelow(std::move(failure));
}

void Joiner::OnFailureFromBelow(ByteView frame) {
  const Result<Failure> failure = DecodeFailure(frame);
  if (!failure) return;
  if (root_) return Fail(*failure);
  TakeFailureBelow(*failure);
}

// The root decides; until it is heard, the first one counts.
void Joiner::TakeFailureBelow(Failure failure) {
  if (failure_below_) return;
  failure_below_ = std::move(failure);
  if (upstream_) upstream_->Send(Encode(*failure_below_));
}

void Joiner::HearFromBelow(ChildLinks::Source source, const Hello& hello) {
  if (auto leftover = FindLeftover(request_.self, hello)) {
    LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", leftover->message);
    return children_->Send(source, Encode(Failure{*std::move(leftover), FirstRankOf(hello), -1, ""}));
  }
  ChildLinks::Child* child = children_->Find(source);
  arrived_.Count(hello, child->same_node);
  bool rank_zero = false;
  for (const ProcessInfo& member : hello.members) {
    if (member.refused && !root_) TakeFailureBelow(RefusalOf(member));
    for (const RankClaim& claim : member.claims) {
      child->ranks.push_back(claim.rank);
      rank_zero = rank_zero || claim.rank == 0;
    }
  }
  children_->Send(source, EncodeAccepted(MillisecondsLeft(VerdictDeadline())));
  if (parked_) children_->Send(source, EncodeBare(ControlType::kLater));
  // Those of this node go where it goes, should the root turn out to be elsewhere.
  if (!root_ || child->same_node) {
    for (const ProcessInfo& member : hello.members) members_.emplace_back(source, member);
  }
  if (root_) return root_->Hear(source, hello);
  // Rank 0 may stand behind a leader of another local rank.
  if (rank_zero && !upstream_ && request_.meeting.find_root != FindRoot::kFirstNode) return BecomeRoot();
  ScheduleHello();
}

void Joiner::OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child) {
  if (child.ranks.empty()) return;
  if (parked_) return ForgetParties(source);
  if (root_) return root_->Lose(source);
  std::vector<int> ranks = child.ranks;
  std::ranges::sort(ranks);
  TakeFailureBelow(
      {{Code::kPeerLost,
        fmt::format("{} {} on {} ended while the group was forming", ranks.size() == 1 ? "rank" : "ranks",
                    FormatRanges(ranks), request_.self.node),
        ""},
       ranks.front(),
       -1,
       ""});
}

// Who gives up while the previous group still runs is no part of the next.
void Joiner::ForgetParties(ChildLinks::Source source) {
  for (const auto& [from, member] : members_) {
    if (from == source) arrived_.local -= static_cast<int>(member.claims.size());
  }
  std::erase_if(members_, [source](const auto& entry) { return entry.first == source; });
  sent_ = std::min(sent_, members_.size());
}

// ---- the end

void Joiner::SetDeadline(Duration remaining) {
  loop_.Cancel(deadline_timer_);
  deadline_ = Deadline::After(remaining);
  if (!deadline_.IsNever()) deadline_timer_ = loop_.At(deadline_.when(), [this] { OnDeadline(); });
}

// The root's, as far as it is known; the own deadline leaves it time to be heard.
Deadline Joiner::VerdictDeadline() const {
  return accepted_ && !deadline_.IsNever() ? Deadline::At(deadline_.when() - kVerdictGrace) : deadline_;
}

void Joiner::CancelTimers() {
  node_meeting_.Stop();
  for (net::EventLoop::TimerId* timer : {&deadline_timer_, &root_timer_, &hello_timer_}) {
    loop_.Cancel(std::exchange(*timer, 0));
  }
}

// A death below that the root could not be told of says more than that the root is missing.
void Joiner::OnDeadline() {
  if (failure_below_) return Fail(*failure_below_);
  Fail(DescribeDeadline());
}

Error Joiner::DescribeDeadline() const {
  const std::string limit = FormatDuration(request_.timeouts.rendezvous);
  Error error{Code::kDeadline, "", "timeouts.rendezvous says how long to wait"};
  if (root_) {
    error.message = fmt::format("the group did not form within {}: {}", limit, root_->Describe());
  } else if (accepted_) {
    error.message =
        fmt::format("the group did not form within {}, and {} fell silent", limit, upstream_name_);
  } else if (search_ && search_->rejection()) {
    error = *search_->rejection();
    error.message =
        fmt::format("the root, {}, was not joined within {}: {}", DescribeRoot(), limit, error.message);
  } else if (upstream_) {
    error.message = fmt::format("{} took the connection and said nothing for {}", upstream_name_, limit);
  } else if (const std::string& node = request_.self.node; leader_ || RootHosts() != std::vector{node}) {
    const bool no_leader =
        !leader_ && !node_meeting_.alone() && request_.meeting.find_root != FindRoot::kSameNode;
    const std::string problem = search_ ? search_->Problem() : "";
    error.message = fmt::format("{}the root, {}, did not answer within {}{}{}",
                                no_leader ? fmt::format("local rank 0 on {} did not appear, and ", node) : "",
                                DescribeRoot(), limit, problem.empty() ? "" : "; ", problem);
    error.hint += "; a group that has formed lets nobody in: this process may be one too many";
  } else {
    error.message = fmt::format("the root, {}, did not appear within {}", DescribeRoot(), limit);
  }
  return error;
}

void Joiner::OnRootOutcome(RootSide::Outcome outcome) {
  if (over_) return;
  if (outcome.failed) return Fail(*std::move(outcome.failed));
  const Bytes frame = Encode(*outcome.formed);
  Form(*std::move(outcome.formed), frame);
}

void Joiner::Form(FormedGroup group, ByteView frame) {
  // A process that has connected but was not heard is no part of it; the new owner answers it.
  for (const auto& [source, child] : children_->all()) {
    if (!child.ranks.empty()) child.stream->Send(frame);
  }
  CancelTimers();
  inquiry_.reset();
  reporter_.reset();
  // A program of this rank may talk to it next.
  if (request_.kvs) request_.kvs->Rest();
  over_ = true;
  // At once: what the branches say next is for the new owner.
  const OnDone on_done = std::exchange(on_done_, nullptr);
  on_done(Joined{std::move(group),
                 std::move(upstream_),
                 std::move(children_),
                 leader_ ? std::make_shared<const JoinRequest>(request_) : nullptr,
                 {},
                 std::move(status_server_),
                 node_meeting_.TakeListener()});
}

void Joiner::Fail(Failure failure, bool from_above) {
  if (over_) return;
  over_ = true;
  // What stands in the way of saying it matters less than what was to be said.
  if (request_.self.refused && !from_above && !root_) failure = RefusalOf(request_.self);
  if (root_) failure.told_in = request_.log_file;
  CancelTimers();
  inquiry_.reset();
  reporter_.reset();
  search_.reset();
  arrived_.root = root_ != nullptr;
  arrived_.leader = leader_;
  notice_ = std::make_unique<FailureNotice>(
      loop_,
      FailureNotice::Params{std::move(failure), from_above, failure_below_.has_value(), arrived_,
                            request_.self.node, request_.late_nodes, VerdictDeadline()},
      std::move(upstream_), *children_, [this] {
        const OnDone on_done = std::exchange(on_done_, nullptr);
        on_done(tl::unexpected<Failure>(notice_->failure()));
      });
}

}  // namespace muster::rendezvous
