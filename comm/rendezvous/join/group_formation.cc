#include "comm/rendezvous/join/group_formation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "comm/auth/crypto.h"
#include "comm/log/log.h"
#include "comm/rendezvous/roster/advertised_addresses.h"
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
  return fmt::format("{:02x}", fmt::join(random, ""));
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
      upstream_(
          loop, request, deadline,
          {.on_accepted = [this](bool first) { OnAccepted(first); },
           .on_not_accepted = [this] { events_.on_not_accepted(); },
           .on_leader_lost = [this](ProcessInfo leader) { OnLeaderLost(std::move(leader)); },
           .can_prove = [this] { return events_.can_prove(); },
           .on_silent = [this](auto leader) { OnSilent(std::move(leader)); },
           .on_heard_again = [this] { OnHeardAgain(); },
           .on_later = [this](ByteView frame) { OnLater(frame); },
           .on_restart = [this] { events_.on_restart(); },
           .on_roster = [this](FormedGroup group, ByteView frame) { Form(std::move(group), frame); },
           .on_failed = [this](Failure failure,
                               bool from_above) { events_.on_failed(std::move(failure), from_above); }}),
      below_(request, upstream_, place_.ranks_below,
             {[this](ChildLinks::Source source, const Hello& hello) { OnHello(source, hello); },
              [this](ChildLinks::Source source) { OnEndedBelow(source); },
              [this](Failure failure) { OnFailureBelow(std::move(failure)); }}) {
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
  for (const auto& [source, child] : below_.links().all()) {
    if (!root_ && !child.same_node) child.stream->Send(EncodeBare(ControlType::kHeartbeat));
  }
  upstream_.CheckSilence(late > request_.liveness.suspect_after / 2);
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
  below_.members().SendAllAgain();
  if (failure_below_) upstream_.Send(Encode(*failure_below_));
  if (leader()) return ScheduleHello();
  SendHello();
}

// A whole node is one message; late ranks of it are collected for a moment.
void GroupFormation::ScheduleHello() {
  const Duration pause = PauseBeforeHello(below_.arrived(), collected_);
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
  if (!upstream_.attached()) return;
  HelloMembers& members = below_.members();
  const size_t sent_before = members.sent();
  std::vector<Hello> hellos = members.TakeUnsent(upstream_.accepted());
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
  if (upstream_.accepted()) below_.AcceptAgain(members.SentSince(sent_before));
}

void GroupFormation::OnAccepted(bool first) {
  events_.on_accepted();
  if (!first) return;
  below_.Accept();
  if (!hello_timer_.pending()) SendHello();
}

void GroupFormation::OnLater(ByteView frame) {
  // One line a node is enough.
  if (leader() || request_.self.claims.front().local_rank <= 1) {
    LogEvent(LogLevel::kInfo, "later", {},
             "this launch's previous group is still at work; waiting for it to end");
  }
  below_.links().SendAll(frame);
}

void GroupFormation::OnLeaderLost(ProcessInfo leader) {
  const std::string node = leader.node;
  // The others are above this process.
  if (node == request_.self.node) below_.CountLost(leader);
  below_.members().SetLostLeader(std::move(leader));
  events_.on_leader_lost(node);
}

// The report goes to the next process above that answers.
void GroupFormation::OnSilent(std::optional<ProcessInfo> leader) {
  if (!leader) return events_.on_silent(std::nullopt);
  const std::string node = leader->node;
  below_.members().SetLostLeader(*std::move(leader));
  events_.on_silent(node);
}

void GroupFormation::OnHeardAgain() {
  below_.members().ForgetLostLeader();
  events_.on_accepted();
}

void GroupFormation::Send(const Failure& failure) {
  const Bytes frame = Encode(failure);
  below_.links().SendAll(frame);
  upstream_.Send(frame);
}

// ---- below

void GroupFormation::AddChild(std::unique_ptr<net::FrameStream> stream, std::string name, bool same_node) {
  if (root_ && !same_node) {
    const std::string reached = net::LocalAddress(stream->fd()).Host();
    if (std::ranges::count(root_->reached_at, reached) == 0) root_->reached_at.push_back(reached);
  }
  below_.links().Add(std::move(stream), std::move(name), same_node);
}

// The root decides which failure was the first. Until it answers, the first one here counts.
void GroupFormation::OnFailureBelow(Failure failure) {
  if (root_) return events_.on_failed(std::move(failure), false);
  if (failure_below_) return;
  failure_below_ = std::move(failure);
  upstream_.Send(Encode(*failure_below_));
}

void GroupFormation::OnHello(ChildLinks::Source source, const Hello& hello) {
  if (root_) return FillRoster(source, hello);
  // The leader of rank 0 may have another rank.
  if (!upstream_.attached() && request_.meeting.find_root != FindRoot::kFirstNode &&
      std::ranges::any_of(hello.members, ClaimsRankZero)) {
    return events_.on_rank_zero();
  }
  ScheduleHello();
}

void GroupFormation::OnEndedBelow(ChildLinks::Source source) {
  if (auto failure = root_->roster.Remove(source)) events_.on_failed(*std::move(failure), false);
}

// ---- at the root

void GroupFormation::BecomeRoot() {
  root_.emplace(Root{.roster = RosterBuilder(request_.self, request_.meeting.placement)});
  below_.SetRoot(true);
  FillRoster(ChildLinks::kSelf, Hello{{}, below_.members().Own()});
  // A rank below has ended before.
  if (failure_below_) return events_.on_failed(*failure_below_, false);
  // Not before it listens: processes that come receive the reason.
  const ArrivedRanks& arrived = below_.arrived();
  const Status room = MakeRoomForAll(arrived, place_.children > 0 ? place_.children + 1 : arrived.nodes,
                                     request_.meeting.find_root == FindRoot::kSameNode);
  if (!room) return Fail(room.error());
  for (const auto& [source, member] : below_.members().below()) {
    if (over_) return;
    FillRoster(source, Hello{{}, {member}});
  }
}

void GroupFormation::ResignAsRoot() {
  root_.reset();
  below_.SetRoot(false);
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
  below_.SendRoster(group.roster, frame);
  events_.on_formed(std::move(group));
}

}  // namespace muster::rendezvous
