#include "comm/rendezvous/join/group_formation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "comm/auth/crypto.h"
#include "comm/base/lists.h"
#include "comm/log/log.h"
#include "comm/rendezvous/roster/advertised_addresses.h"
#include "comm/rendezvous/roster/agreement.h"
#include "comm/system/descriptor_room.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kCollect = milliseconds(20);
constexpr Duration kLongestCollect = milliseconds(200);

// One for each leader and each rank of this node; the maximum if neither number is known.
Status MakeRoomForAll(const ArrivedRanks& arrived, size_t leaders, bool same_node) {
  const auto local = static_cast<size_t>(std::max(arrived.local_size, 0));
  const auto all = static_cast<size_t>(std::max(arrived.world_size, 0));
  const std::string what = fmt::format("the root of {} ranks", all);
  if ((arrived.nodes > 0 || same_node) && local > 0) {
    return MakeRoomForDescriptors(std::min(all, leaders + local), what);
  }
  if (const Status room = MakeRoomForDescriptors(all, what); !room) {
    return RaiseDescriptorLimit().map([](auto) {});
  }
  return {};
}

std::string DrawGroupId() {
  std::array<uint8_t, 16> random{};
  auth::RandomBytes(random);
  std::string text;
  for (const uint8_t byte : random) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

// Longer for each hello if the number of ranks is known: then all of them are sure to come.
Duration PauseBeforeHello(const ArrivedRanks& arrived, Duration last) {
  if (arrived.WholeSubtreeIsHere()) return Duration::zero();
  return arrived.local_size >= 0 && arrived.below >= 0 ? std::clamp(2 * last, kCollect, kLongestCollect)
                                                       : kCollect;
}

GroupFormation::GroupFormation(net::EventLoop& loop, const JoinRequest& request, JoinDeadline& deadline,
                               Events events)
    : loop_(loop),
      request_(request),
      events_(std::move(events)),
      place_(PlaceInTree(request.meeting, request.self.node, request.fan_out)),
      members_(request.self),
      upstream_(
          loop, request, deadline,
          {.on_accepted = [this](uint64_t remaining, bool first) { OnAccepted(remaining, first); },
           .on_not_accepted = [this] { events_.on_not_accepted(); },
           .on_leader_lost = [this](ProcessInfo leader) { OnLeaderLost(std::move(leader)); },
           .can_prove = [this] { return events_.can_prove(); },
           .on_silent = [this](auto leader) { OnSilent(std::move(leader)); },
           .on_heard_again = [this] { OnHeardAgain(); },
           .on_later = [this](ByteView frame) { OnLater(frame); },
           .on_restart = [this] { events_.on_restart(); },
           .on_roster = [this](FormedGroup group, ByteView frame) { Form(std::move(group), frame); },
           .on_failed = [this](Failure failure,
                               bool from_above) { events_.on_failed(std::move(failure), from_above); }}) {
  arrived_.world_size = request.self.agreement.world_size;
  arrived_.nodes = request.meeting.placement.nodes.size();
  arrived_.local_size = request.self.claims.front().local_size;
  arrived_.below = place_.ranks_below;
  arrived_.Count({{}, {request.self}}, true);
  children_->SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnChildFrame(source, frame); },
                         [this](ChildLinks::Source source, const ChildLinks::Child& child, const Error&) {
                           OnChildClosed(source, child);
                         });
  ScheduleHeartbeat(request.liveness.suspect_after);
}

// Groups normally form before the first one.
void GroupFormation::ScheduleHeartbeat(Duration pause) {
  const auto due = Clock::now() + pause;
  heartbeat_timer_ = loop_.At(due, [this, due] { OnHeartbeat(Clock::now() - due); });
}

// A leader above this one that falls silent is lost; the root's own silence is an error at the deadline.
void GroupFormation::OnHeartbeat(Duration late) {
  ScheduleHeartbeat(request_.liveness.heartbeat);
  if (late >= kStopped) stop_ = {late, Clock::now()};
  for (const auto& [source, child] : children_->all()) {
    if (!root_ && !child.same_node) child.stream->Send(EncodeBare(ControlType::kHeartbeat));
  }
  upstream_.CheckSilence(late > request_.liveness.suspect_after / 2);
}

ArrivedRanks GroupFormation::arrived() const {
  ArrivedRanks arrived = arrived_;
  arrived.root = root_.has_value();
  return arrived;
}

std::unique_ptr<net::FrameStream> GroupFormation::TakeUpstream() {
  over_ = true;
  hello_timer_.Cancel();
  heartbeat_timer_.Cancel();
  return upstream_.Take();
}

// ---- upstream

void GroupFormation::Attach(std::unique_ptr<net::FrameStream> upstream, std::string name) {
  upstream_.Attach(std::move(upstream), std::move(name));
  members_.SendAllAgain();
  if (failure_below_) upstream_.Send(Encode(*failure_below_));
  if (leader()) return ScheduleHello();
  SendHello();
}

// A whole node is one message; late ranks of it are collected for a moment.
void GroupFormation::ScheduleHello() {
  const Duration pause = PauseBeforeHello(arrived_, collected_);
  if (pause == Duration::zero()) {
    hello_timer_.Cancel();
    return SendHello();
  }
  if (hello_timer_.pending()) return;
  collected_ = pause;
  hello_timer_ = loop_.After(pause, [this] { SendHello(); });
}

// A leader below is accepted before its hello goes up. Else the root could count a process that still searches the root, and end
// without it.
void GroupFormation::SendHello() {
  if (!attached()) return;
  const size_t sent_before = members_.sent();
  std::vector<Hello> hellos = members_.TakeUnsent(accepted());
  if (hellos.empty()) return;
  if (const std::string host = upstream_.LocalHost(); !host.empty()) {
    Result<std::vector<std::string>> advertised =
        AddressesToAdvertise(request_.self.node, request_.options.interface, {host});
    if (!advertised) return Fail(advertised.error());
    for (Hello& hello : hellos) {
      if (hello.members.back().node == request_.self.node) hello.addresses = *advertised;
    }
  }
  for (const Hello& hello : hellos) upstream_.Send(Encode(hello));
  if (accepted()) AcceptAgain(members_.SentSince(sent_before));
}

// Each child receives it twice at most for each process above, also if the node's ranks go up in several hellos: 64 ranks that
// wake up for each part of their node are most of the load of a crowded node. The second one means that its hello has gone up.
void GroupFormation::OnAccepted(uint64_t remaining_milliseconds, bool first) {
  events_.on_accepted();
  if (!first) return;
  const std::set<ChildLinks::Source> sent = members_.SentSince(0);
  const Bytes acceptance = Encode(AcceptanceOfChildren(remaining_milliseconds));
  for (const auto& [source, child] : children_->all()) {
    // The others of this node receive it when their hello goes up.
    if (!child.same_node || sent.contains(source)) child.stream->Send(acceptance);
  }
  if (!hello_timer_.pending()) SendHello();
}

// A rank of this node received the first one when it came.
void GroupFormation::AcceptAgain(const std::set<ChildLinks::Source>& children) {
  const Bytes acceptance = Encode(AcceptanceOfChildren(MillisecondsLeft(RootDeadline())));
  for (const ChildLinks::Source source : children) {
    const ChildLinks::Child* const child = children_->Find(source);
    if (child != nullptr && child->same_node) child->stream->Send(acceptance);
  }
}

Acceptance GroupFormation::AcceptanceOfChildren(uint64_t remaining_milliseconds) const {
  Acceptance acceptance{remaining_milliseconds, {}, request_.self.node, accepted()};
  for (const RankClaim& claim : request_.self.claims) acceptance.ranks.push_back(claim.rank);
  return acceptance;
}

void GroupFormation::OnLater(ByteView frame) {
  // One line a node is enough.
  if (leader() || request_.self.claims.front().local_rank <= 1) {
    LogEvent(LogLevel::kInfo, "later", {},
             "this launch's previous group is still at work; waiting for it to end");
  }
  children_->SendAll(frame);
}

void GroupFormation::OnLeaderLost(ProcessInfo leader) {
  const std::string node = leader.node;
  // The others are above this process.
  if (node == request_.self.node) arrived_.Count({{}, {leader}}, true);
  members_.SetLostLeader(std::move(leader));
  events_.on_leader_lost(node);
}

// The report goes to the next process above that answers.
void GroupFormation::OnSilent(std::optional<ProcessInfo> leader) {
  if (!leader) return events_.on_silent(std::nullopt);
  const std::string node = leader->node;
  members_.SetLostLeader(*std::move(leader));
  events_.on_silent(node);
}

void GroupFormation::OnHeardAgain() {
  members_.ForgetLostLeader();
  events_.on_accepted();
}

void GroupFormation::Send(const Failure& failure) {
  const Bytes frame = Encode(failure);
  children_->SendAll(frame);
  upstream_.Send(frame);
}

// ---- below

void GroupFormation::AddChild(std::unique_ptr<net::FrameStream> stream, std::string name, bool same_node) {
  if (root_ && !same_node) {
    const std::string reached = net::LocalAddress(stream->fd()).Host();
    if (std::ranges::count(root_->reached_at, reached) == 0) root_->reached_at.push_back(reached);
  }
  children_->Add(std::move(stream), std::move(name), same_node);
}

void GroupFormation::OnChildFrame(ChildLinks::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  if (*type == ControlType::kVersions) return CompareWithChild(source, frame);
  if (*type == ControlType::kHello) {
    const Result<Hello> hello = Decode<Hello>(frame);
    if (hello) return OnHello(source, *hello);
    LogWarning("{}", hello.error().message);
    auto node = children_->all().extract(source);
    return OnChildClosed(source, node.mapped());
  }
  if (*type == ControlType::kLeave) return OnChildLeft(source);
  if (*type != ControlType::kFailure) return;
  if (const Result<Failure> failure = Decode<Failure>(frame)) OnFailureBelow(*failure);
}

// A rank of this node. Its messages may be different ones: it reads this process's versions, and fails.
void GroupFormation::CompareWithChild(ChildLinks::Source source, ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return children_->Remove(source);
  const std::string leader = fmt::format("the leader of {}", request_.self.node);
  const Status same = CheckSameVersion({leader, request_.versions}, {children_->Find(source)->name, *theirs});
  if (same) return;
  children_->Send(source, Encode(request_.versions));
  OnFailureBelow({same.error()});
}

// The root decides which failure was the first. Until it answers, the first one here counts.
void GroupFormation::OnFailureBelow(Failure failure) {
  if (root_) return events_.on_failed(std::move(failure), false);
  if (failure_below_) return;
  failure_below_ = std::move(failure);
  upstream_.Send(Encode(*failure_below_));
}

bool GroupFormation::MayBeBelow(const Hello& hello) const {
  return !hello.members.empty() &&
         IsAbove(request_.meeting, request_.self.node, hello.members.front().node, request_.fan_out);
}

void GroupFormation::OnHello(ChildLinks::Source source, const Hello& hello) {
  if (auto leftover = FindLeftover(request_.self, hello)) {
    LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", leftover->message);
    return children_->Send(source, Encode(Failure{*std::move(leftover), FirstRankOf(hello)}));
  }
  ChildLinks::Child* child = children_->Find(source);
  const bool first = child->ranks.empty();
  if (first && !root_ && !child->same_node && !MayBeBelow(hello)) return children_->Remove(source);
  arrived_.Count(hello, child->same_node);
  bool rank_zero = false;
  for (const ProcessInfo& member : hello.members) {
    if (member.refused && !root_) OnFailureBelow(RefusalOf(member));
    for (const RankClaim& claim : member.claims) {
      child->ranks.push_back(claim.rank);
      rank_zero = rank_zero || claim.rank == 0;
    }
  }
  // Not the leader of another node before the root has accepted this process: nothing is lost with it before.
  if (first && (root_ || child->same_node || accepted()))
    children_->Send(source, Encode(AcceptanceOfChildren(MillisecondsLeft(RootDeadline()))));
  if (upstream_.parked()) children_->Send(source, EncodeBare(ControlType::kLater));
  // Ranks of this node go up with this process if the root turns out to be elsewhere.
  if (!root_ || child->same_node) members_.Add(source, hello);
  if (root_) return FillRoster(source, hello);
  // The leader of rank 0 may have another rank.
  if (rank_zero && !attached() && request_.meeting.find_root != FindRoot::kFirstNode) {
    return events_.on_rank_zero();
  }
  ScheduleHello();
}

void GroupFormation::OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child) {
  if (child.ranks.empty()) return;
  // A process that times out while the previous group still runs is no part of the next.
  if (upstream_.parked()) {
    arrived_.Discount(members_.Forget(source), child.same_node);
    return;
  }
  if (root_) {
    if (auto failure = root_->roster.Remove(source)) events_.on_failed(*std::move(failure), false);
    return;
  }
  if (child.same_node) return OnFailureBelow(EndedWhileForming(child.ranks, request_.self.node));
  // It takes those behind it along, but it alone has ended.
  const ProcessInfo& speaker = members_.SpeakerOf(source);
  std::vector<int> ranks;
  for (const RankClaim& claim : speaker.claims) ranks.push_back(claim.rank);
  OnFailureBelow(EndedWhileForming(std::move(ranks), speaker.node));
}

// A rank of this node has gone to the root: this process did not answer for long. It may have to go up again from here.
void GroupFormation::OnChildLeft(ChildLinks::Source source) {
  arrived_.Discount(members_.Forget(source), children_->Find(source)->same_node);
  children_->Remove(source);
}

// ---- at the root

void GroupFormation::BecomeRoot() {
  root_.emplace(Root{.roster = RosterBuilder(request_.self, request_.meeting.placement)});
  FillRoster(ChildLinks::kSelf, Hello{{}, members_.Own()});
  // A rank below has ended before.
  if (failure_below_) return events_.on_failed(*failure_below_, false);
  // Not before it listens: processes that come receive the reason.
  const Status room = MakeRoomForAll(arrived_, place_.children > 0 ? place_.children + 1 : arrived_.nodes,
                                     request_.meeting.find_root == FindRoot::kSameNode);
  if (!room) return Fail(room.error());
  for (const auto& [source, member] : members_.below()) {
    if (over_) return;
    FillRoster(source, Hello{{}, {member}});
  }
}

void GroupFormation::FillRoster(ChildLinks::Source source, const Hello& hello) {
  if (auto failure = root_->Add(source, hello)) return events_.on_failed(*std::move(failure), false);
  if (!root_->roster.complete()) return;
  Result<FormedGroup> formed = root_->Form(request_);
  if (!formed) return Fail(formed.error());
  const Bytes frame = Encode(*formed);
  Form(*std::move(formed), frame);
}

std::optional<Failure> GroupFormation::Root::Add(ChildLinks::Source source, const Hello& hello) {
  if (auto failure = roster.Add(source, hello)) return failure;
  for (const ProcessInfo& member : hello.members) {
    for (const RankClaim& claim : member.claims) {
      arrivals.try_emplace(claim.rank, Arrival{Clock::now() - began, member.node});
    }
  }
  return std::nullopt;
}

Result<FormedGroup> GroupFormation::Root::Form(const JoinRequest& request) {
  std::vector<std::string> addresses = reached_at;
  if (request.meeting.find_root != FindRoot::kSameNode) {
    Result<std::vector<std::string>> advertised =
        AddressesToAdvertise(request.self.node, request.options.interface, reached_at);
    if (!advertised) LogWarning("{}", advertised.error().message);
    if (advertised) addresses = *std::move(advertised);
  }
  roster.SetAddresses(request.self.node, std::move(addresses));
  MUSTER_TRY(Roster members, roster.MakeRoster());
  FormedGroup formed{std::move(members), {}, request.self.claims.front().rank};
  formed.roster.group_id = DrawGroupId();
  auth::RandomBytes(formed.key);
  return formed;
}

void GroupFormation::Form(FormedGroup group, ByteView frame) {
  // A process without a hello is no part of the group; the new owner answers it.
  for (auto& [source, child] : children_->all()) {
    if (child.ranks.empty()) continue;
    // Those of other nodes are in the root's roster, which has compared them.
    if (!root_ || child.same_node) {
      if (const auto second = members_.FindSecondClaim(source, group.roster)) {
        LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", second->message);
        child.stream->Send(Encode(Failure{*second, child.ranks.front()}));
        child.ranks.clear();
        continue;
      }
      child.ranks = members_.RanksIn(source, group.roster);
    }
    child.stream->Send(frame);
  }
  events_.on_formed(std::move(group));
}

}  // namespace muster::rendezvous
