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
// For peers to take their failure message and hang up.
constexpr Duration kLeaveGrace = seconds(2);
// A group that cannot form stays this long for those who are still on their way: they get its sentence
// instead of waiting for a root that is gone.
constexpr Duration kLateComers = milliseconds(500);

}  // namespace

Joiner::Joiner(net::EventLoop& loop, JoinRequest request, OnDone on_done)
    : loop_(loop),
      request_(std::move(request)),
      on_done_(std::move(on_done)),
      local_names_(MakeLocalNames(request_.meeting.LocalKey(), request_.self.node,
                                  request_.shared_directories, request_.uid)),
      munge_worker_(loop.mailbox()) {
  children_->SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnChildFrame(source, frame); },
                         [this](ChildLinks::Source source, const ChildLinks::Child& child, const Error&) {
                           OnChildClosed(source, child);
                         });
}

Joiner::~Joiner() {
  CancelTimers();
  loop_.Cancel(end_timer_);
}

void Joiner::Start() {
  if (request_.kvs) request_.kvs->Wake();
  SetDeadline(request_.timeouts.rendezvous);
  MeetLocally();
}

bool Joiner::SoleRankOfNode() const {
  return first_claim().local_size == static_cast<int>(request_.self.claims.size());
}

// ---- upstream and below

void Joiner::AttachUpstream(std::unique_ptr<net::FrameStream> stream, std::string name) {
  if (ended_) return;
  for (net::EventLoop::TimerId* timer : {&patience_timer_, &local_timer_})
    loop_.Cancel(std::exchange(*timer, 0));
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
  if (WholeNodeIsHere()) {
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
  if (ended_ && type == ControlType::kFailure) return upstream_->CloseAfterFlush();
  if (ended_ || !type) return;
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
      told_from_above_ = true;
      if (auto failure = DecodeFailure(frame)) return Fail(*std::move(failure));
      return Fail(Error{Code::kInternal, fmt::format("{} sent a malformed failure", upstream_name_), ""});
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
  if (ended_) return;
  // From here the stream is of no use; it must not be destroyed within its own call.
  loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
  if (parked_) return Restart();
  // Who has not heard us is no peer of ours that died, but the previous group's process, just ended.
  if (!accepted_) return RetryLocally(leader_ ? &Joiner::GoToRoot : &Joiner::MeetLocally);
  const std::string detail = reason.message.empty() ? "" : ": " + reason.message;
  Fail(Error{Code::kPeerLost, fmt::format("{} ended while the group was forming{}", upstream_name_, detail),
             ""});
}

// The previous group has ended: everything from the start, with a clock of its own.
void Joiner::Restart() {
  parked_ = false;
  accepted_ = false;
  SetDeadline(request_.timeouts.rendezvous);
  if (leader_) return GoToRoot();
  MeetLocally();
}

void Joiner::OnChildFrame(ChildLinks::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!children_ || !type) return;
  if (ended_) {
    // Who comes while we take our leave is told as well.
    if (*type != ControlType::kHello) return;
    if (const Result<Hello> hello = DecodeHello(frame)) CountClaims(*children_->Find(source), *hello);
    return children_->Send(source, Encode(*ended_));
  }
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
  CountClaims(*child, hello);
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

void Joiner::CountClaims(const ChildLinks::Child& child, const Hello& hello) {
  for (const ProcessInfo& member : hello.members) {
    const auto claims = static_cast<int>(member.claims.size());
    (child.same_node ? local_claims_ : remote_claims_) += claims;
  }
}

void Joiner::OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child) {
  if (ended_) {
    if (!child.same_node) ++told_nodes_;
    if (children_ && children_->empty() && (!OthersMayCome() || Clock::now() >= stay_until_)) FinishFailed();
    return;
  }
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
    if (from == source) local_claims_ -= static_cast<int>(member.claims.size());
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
  for (net::EventLoop::TimerId* timer :
       {&deadline_timer_, &local_timer_, &patience_timer_, &directory_timer_, &hello_timer_}) {
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
    const bool no_leader = !leader_ && !alone_ && request_.meeting.find_root != FindRoot::kSameNode;
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
  if (ended_) return;
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
  if (node_listener_ && !node_listener_->open()) node_listener_.reset();
  ended_ = Failure{};
  // At once: what the branches say next is for the new owner.
  const OnDone on_done = std::exchange(on_done_, nullptr);
  on_done(Joined{std::move(group),
                 std::move(upstream_),
                 std::move(children_),
                 leader_ ? std::make_shared<const JoinRequest>(request_) : nullptr,
                 {},
                 std::move(status_server_),
                 std::move(node_listener_)});
}

void Joiner::Fail(Failure failure) {
  if (ended_) return;
  // What stands in the way of saying it matters less than what was to be said.
  const bool told = told_from_above_ || root_;
  if (request_.self.refused && !told) failure = RefusalOf(request_.self);
  ended_ = std::move(failure);
  if (root_) ended_->told_in = request_.log_file;
  CancelTimers();
  inquiry_.reset();
  reporter_.reset();
  search_.reset();
  // Above, a failure that came from there would be taken for one of ours: a refusal is for us alone.
  if (upstream_ && !told_from_above_ && !failure_below_) upstream_->Send(Encode(*ended_));
  // Whoever stays for late ranks of its node does that alone: above, this node counts as told. Closing before
  // the word from there has come could take ours from it.
  if (upstream_ && told_from_above_) upstream_->CloseAfterFlush();
  children_->SendAll(Encode(*ended_));
  stay_until_ = Clock::now() + (OthersMayCome() ? kLateComers : Duration::zero());
  end_timer_ = loop_.At(stay_until_, [this] { StayForNodes(); });
}

// A leader that was told before it said who it leads has left with them.
bool Joiner::OthersMayCome() const {
  if (!root_) return leader_ && !WholeNodeIsHere();
  const size_t nodes = request_.meeting.placement.nodes.size();
  // Where the nodes are known they count: those that disagree on the size of the world may claim any number.
  if (WholeNodeIsHere() && nodes > 0) return told_nodes_ + 1 < nodes;
  return local_claims_ + remote_claims_ < request_.self.agreement.world_size;
}

// The root stays for the nodes, a leader for the ranks of its own where it knows their number: who finds
// neither would wait until its own deadline. At the deadline nobody is waited for any more.
void Joiner::StayForNodes() {
  const bool knows_whom = root_ || first_claim().local_size >= 0;
  if (!knows_whom || !OthersMayCome() || ended_->error.code == Code::kDeadline) return SendFinalMessage();
  const auto now = Clock::now();
  const Deadline deadline = VerdictDeadline();
  const Duration left = deadline.IsNever() ? request_.late_nodes : deadline.when() - now;
  const Duration stay = std::clamp(left, Duration::zero(), request_.late_nodes);
  // One line is enough: where a leader stays, the group's failure has been told.
  LogEvent(root_ ? LogLevel::kWarning : LogLevel::kDebug, "message", {},
           "this group cannot form ({}); waiting up to {} for {} to come and hear it", ended_->error.message,
           FormatSeconds(stay), DescribeLateComers());
  stay_until_ = now + stay;
  end_timer_ = loop_.At(stay_until_, [this] { SendFinalMessage(); });
}

// Whoever was refused may be wrong about the size of the world.
std::string Joiner::DescribeLateComers() const {
  const int size = request_.self.agreement.world_size;
  const int ranks = root_ ? size - local_claims_ - remote_claims_ : first_claim().local_size - local_claims_;
  if (ranks <= 0) return "the others";
  const std::string where = root_ ? "" : fmt::format(" of {}", request_.self.node);
  return fmt::format("{} rank{}{}", ranks, ranks == 1 ? "" : "s", where);
}

// Those below hang up when they have read it. Closing first could take it from them.
void Joiner::SendFinalMessage() {
  if (children_->empty()) return FinishFailed();
  end_timer_ = loop_.After(kLeaveGrace, [this] { FinishFailed(); });
}

void Joiner::FinishFailed() {
  if (!on_done_) return;
  loop_.Cancel(end_timer_);
  const OnDone on_done = std::exchange(on_done_, nullptr);
  on_done(tl::unexpected<Failure>(*ended_));
}

}  // namespace muster::rendezvous
