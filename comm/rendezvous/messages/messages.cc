#include "comm/rendezvous/messages/messages.h"

#include "comm/rendezvous/messages/compact_roster.h"
#include "comm/rendezvous/messages/frames.h"

namespace muster {

void Fields(auto& wire, Is<Roster::Node> auto& node) { wire(node.name, node.addresses); }

void Fields(auto& wire, Is<Roster::Member> auto& member) {
  wire(member.node, member.local_rank, member.pid);
  if constexpr (kReads<decltype(wire)>) {
    Slice payload;
    wire(payload);
    member.payload = std::move(payload);
  } else {
    wire(member.payload.view());
  }
}

template <typename T, typename Source>
void Fields(auto& wire, LazyList<T, Source>& list) {
  wire(list.own());
}
template <typename T, typename Source>
void Fields(auto& wire, const LazyList<T, Source>& list) {
  wire.Count(list, 0);
  for (const T& item : list) wire(item);
}

namespace rendezvous {

void Fields(auto& wire, Is<Agreement> auto& agreement) {
  wire(agreement.world_size, agreement.launcher, agreement.restart, agreement.job_key, agreement.backend,
       agreement.configuration);
}

void Fields(auto& wire, Is<RankClaim> auto& claim) {
  wire(claim.rank, claim.local_rank, claim.local_size, claim.payload);
}

namespace {

constexpr uint8_t kSameAsBefore = 1;
constexpr uint8_t kRefused = 2;
// Flags, pid, id and the number of claims of a process that is like the one before.
constexpr size_t kShortestProcess = 17;

// Within a node nearly always everything but pid and claims is the same as the process before.
void ProcessFields(auto& wire, Is<ProcessInfo> auto& member, const ProcessInfo* previous) {
  bool same = previous != nullptr && previous->node == member.node && previous->agreement == member.agreement;
  auto flags = static_cast<uint8_t>((same ? kSameAsBefore : 0) | (member.refused ? kRefused : 0));
  wire(UpTo(flags, kSameAsBefore | kRefused));
  if constexpr (kReads<decltype(wire)>) {
    same = (flags & kSameAsBefore) != 0;
    wire.Require(!same || previous != nullptr);
    if (same && previous != nullptr) {
      member.node = previous->node;
      member.agreement = previous->agreement;
    }
    if ((flags & kRefused) != 0) member.refused.emplace();
  }
  if (!same) wire(member.node, member.agreement);
  wire(member.pid, member.id, member.claims);
  if (member.refused) wire(*member.refused);
}

}  // namespace

void Fields(auto& wire, Is<Hello> auto& hello) {
  wire(hello.addresses);
  wire.Count(hello.members, kShortestProcess);
  const ProcessInfo* previous = nullptr;
  for (auto& member : hello.members) {
    ProcessFields(wire, member, previous);
    previous = &member;
  }
}

void Fields(auto& wire, Is<Acceptance> auto& acceptance) {
  wire(acceptance.remaining_milliseconds, acceptance.ranks, acceptance.node, acceptance.known_above);
  wire.Require(!acceptance.ranks.empty());
}

void Fields(auto& wire, Is<FormedGroup> auto& group) {
  auto& roster = group.roster;
  wire(group.key, group.root_rank, roster.group_id);
  if constexpr (kReads<decltype(wire)>) {
    ByteView table;
    wire(table);
    wire.Require(wire.ok() && DecodeTable(table, roster));
  } else {
    wire(EncodeTable(roster));
  }
  wire.Require(group.root_rank >= 0 && group.root_rank < roster.size());
}

void Fields(auto& wire, Is<Failure> auto& failure) {
  wire(failure.error, failure.rank, failure.exit_status, failure.stderr_tail, failure.as_requested,
       failure.logged_in);
}

void Fields(auto& wire, Is<FailureDue> auto& due) { wire(due.rank, due.milliseconds); }

void Fields(auto& wire, Is<JobEnd> auto& end) { wire(end.milliseconds); }

void Fields(auto& wire, Is<RanksLeft> auto& left) { wire(left.ranks); }

void Fields(auto& wire, Is<KeyedAllGather> auto& exchange) {
  wire(exchange.name, exchange.timeout_milliseconds, exchange.entries);
}

void Fields(auto& wire, Is<AdoptionRequest> auto& request) { wire(request.rank); }

// The layout of the group does not change: the program may be of another release.
void Fields(auto& wire, Is<Adoption> auto& adoption) {
  auto& roster = adoption.group.roster;
  wire(adoption.group.key, adoption.group.root_rank, roster.group_id, roster.nodes, roster.members);
  for (const Roster::Member& member : roster.members)
    wire.Require(member.node >= 0 && std::cmp_less(member.node, roster.nodes.size()));
  wire.Require(adoption.group.root_rank >= 0 && adoption.group.root_rank < roster.size());
  wire(adoption.rank, adoption.incarnation, adoption.configuration, adoption.job_key);
}

void Fields(auto& wire, Is<RankMessage> auto& message) { wire(message.rank, message.content); }

void Fields(auto& wire, Is<Tolerance> auto& tolerance) { wire(tolerance.on); }

void Fields(auto& wire, Is<RanksLost> auto& lost) {
  wire(lost.ranks, lost.why, lost.process, lost.exit_status);
}

namespace {

constexpr auto kFirstType = static_cast<uint8_t>(ControlType::kHello);
constexpr auto kLastType = static_cast<uint8_t>(ControlType::kFailureDue);
// Leaves room to add to it.
constexpr std::chrono::hours kLongestWait(24 * 365 * 200);

}  // namespace

std::optional<ControlType> ControlTypeOf(ByteView frame) {
  if (frame.empty()) return std::nullopt;
  if (frame[0] < kFirstType || frame[0] > kLastType) return std::nullopt;
  return static_cast<ControlType>(frame[0]);
}

MUSTER_MESSAGE(Hello, kHello, "hello");
MUSTER_MESSAGE(Acceptance, kAccepted, "acceptance");
MUSTER_MESSAGE(Failure, kFailure, "failure");
MUSTER_MESSAGE(FailureDue, kFailureDue, "failure due");
MUSTER_MESSAGE(RanksLost, kRanksLost, "loss of ranks");
MUSTER_MESSAGE(FormedGroup, kRoster, "roster");
MUSTER_MESSAGE(JobEnd, kJobEnd, "end of the job");
MUSTER_MESSAGE(RanksLeft, kLeave, "leave message");
MUSTER_MESSAGE(AdoptionRequest, kAdopt, "adoption request");
MUSTER_MESSAGE(Tolerance, kTolerate, "tolerance");
MUSTER_MESSAGE_BOTH_WAYS(KeyedAllGather, "exchange");
MUSTER_MESSAGE_BOTH_WAYS(RankMessage, "message of a rank");

template <>
Bytes Encode(const Adoption& adoption) {
  return EncodeFields(ControlType::kAdopted, adoption);
}
// All payloads stay in the one copy of the message.
template <>
Result<Adoption> Decode(ByteView frame) {
  const auto owner = std::make_shared<const Bytes>(frame.begin(), frame.end());
  return DecodeFrame<Adoption>(*owner, "adoption", owner);
}

Bytes EncodeBare(ControlType type) { return {static_cast<uint8_t>(type)}; }

uint64_t MillisecondsLeft(Deadline deadline) {
  const Duration remaining = std::min<Duration>(deadline.Remaining(), kLongestWait);
  return static_cast<uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(remaining).count());
}

Duration FromMilliseconds(uint64_t milliseconds) {
  constexpr uint64_t kMost = std::chrono::milliseconds(kLongestWait).count();
  return std::chrono::milliseconds(std::min(milliseconds, kMost));
}

}  // namespace rendezvous
}  // namespace muster
