#include "comm/rendezvous/messages/messages.h"

#include <algorithm>
#include <memory>

#include "comm/rendezvous/messages/control_frame.h"

namespace muster::rendezvous {
namespace {

using control_frame::Begin;
using control_frame::Body;
using control_frame::Finish;

void Put(WireWriter& writer, const std::vector<std::string>& texts) {
  writer.U32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.String(text);
}

std::vector<std::string> GetTexts(WireReader& reader) {
  std::vector<std::string> texts(reader.Count(4));
  for (std::string& text : texts) text = reader.String();
  return texts;
}

void Put(WireWriter& writer, const Agreement& agreement) {
  writer.I32(agreement.world_size);
  writer.String(agreement.launcher);
  writer.I32(agreement.restart);
  writer.String(agreement.job_key);
  writer.String(agreement.backend);
  writer.String(agreement.configuration);
}

Agreement GetAgreement(WireReader& reader) {
  Agreement agreement;
  agreement.world_size = reader.I32();
  agreement.launcher = reader.String();
  agreement.restart = reader.I32();
  agreement.job_key = reader.String();
  agreement.backend = reader.String();
  agreement.configuration = reader.String();
  return agreement;
}

void Put(WireWriter& writer, const RankClaim& claim) {
  writer.I32(claim.rank);
  writer.I32(claim.local_rank);
  writer.I32(claim.local_size);
  writer.Blob(claim.payload);
}

Bytes ToBytes(ByteView view) { return {view.begin(), view.end()}; }

RankClaim GetRankClaim(WireReader& reader) {
  RankClaim claim;
  claim.rank = reader.I32();
  claim.local_rank = reader.I32();
  claim.local_size = reader.I32();
  claim.payload = ToBytes(reader.Blob());
  return claim;
}

constexpr auto kLastCode = static_cast<uint8_t>(Code::kWorkFailed);

void Put(WireWriter& writer, const Error& error) {
  writer.U8(static_cast<uint8_t>(error.code));
  writer.String(error.message);
  writer.String(error.hint);
}

Error GetError(WireReader& reader) {
  Error error;
  const uint8_t code = reader.U8();
  if (code > kLastCode) reader.MarkBad();
  error.code = static_cast<Code>(code);
  error.message = reader.String();
  error.hint = reader.String();
  return error;
}

constexpr uint8_t kSameAsBefore = 1;
constexpr uint8_t kRefused = 2;

// Within a node nearly always everything but pid and claims is the same as the process before.
void Put(WireWriter& writer, const ProcessInfo& member, const ProcessInfo* previous) {
  const bool same =
      previous != nullptr && previous->node == member.node && previous->agreement == member.agreement;
  writer.U8(static_cast<uint8_t>((same ? kSameAsBefore : 0) | (member.refused ? kRefused : 0)));
  if (!same) {
    writer.String(member.node);
    Put(writer, member.agreement);
  }
  writer.I32(member.pid);
  writer.U32(static_cast<uint32_t>(member.claims.size()));
  for (const RankClaim& claim : member.claims) Put(writer, claim);
  if (member.refused) Put(writer, *member.refused);
}

ProcessInfo GetProcessInfo(WireReader& reader, const ProcessInfo* previous) {
  ProcessInfo member;
  const uint8_t flags = reader.U8();
  const bool same = (flags & kSameAsBefore) != 0;
  if (flags > (kSameAsBefore | kRefused) || (same && previous == nullptr)) reader.MarkBad();
  if (same && previous != nullptr) {
    member.node = previous->node;
    member.agreement = previous->agreement;
  } else if (!same) {
    member.node = reader.String();
    member.agreement = GetAgreement(reader);
  }
  member.pid = reader.I32();
  member.claims.resize(reader.Count(16));
  for (RankClaim& claim : member.claims) claim = GetRankClaim(reader);
  if ((flags & kRefused) != 0) member.refused = GetError(reader);
  return member;
}

void Put(WireWriter& writer, const FormedGroup& group) {
  writer.Raw(group.key);
  writer.I32(group.root_rank);
  writer.String(group.roster.group_id);
  writer.U32(static_cast<uint32_t>(group.roster.nodes.size()));
  for (const Roster::Node& node : group.roster.nodes) {
    writer.String(node.name);
    Put(writer, node.addresses);
  }
  writer.U32(static_cast<uint32_t>(group.roster.members.size()));
  for (const Roster::Member& member : group.roster.members) {
    writer.I32(member.node);
    writer.I32(member.local_rank);
    writer.I32(member.pid);
    writer.Blob(member.payload.view());
  }
}

// `owner` holds what `reader` reads: all payloads stay in the one copy of the message.
FormedGroup GetGroup(WireReader& reader, const std::shared_ptr<const Bytes>& owner) {
  FormedGroup group;
  const ByteView key = reader.Raw(group.key.size());
  std::ranges::copy(key, group.key.begin());
  group.root_rank = reader.I32();
  group.roster.group_id = reader.String();
  group.roster.nodes.resize(reader.Count(8));
  for (Roster::Node& node : group.roster.nodes) {
    node.name = reader.String();
    node.addresses = GetTexts(reader);
  }
  group.roster.members.resize(reader.Count(16));
  const auto node_count = static_cast<int>(group.roster.nodes.size());
  for (Roster::Member& member : group.roster.members) {
    member.node = reader.I32();
    member.local_rank = reader.I32();
    member.pid = reader.I32();
    member.payload = Slice(owner, reader.Blob());
    if (member.node < 0 || member.node >= node_count) reader.MarkBad();
  }
  if (group.root_rank < 0 || group.root_rank >= group.roster.size()) reader.MarkBad();
  return group;
}

constexpr auto kFirstType = static_cast<uint8_t>(ControlType::kHello);
constexpr auto kLastType = static_cast<uint8_t>(ControlType::kVersions);
// Leaves room to add to it.
constexpr std::chrono::hours kLongestWait(24 * 365 * 200);

}  // namespace

std::optional<ControlType> ControlTypeOf(ByteView frame) {
  if (frame.empty()) return std::nullopt;
  if (frame[0] < kFirstType || frame[0] > kLastType) return std::nullopt;
  return static_cast<ControlType>(frame[0]);
}

Bytes Encode(const Hello& hello) {
  WireWriter writer = Begin(ControlType::kHello);
  Put(writer, hello.addresses);
  writer.U32(static_cast<uint32_t>(hello.members.size()));
  const ProcessInfo* previous = nullptr;
  for (const ProcessInfo& member : hello.members) {
    Put(writer, member, previous);
    previous = &member;
  }
  return writer.Take();
}

Result<Hello> DecodeHello(ByteView frame) {
  WireReader reader = Body(frame);
  Hello hello;
  hello.addresses = GetTexts(reader);
  const uint32_t count = reader.Count(9);
  hello.members.reserve(count);
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    hello.members.push_back(GetProcessInfo(reader, i == 0 ? nullptr : &hello.members.back()));
  }
  return Finish(reader, std::move(hello), "hello");
}

Bytes Encode(const FormedGroup& group) {
  WireWriter writer = Begin(ControlType::kRoster);
  Put(writer, group);
  return writer.Take();
}

Result<FormedGroup> DecodeRoster(ByteView frame) {
  const auto owner = std::make_shared<const Bytes>(ToBytes(frame));
  WireReader reader = Body(*owner);
  FormedGroup group = GetGroup(reader, owner);
  return Finish(reader, std::move(group), "roster");
}

Bytes Encode(const Failure& failure) {
  WireWriter writer = Begin(ControlType::kFailure);
  Put(writer, failure.error);
  writer.I32(failure.rank);
  writer.I32(failure.exit_status);
  writer.String(failure.stderr_tail);
  writer.U8(failure.as_told ? 1 : 0);
  writer.U64(failure.told_in);
  return writer.Take();
}

Result<Failure> DecodeFailure(ByteView frame) {
  WireReader reader = Body(frame);
  Failure failure;
  failure.error = GetError(reader);
  failure.rank = reader.I32();
  failure.exit_status = reader.I32();
  failure.stderr_tail = reader.String();
  const uint8_t as_told = reader.U8();
  if (as_told > 1) reader.MarkBad();
  failure.as_told = as_told == 1;
  failure.told_in = reader.U64();
  return Finish(reader, std::move(failure), "failure");
}

Bytes Encode(const KeyedAllGather& exchange, ControlType type) {
  WireWriter writer = Begin(type);
  writer.String(exchange.name);
  writer.U64(exchange.timeout_milliseconds);
  writer.U32(static_cast<uint32_t>(exchange.entries.size()));
  for (const auto& [rank, bytes] : exchange.entries) {
    writer.I32(rank);
    writer.Blob(bytes);
  }
  return writer.Take();
}

Result<KeyedAllGather> DecodeKeyedAllGather(ByteView frame) {
  WireReader reader = Body(frame);
  KeyedAllGather exchange;
  exchange.name = reader.String();
  exchange.timeout_milliseconds = reader.U64();
  exchange.entries.resize(reader.Count(8));
  for (auto& [rank, bytes] : exchange.entries) {
    rank = reader.I32();
    bytes = ToBytes(reader.Blob());
  }
  return Finish(reader, std::move(exchange), "exchange");
}

Bytes EncodeAccepted(uint64_t remaining_milliseconds) {
  WireWriter writer = Begin(ControlType::kAccepted);
  writer.U64(remaining_milliseconds);
  return writer.Take();
}

Result<uint64_t> DecodeAccepted(ByteView frame) {
  WireReader reader = Body(frame);
  const uint64_t remaining = reader.U64();
  return Finish(reader, remaining, "acceptance");
}

Bytes EncodeJobEnd(uint64_t remaining_milliseconds) {
  WireWriter writer = Begin(ControlType::kJobEnd);
  writer.U64(remaining_milliseconds);
  return writer.Take();
}

Result<uint64_t> DecodeJobEnd(ByteView frame) {
  WireReader reader = Body(frame);
  const uint64_t remaining = reader.U64();
  return Finish(reader, remaining, "end of the job");
}

Bytes EncodeLeave(const std::vector<int>& ranks) {
  WireWriter writer = Begin(ControlType::kLeave);
  writer.U32(static_cast<uint32_t>(ranks.size()));
  for (const int rank : ranks) writer.I32(rank);
  return writer.Take();
}

Result<std::vector<int>> DecodeLeave(ByteView frame) {
  WireReader reader = Body(frame);
  std::vector<int> ranks(reader.Count(4));
  for (int& rank : ranks) rank = reader.I32();
  return Finish(reader, std::move(ranks), "leave message");
}

Bytes EncodeAdopt(int rank) {
  WireWriter writer = Begin(ControlType::kAdopt);
  writer.I32(rank);
  return writer.Take();
}

Result<int> DecodeAdopt(ByteView frame) {
  WireReader reader = Body(frame);
  const int rank = reader.I32();
  return Finish(reader, rank, "adoption request");
}

Bytes Encode(const Adoption& adoption) {
  WireWriter writer = Begin(ControlType::kAdopted);
  Put(writer, adoption.group);
  writer.I32(adoption.rank);
  writer.I32(adoption.incarnation);
  writer.String(adoption.configuration);
  writer.String(adoption.job_key);
  return writer.Take();
}

Result<Adoption> DecodeAdopted(ByteView frame) {
  const auto owner = std::make_shared<const Bytes>(ToBytes(frame));
  WireReader reader = Body(*owner);
  Adoption adoption;
  adoption.group = GetGroup(reader, owner);
  adoption.rank = reader.I32();
  adoption.incarnation = reader.I32();
  adoption.configuration = reader.String();
  adoption.job_key = reader.String();
  return Finish(reader, std::move(adoption), "adoption");
}

Bytes EncodeBare(ControlType type) { return Begin(type).Take(); }

uint64_t MillisecondsLeft(Deadline deadline) {
  const Duration remaining = std::min<Duration>(deadline.Remaining(), kLongestWait);
  return static_cast<uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(remaining).count());
}

Duration FromMilliseconds(uint64_t milliseconds) {
  constexpr uint64_t kMost = std::chrono::milliseconds(kLongestWait).count();
  return std::chrono::milliseconds(std::min(milliseconds, kMost));
}

}  // namespace muster::rendezvous
