#include "comm/rendezvous/join/group_formation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "comm/auth/crypto.h"
#include "comm/base/lists.h"
#include "comm/log/log.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/roster/agreement.h"
#include "comm/system/descriptor_room.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kCollect = milliseconds(20);
constexpr Duration kLongestCollect = milliseconds(200);
// The root's failure takes time to arrive. It must arrive before the own deadline of processes that started
// earlier.
constexpr Duration kVerdictGrace = std::chrono::seconds(5);

// One for each other node and each rank of this one; if neither is known beforehand, as many as can be.
Status MakeRoomForAll(const ArrivedRanks& arrived, bool same_node) {
  const auto local = static_cast<size_t>(std::max(arrived.local_size, 0));
  const auto all = static_cast<size_t>(std::max(arrived.world_size, 0));
  const std::string what = fmt::format("the root of {} ranks", all);
  if ((arrived.nodes > 0 || same_node) && local > 0) {
    return MakeRoomForDescriptors(std::min(all, arrived.nodes + local), what);
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

Result<std::vector<std::string>> AddressesToAdvertise(std::string_view node,
                                                      const std::optional<std::string>& pattern,
                                                      const std::vector<std::string>& proven) {
  if (!pattern) return proven;
  MUSTER_TRY(const auto interfaces, net::LocalInterfaces());
  std::vector<std::string> matching;
  std::vector<std::string> all;
  for (const net::LocalInterface& interface : interfaces) {
    all.push_back(fmt::format("{} {}", interface.name, interface.address.Host()));
    if (interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    if (net::IsNodeLocalInterface(interface.name) || !net::MatchesInterface(interface, *pattern)) continue;
    matching.push_back(interface.address.Host());
  }
  if (!matching.empty()) return matching;
  return WithHint(
      Fail(Code::kConfiguration, "rendezvous.interface \"{}\" matches no usable address of {}", *pattern,
           node),
      fmt::format("{} has {}: choose one that leads to the other nodes", node, fmt::join(all, ", ")));
}

// Longer for each hello if the number of ranks is known: then all of them are sure to come.
Duration PauseBeforeHello(const ArrivedRanks& arrived, Duration last) {
  if (arrived.WholeNodeIsHere()) return Duration::zero();
  return arrived.local_size >= 0 ? std::clamp(2 * last, kCollect, kLongestCollect) : kCollect;
}

std::optional<Error> FindSecondClaim(const ProcessInfo& self,
                                     const std::vector<std::pair<ChildLinks::Source, ProcessInfo>>& members,
                                     ChildLinks::Source source) {
  std::map<int, std::pair<ChildLinks::Source, const ProcessInfo*>> first;
  for (const RankClaim& claim : self.claims) first.emplace(claim.rank, std::pair(ChildLinks::kSelf, &self));
  for (const auto& [from, member] : members) {
    for (const RankClaim& claim : member.claims) {
      const auto& [other, process] = first.emplace(claim.rank, std::pair(from, &member)).first->second;
      if (from == source && other != source)
        return ClaimedTwice(claim.rank, {process->pid, process->node}, {member.pid, member.node});
    }
  }
  return std::nullopt;
}

GroupFormation::GroupFormation(net::EventLoop& loop, const JoinRequest& request, JoinDeadline& deadline,
                               Events events)
    : loop_(loop), request_(request), deadline_(deadline), events_(std::move(events)) {
  arrived_.world_size = request.self.agreement.world_size;
  arrived_.nodes = request.meeting.placement.nodes.size();
  arrived_.local_size = request.self.claims.front().local_size;
  arrived_.local = static_cast<int>(request.self.claims.size());
  children_->SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnChildFrame(source, frame); },
                         [this](ChildLinks::Source source, const ChildLinks::Child& child, const Error&) {
                           OnChildClosed(source, child);
                         });
}

ArrivedRanks GroupFormation::arrived() const {
  ArrivedRanks arrived = arrived_;
  arrived.root = root_.has_value();
  return arrived;
}

bool GroupFormation::HasRankZero() const {
  const auto has = [](const ProcessInfo& member) {
    return std::ranges::count(member.claims, 0, &RankClaim::rank) > 0;
  };
  return std::ranges::any_of(OwnMembers(), has) ||
         std::ranges::any_of(members_, [&](const auto& entry) { return has(entry.second); });
}

Deadline GroupFormation::RootDeadline() const {
  const Deadline own = deadline_.when();
  return accepted_ && !own.IsNever() ? Deadline::At(own.when() - kVerdictGrace) : own;
}

std::unique_ptr<net::FrameStream> GroupFormation::TakeUpstream() {
  over_ = true;
  loop_.Cancel(std::exchange(hello_timer_, 0));
  return std::move(upstream_);
}

// ---- upstream

void GroupFormation::Attach(std::unique_ptr<net::FrameStream> upstream, std::string name) {
  upstream_ = std::move(upstream);
  upstream_name_ = std::move(name);
  upstream_->Start([this](ByteView frame) { OnUpstreamFrame(frame); },
                   [this](const Error& reason) { OnUpstreamClosed(reason); });
  sent_ = 0;
  // On another node the handshake compares them.
  upstream_is_local_ = net::LocalAddress(upstream_->fd()).family() == AF_UNIX;
  if (upstream_is_local_) upstream_->Send(Encode(request_.versions));
  if (failure_below_) upstream_->Send(Encode(*failure_below_));
  if (leader()) return ScheduleHello();
  SendHello();
}

// A whole node is one message; late ranks of it are collected for a moment.
void GroupFormation::ScheduleHello() {
  const Duration pause = PauseBeforeHello(arrived_, collected_);
  if (pause == Duration::zero()) {
    loop_.Cancel(std::exchange(hello_timer_, 0));
    return SendHello();
  }
  if (hello_timer_ != 0) return;
  collected_ = pause;
  hello_timer_ = loop_.After(pause, [this] {
    hello_timer_ = 0;
    SendHello();
  });
}

void GroupFormation::SendHello() {
  if (!upstream_ || sent_ > members_.size()) return;
  Hello hello;
  if (!upstream_is_local_) {
    Result<std::vector<std::string>> advertised = AddressesToAdvertise(
        request_.self.node, request_.options.interface, {net::LocalAddress(upstream_->fd()).Host()});
    if (!advertised) return Fail(advertised.error());
    hello.addresses = *std::move(advertised);
  }
  if (sent_ == 0) hello.members = OwnMembers();
  for (sent_ = std::max<size_t>(sent_, 1); sent_ <= members_.size(); ++sent_) {
    hello.members.push_back(members_[sent_ - 1].second);
  }
  upstream_->Send(Encode(hello));
}

void GroupFormation::OnUpstreamFrame(ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return;
  switch (*type) {
    case ControlType::kAccepted:
      if (auto acceptance = DecodeAccepted(frame)) OnAccepted(*std::move(acceptance));
      return;
    case ControlType::kLater:
      return OnLater(frame);
    case ControlType::kRoster:
      return OnRoster(frame);
    case ControlType::kVersions:
      return CompareWithUpstream(frame);
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) return OnFailureAbove(*std::move(failure));
      return events_.on_failed(
          {{Code::kInternal, fmt::format("{} sent a malformed failure", upstream_name_), ""}, -1, -1, ""},
          true);
    default:
      return;
  }
}

// Each child receives it once, also if the node's ranks go up in several hellos: 64 ranks that wake up for
// each part of their node are most of the load of a crowded node.
void GroupFormation::OnAccepted(Acceptance acceptance) {
  events_.on_accepted();
  const bool first = !accepted_ || parked_;
  accepted_ = true;
  parked_ = false;
  acceptance_ = std::move(acceptance);
  upstream_name_ = fmt::format("{} on {}", FormatRanks(acceptance_.ranks), acceptance_.node);
  if (first) children_->SendAll(Encode(AcceptanceOfChildren(acceptance_.remaining_milliseconds)));
  if (request_.self.refused || lost_leader_) return;
  deadline_.Set(FromMilliseconds(acceptance_.remaining_milliseconds) + kVerdictGrace);
}

Acceptance GroupFormation::AcceptanceOfChildren(uint64_t remaining_milliseconds) const {
  Acceptance acceptance{remaining_milliseconds, {}, request_.self.node, accepted_};
  for (const RankClaim& claim : request_.self.claims) acceptance.ranks.push_back(claim.rank);
  return acceptance;
}

void GroupFormation::OnLater(ByteView frame) {
  parked_ = true;
  // One line a node is enough.
  if (leader() || request_.self.claims.front().local_rank <= 1) {
    LogEvent(LogLevel::kInfo, "later", {},
             "this launch's previous group is still at work; waiting for it to end");
  }
  deadline_.Stop();
  children_->SendAll(frame);
}

void GroupFormation::OnRoster(ByteView frame) {
  auto group = DecodeRoster(frame);
  if (group && group->roster.size() == request_.self.agreement.world_size) {
    return Form(*std::move(group), frame);
  }
  Fail({Code::kInternal, fmt::format("{} sent a malformed roster", upstream_name_), ""});
}

void GroupFormation::OnUpstreamClosed(const Error& reason) {
  DropUpstream();
  if (parked_) {
    parked_ = false;
    accepted_ = false;
    deadline_.Set(request_.timeouts.rendezvous);
    return events_.on_restart();
  }
  // A process that has not accepted this one is no peer that died: it belonged to the previous group, just
  // ended.
  if (!accepted_) return events_.on_unheard();
  if (upstream_is_local_) return OnLeaderClosed();
  const std::string detail = reason.message.empty() ? "" : ": " + reason.message;
  Fail({Code::kPeerLost, fmt::format("{} ended while the group was forming{}", upstream_name_, detail), ""});
}

// The root notices the end of a leader that it has accepted. Else no other process may know it: the leader was
// the root itself, or had not found the root yet.
void GroupFormation::OnLeaderClosed() {
  Failure failure = EndedWhileForming(acceptance_.ranks, acceptance_.node);
  if (acceptance_.known_above) return events_.on_failed(std::move(failure), false);
  LoseLeader(std::move(failure.error));
  events_.on_leader_lost();
}

void GroupFormation::LoseLeader(Error reason) {
  accepted_ = false;
  if (lost_leader_) return;
  ProcessInfo leader{acceptance_.node, 0, request_.self.agreement, {}, std::move(reason)};
  for (const int rank : acceptance_.ranks) leader.claims.push_back({rank, -1, -1, {}});
  arrived_.local += static_cast<int>(leader.claims.size());
  lost_leader_ = std::move(leader);
}

// From here the stream is of no use; it must not be destroyed within its own call.
void GroupFormation::DropUpstream() {
  loop_.Post([stream = std::shared_ptr<net::FrameStream>(std::move(upstream_))] {});
}

void GroupFormation::OnFailureAbove(Failure failure) {
  if (!LeaderHasNoProof(failure) || !events_.can_prove()) return events_.on_failed(std::move(failure), true);
  DropUpstream();
  failure.error.message =
      fmt::format("{} cannot prove its identity: {}", upstream_name_, failure.error.message);
  LoseLeader(std::move(failure.error));
  events_.on_leader_lost();
}

// The root ends no rank for that leader's sake. The kernel proves its user to this process.
bool GroupFormation::LeaderHasNoProof(const Failure& failure) const {
  return upstream_is_local_ && accepted_ && !acceptance_.known_above && !request_.self.refused &&
         failure.error.code == Code::kAuthentication && failure.rank == acceptance_.ranks.front();
}

// The lost leader first: the root may have a seat for this process, behind that leader.
std::vector<ProcessInfo> GroupFormation::OwnMembers() const {
  std::vector<ProcessInfo> members;
  if (lost_leader_) members.push_back(*lost_leader_);
  members.push_back(request_.self);
  return members;
}

void GroupFormation::CompareWithUpstream(ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return;
  const std::string self = DescribeRank(request_.self.claims.front().rank, request_.self.node);
  const Status same = CheckSameVersion({self, request_.versions}, {upstream_name_, *theirs});
  if (!same) Fail(same.error());
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
    const Result<Hello> hello = DecodeHello(frame);
    if (hello) return OnHello(source, *hello);
    LogWarning("{}", hello.error().message);
    auto node = children_->all().extract(source);
    return OnChildClosed(source, node.mapped());
  }
  if (*type != ControlType::kFailure) return;
  if (const Result<Failure> failure = DecodeFailure(frame)) OnFailureBelow(*failure);
}

// A rank of this node. Its messages may be different ones: it reads this process's versions, and fails.
void GroupFormation::CompareWithChild(ChildLinks::Source source, ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return children_->Remove(source);
  const std::string leader = fmt::format("the leader of {}", request_.self.node);
  const Status same = CheckSameVersion({leader, request_.versions}, {children_->Find(source)->name, *theirs});
  if (same) return;
  children_->Send(source, Encode(request_.versions));
  OnFailureBelow({same.error(), -1, -1, ""});
}

// The root decides which failure was the first. Until it answers, the first one here counts.
void GroupFormation::OnFailureBelow(Failure failure) {
  if (root_) return events_.on_failed(std::move(failure), false);
  if (failure_below_) return;
  failure_below_ = std::move(failure);
  if (upstream_) upstream_->Send(Encode(*failure_below_));
}

void GroupFormation::OnHello(ChildLinks::Source source, const Hello& hello) {
  if (auto leftover = FindLeftover(request_.self, hello)) {
    LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", leftover->message);
    return children_->Send(source, Encode(Failure{*std::move(leftover), FirstRankOf(hello), -1, ""}));
  }
  ChildLinks::Child* child = children_->Find(source);
  arrived_.Count(hello, child->same_node);
  bool rank_zero = false;
  for (const ProcessInfo& member : hello.members) {
    if (member.refused && !root_) OnFailureBelow(RefusalOf(member));
    for (const RankClaim& claim : member.claims) {
      child->ranks.push_back(claim.rank);
      rank_zero = rank_zero || claim.rank == 0;
    }
  }
  children_->Send(source, Encode(AcceptanceOfChildren(MillisecondsLeft(RootDeadline()))));
  if (parked_) children_->Send(source, EncodeBare(ControlType::kLater));
  // Ranks of this node go up with this process if the root turns out to be elsewhere.
  if (!root_ || child->same_node) {
    for (const ProcessInfo& member : hello.members) members_.emplace_back(source, member);
  }
  if (root_) return FillRoster(source, hello);
  // The leader of rank 0 may have another rank.
  if (rank_zero && !upstream_ && request_.meeting.find_root != FindRoot::kFirstNode) {
    return events_.on_rank_zero();
  }
  ScheduleHello();
}

void GroupFormation::OnChildClosed(ChildLinks::Source source, const ChildLinks::Child& child) {
  if (child.ranks.empty()) return;
  if (parked_) return ForgetMembers(source);
  if (root_) {
    if (auto failure = root_->roster.Remove(source)) events_.on_failed(*std::move(failure), false);
    return;
  }
  OnFailureBelow(EndedWhileForming(child.ranks, request_.self.node));
}

// A process that gives up while the previous group still runs is no part of the next.
void GroupFormation::ForgetMembers(ChildLinks::Source source) {
  for (const auto& [from, member] : members_) {
    if (from == source) arrived_.local -= static_cast<int>(member.claims.size());
  }
  std::erase_if(members_, [source](const auto& entry) { return entry.first == source; });
  sent_ = std::min(sent_, members_.size() + 1);
}

// ---- at the root

void GroupFormation::BecomeRoot() {
  root_.emplace(Root{.roster = RosterBuilder(request_.self, request_.meeting.placement)});
  FillRoster(ChildLinks::kSelf, Hello{{}, OwnMembers()});
  // A rank below has ended before.
  if (failure_below_) return events_.on_failed(*failure_below_, false);
  // Not before it listens: processes that come receive the reason.
  const Status room = MakeRoomForAll(arrived_, request_.meeting.find_root == FindRoot::kSameNode);
  if (!room) return Fail(room.error());
  for (const auto& [source, member] : members_) {
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
    const auto second = child.same_node ? FindSecondClaim(request_.self, members_, source) : std::nullopt;
    if (second) {
      LogEvent(LogLevel::kWarning, "refused", {}, "refused: {}", second->message);
      child.stream->Send(Encode(Failure{*second, child.ranks.front(), -1, ""}));
      child.ranks.clear();
      continue;
    }
    child.stream->Send(frame);
  }
  events_.on_formed(std::move(group));
}

}  // namespace muster::rendezvous
