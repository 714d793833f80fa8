// Every message of the control plane. Bytes: a decoded message is encoded and decoded again as the same.
// Values: decode(encode(x)) is x.
//
// An input is a frame, whose first byte is its type; above 0x80 the rest is values for a message of that
// type.
#include <fmt/format.h>

#include "comm/rendezvous/liveness/owner_messages.h"
#include "comm/rendezvous/messages/exit_report.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/messages/survey_messages.h"
#include "comm/rendezvous/messages/versions.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

constexpr uint8_t kFromValues = 0x80;
constexpr size_t kMostItems = 5;
constexpr size_t kMostRepeats = 40;

Bytes Encode(const rendezvous::KeyedAllGather& exchange) {
  return muster::rendezvous::Encode(exchange, rendezvous::ControlType::kKeyedAllGather);
}

template <typename T>
void CheckFrame(ByteView frame, Result<T> (*decode)(ByteView), Bytes (*encode)(const T&)) {
  const auto message = decode(frame);
  if (!message) {
    const Error& error = message.error();
    Require(error.code == Code::kInternal && error.message.starts_with("malformed "), "{}", error.message);
    return;
  }
  // A message may have views of its frame.
  const Bytes encoded = encode(*message);
  const auto again = decode(encoded);
  Require(again && *again == *message, "a message of type {} is read back", frame[0]);
}

template <typename T>
void CheckValue(const T& message, Result<T> (*decode)(ByteView), Bytes (*encode)(const T&)) {
  const Bytes frame = encode(message);
  Require(rendezvous::ControlTypeOf(frame).has_value(), "a frame has a type");
  const auto again = decode(frame);
  Require(again && *again == message, "a message of type {} is read back: {}", frame[0],
          again ? "differs" : again.error().message);
  // No part of it is a whole one.
  Require(!decode(ByteView(frame).first(frame.size() - 1)), "type {} cut short is refused", frame[0]);
}

std::vector<std::string> Texts(ValueSource& source) {
  std::vector<std::string> texts(source.Below(kMostItems));
  for (std::string& text : texts) text = source.Text();
  return texts;
}

Bytes Payload(ValueSource& source) {
  const ByteView view = source.Blob();
  return {view.begin(), view.end()};
}

Error MakeError(ValueSource& source) {
  const auto code = static_cast<Code>(source.Below(static_cast<size_t>(Code::kConfiguration) + 1));
  const std::string message = source.Text();
  return {code, message, source.Text()};
}

rendezvous::Hello MakeHello(ValueSource& source) {
  rendezvous::Hello hello{Texts(source), std::vector<rendezvous::ProcessInfo>(source.Below(kMostItems))};
  for (rendezvous::ProcessInfo& member : hello.members) {
    if (&member != &hello.members.front() && source.Flag()) {
      member.node = hello.members.front().node;
      member.agreement = hello.members.front().agreement;
    } else {
      member.node = source.Text();
      member.agreement = {source.Number(), source.Text(), source.Number(),
                          source.Text(),   source.Text(), source.Text()};
    }
    member.pid = source.Number();
    member.claims.resize(source.Below(kMostItems));
    for (rendezvous::RankClaim& claim : member.claims)
      claim = {source.Number(), source.Number(), source.Number(), Payload(source)};
    if (source.Flag()) member.refused = MakeError(source);
  }
  return hello;
}

// As the layout of one node is that of the next.
void RepeatMembers(std::vector<Roster::Member>& members, size_t times) {
  const std::vector<Roster::Member> pattern = members;
  for (size_t i = 0; i < times; ++i) members.insert(members.end(), pattern.begin(), pattern.end());
}

rendezvous::FormedGroup MakeGroup(ValueSource& source) {
  rendezvous::FormedGroup group;
  group.key = source.Array<32>();
  group.roster.group_id = source.Text();
  group.roster.nodes.own().resize(1 + source.Below(kMostItems));
  for (Roster::Node& node : group.roster.nodes.own()) node = {source.Text(), Texts(source)};
  group.roster.members.own().resize(1 + source.Below(kMostItems));
  for (Roster::Member& member : group.roster.members.own()) {
    member = {static_cast<int>(source.Below(group.roster.nodes.size())), source.Number(), source.Number(),
              Payload(source)};
  }
  if (source.Flag()) RepeatMembers(group.roster.members.own(), source.Below(kMostRepeats));
  group.root_rank = static_cast<int>(source.Below(group.roster.members.size()));
  return group;
}

rendezvous::KeyedAllGather MakeExchange(ValueSource& source) {
  rendezvous::KeyedAllGather exchange{source.Text(), source.Integer<uint64_t>(), {}};
  exchange.entries.resize(source.Below(kMostItems));
  for (auto& [rank, bytes] : exchange.entries) {
    rank = source.Number();
    bytes = Payload(source);
  }
  return exchange;
}

rendezvous::Failure MakeFailure(ValueSource& source) {
  Error error = MakeError(source);
  return {std::move(error), source.Number(),      source.Number(),
          source.Text(),    source.Below(2) == 1, static_cast<uint64_t>(source.Number())};
}

std::vector<int> Numbers(ValueSource& source) {
  std::vector<int> numbers(source.Below(kMostItems));
  for (int& number : numbers) number = source.Number();
  return numbers;
}

std::vector<rendezvous::RankReport> MakeReports(ValueSource& source, size_t ranks) {
  std::vector<rendezvous::RankReport> reports(ranks == 0 ? 0 : source.Below(kMostItems));
  for (rendezvous::RankReport& report : reports) {
    report.rank = static_cast<int>(source.Below(ranks));
    report.state = static_cast<rendezvous::RankState>(
        source.Below(static_cast<size_t>(rendezvous::RankState::kLeft) + 1));
    report.exit_status = source.Number();
    report.process = {source.Number(), static_cast<char>('A' + source.Below(26)), source.Integer<uint64_t>(),
                      source.Integer<uint64_t>(), source.Text()};
    report.operations.resize(source.Below(kMostItems));
    for (OperationState& operation : report.operations) {
      operation = {source.Integer<uint64_t>(),
                   source.Flag(),
                   source.Flag(),
                   source.Text(),
                   source.Integer<uint64_t>(),
                   source.Text(),
                   source.Integer<uint64_t>(),
                   Numbers(source)};
    }
    report.stack = source.Text();
  }
  return reports;
}

int RankBelow(ValueSource& source, size_t ranks) { return static_cast<int>(source.Below(ranks)); }
Duration Time(ValueSource& source) { return std::chrono::microseconds(source.Integer<uint32_t>()); }

std::vector<map::ItemTime> MakeItems(ValueSource& source, size_t ranks) {
  std::vector<map::ItemTime> items(source.Below(kMostItems));
  for (map::ItemTime& item : items)
    item = {source.Integer<uint64_t>(), source.Text(), RankBelow(source, ranks), Time(source)};
  return items;
}

std::vector<map::MapState> MakeMaps(ValueSource& source, size_t ranks) {
  std::vector<map::MapState> maps(ranks == 0 ? 0 : source.Below(3));
  for (map::MapState& map : maps) {
    map.number = source.Integer<uint32_t>();
    map.subject = source.Text();
    map.journal = source.Text();
    map.phase = static_cast<map::MapPhase>(source.Below(4));
    map.time_is_up = source.Flag();
    const uint64_t committed = source.Integer<uint16_t>();
    const uint64_t poisoned = source.Integer<uint16_t>();
    map.progress = {committed + poisoned + source.Byte(),
                    committed,
                    poisoned,
                    source.Integer<uint64_t>(),
                    source.Integer<uint64_t>(),
                    source.Integer<uint64_t>()};
    map.elapsed = Time(source);
    map.slowest = MakeItems(source, ranks);
    map.longest = MakeItems(source, ranks);
    map.failed = MakeItems(source, ranks);
    map.ranks.resize(source.Below(kMostItems));
    for (map::RankShare& share : map.ranks) {
      share = {RankBelow(source, ranks),
               source.Byte() + 1,
               source.Flag(),
               source.Integer<uint64_t>(),
               source.Integer<uint64_t>(),
               source.Integer<uint32_t>(),
               source.Integer<uint32_t>(),
               Time(source)};
    }
  }
  return maps;
}

rendezvous::GroupStatus MakeStatus(ValueSource& source) {
  rendezvous::GroupStatus status{source.Text(),
                                 source.Text(),
                                 source.Text(),
                                 source.Text(),
                                 source.Flag(),
                                 source.Number(),
                                 source.Number(),
                                 Texts(source),
                                 {},
                                 {}};
  status.nodes.push_back("gpu01");
  status.node_of_rank.resize(source.Below(kMostItems));
  for (int& node : status.node_of_rank) node = static_cast<int>(source.Below(status.nodes.size()));
  status.reports = MakeReports(source, status.node_of_rank.size());
  status.maps = MakeMaps(source, status.node_of_rank.size());
  return status;
}

Bytes EncodeToRoot(const rendezvous::RankMessage& message) {
  return muster::rendezvous::Encode(message, rendezvous::ControlType::kToRoot);
}

template <typename M>
void CheckValueOf(const M& message) {
  CheckValue<M>(message, rendezvous::Decode<M>, rendezvous::Encode<M>);
}
template <typename M>
void CheckFrameOf(ByteView frame) {
  CheckFrame<M>(frame, rendezvous::Decode<M>, rendezvous::Encode<M>);
}

void FuzzValues(rendezvous::ControlType type, ValueSource source) {
  switch (type) {
    case rendezvous::ControlType::kHello:
      return CheckValueOf<rendezvous::Hello>(MakeHello(source));
    case rendezvous::ControlType::kRoster:
      return CheckValueOf<rendezvous::FormedGroup>(MakeGroup(source));
    case rendezvous::ControlType::kFailure:
      return CheckValueOf<rendezvous::Failure>(MakeFailure(source));
    case rendezvous::ControlType::kKeyedAllGather:
    case rendezvous::ControlType::kKeyedAllGathered:
      return CheckValue<rendezvous::KeyedAllGather>(MakeExchange(source), rendezvous::Decode, Encode);
    case rendezvous::ControlType::kAdopted: {
      const rendezvous::Adoption adoption{MakeGroup(source), source.Number(), source.Number(), source.Text(),
                                          source.Text()};
      return CheckValueOf<rendezvous::Adoption>(adoption);
    }
    case rendezvous::ControlType::kSurvey: {
      const rendezvous::Survey survey{source.Integer<uint64_t>(), source.Integer<uint64_t>(),
                                      Numbers(source)};
      return CheckValueOf<rendezvous::Survey>(survey);
    }
    case rendezvous::ControlType::kSurveyed: {
      const rendezvous::Surveyed surveyed{source.Integer<uint64_t>(), source.Flag(), MakeReports(source, 100),
                                          MakeMaps(source, 100)};
      return CheckValueOf<rendezvous::Surveyed>(surveyed);
    }
    case rendezvous::ControlType::kGroupStatus:
      return CheckValueOf<rendezvous::GroupStatus>(MakeStatus(source));
    case rendezvous::ControlType::kOwnerAsked: {
      const rendezvous::OwnerQuestion question{source.Integer<uint64_t>(), source.Text(),
                                               source.Integer<uint16_t>(), source.Text(),
                                               source.Integer<uint16_t>(), source.Number()};
      return CheckValueOf<rendezvous::OwnerQuestion>(question);
    }
    case rendezvous::ControlType::kOwnerAnswered: {
      const rendezvous::OwnerAnswer answer{
          source.Integer<uint64_t>(), static_cast<rendezvous::OwnerKind>(source.Below(4)),
          source.Integer<uint32_t>(), source.Number(), source.Integer<uint32_t>()};
      return CheckValueOf<rendezvous::OwnerAnswer>(answer);
    }
    case rendezvous::ControlType::kToRoot: {
      const Bytes content = Payload(source);
      return CheckValue<rendezvous::RankMessage>({source.Number(), content}, rendezvous::Decode,
                                                 EncodeToRoot);
    }
    case rendezvous::ControlType::kRanksLost: {
      const std::vector<int> ranks = Numbers(source);
      return CheckValueOf<rendezvous::RanksLost>({ranks, source.Text(), source.Flag(), source.Number()});
    }
    case rendezvous::ControlType::kFailureDue: {
      const int rank = source.Number();
      return CheckValueOf<rendezvous::FailureDue>({rank, source.Integer<uint64_t>()});
    }
    default:
      Require(rendezvous::FromMilliseconds(source.Integer<uint64_t>()) >= Duration::zero(),
              "a time on the wire is none before now");
  }
}

void FuzzFrame(rendezvous::ControlType type, ByteView frame) {
  switch (type) {
    case rendezvous::ControlType::kHello:
      return CheckFrameOf<rendezvous::Hello>(frame);
    case rendezvous::ControlType::kAccepted:
      return CheckFrameOf<rendezvous::Acceptance>(frame);
    case rendezvous::ControlType::kJobEnd:
      return CheckFrameOf<rendezvous::JobEnd>(frame);
    case rendezvous::ControlType::kRoster:
      return CheckFrameOf<rendezvous::FormedGroup>(frame);
    case rendezvous::ControlType::kFailure:
      return CheckFrameOf<rendezvous::Failure>(frame);
    case rendezvous::ControlType::kKeyedAllGather:
    case rendezvous::ControlType::kKeyedAllGathered:
      return CheckFrame<rendezvous::KeyedAllGather>(frame, rendezvous::Decode, Encode);
    case rendezvous::ControlType::kLeave:
      return CheckFrameOf<rendezvous::RanksLeft>(frame);
    case rendezvous::ControlType::kAdopt:
      return CheckFrameOf<rendezvous::AdoptionRequest>(frame);
    case rendezvous::ControlType::kAdopted:
      return CheckFrameOf<rendezvous::Adoption>(frame);
    case rendezvous::ControlType::kSurvey:
      return CheckFrameOf<rendezvous::Survey>(frame);
    case rendezvous::ControlType::kSurveyed:
      return CheckFrameOf<rendezvous::Surveyed>(frame);
    case rendezvous::ControlType::kGroupStatus:
      return CheckFrameOf<rendezvous::GroupStatus>(frame);
    case rendezvous::ControlType::kOwnerAsked:
      return CheckFrameOf<rendezvous::OwnerQuestion>(frame);
    case rendezvous::ControlType::kToRoot:
    case rendezvous::ControlType::kToRank:
      return CheckFrame<rendezvous::RankMessage>(frame, rendezvous::Decode, EncodeToRoot);
    case rendezvous::ControlType::kTolerate:
      return CheckFrameOf<rendezvous::Tolerance>(frame);
    case rendezvous::ControlType::kRanksLost:
      return CheckFrameOf<rendezvous::RanksLost>(frame);
    case rendezvous::ControlType::kEnded:
      return CheckFrameOf<rendezvous::ExitReport>(frame);
    case rendezvous::ControlType::kOrphanReport:
      return CheckFrameOf<rendezvous::OrphanReport>(frame);
    case rendezvous::ControlType::kFailureDue:
      return CheckFrameOf<rendezvous::FailureDue>(frame);
    case rendezvous::ControlType::kVersions:
      return CheckFrame<rendezvous::Versions>(frame, rendezvous::DecodeVersions, muster::rendezvous::Encode);
    case rendezvous::ControlType::kOwnerAnswered:
      return CheckFrameOf<rendezvous::OwnerAnswer>(frame);
    default:
      Require(rendezvous::EncodeBare(type) == Bytes{static_cast<uint8_t>(type)}, "the others have no fields");
  }
}

void FuzzOne(ByteView input) {
  if (input.empty()) return;
  if (const auto type = rendezvous::ControlTypeOf(input)) FuzzFrame(*type, input);
  const auto value_type = static_cast<uint8_t>(input[0] - kFromValues);
  if (const auto type = rendezvous::ControlTypeOf({&value_type, 1}))
    FuzzValues(*type, ValueSource(input.subspan(1)));
}

// With runs, patterns and packed numbers in its columns.
rendezvous::FormedGroup RegularGroup() {
  rendezvous::FormedGroup group;
  for (int node = 0; node < 20; ++node) {
    group.roster.nodes.push_back({fmt::format("gpu{:02}", node), {fmt::format("10.1.2.{}", node)}});
    for (int local = 0; local < 4; ++local)
      group.roster.members.push_back({node, local, node * 7919 % 4000 + local, {}, node * 4 + local});
  }
  return group;
}

std::vector<Bytes> Seeds() {
  const rendezvous::Agreement agreement{4, "slurm", 0, "slurm:4.0:0", "socket", "timeouts.collective=1h\n"};
  const rendezvous::RankClaim claim{0, 0, 2, {1, 2, 3}};
  const rendezvous::RankClaim other{1, 1, 2, {}};
  rendezvous::FormedGroup group;
  group.roster = {"0123456789abcdef0123456789abcdef",
                  {{"gpu01", {"10.1.2.3"}}, {"gpu02", {}}},
                  {{0, 0, 7, {1}}, {1, 0, 8, {}}}};
  std::vector<Bytes> seeds = {
      muster::rendezvous::Encode(rendezvous::Hello{
          {"10.1.2.3", "fd00::1"}, {{"gpu01", 7, agreement, {claim}}, {"gpu01", 8, agreement, {other}}}}),
      muster::rendezvous::Encode(rendezvous::Hello{
          {}, {{"gpu01", 7, agreement, {claim}, Error{Code::kBadEnvironment, "RANK", "unset"}}}}),
      muster::rendezvous::Encode(group),
      muster::rendezvous::Encode(RegularGroup()),
      muster::rendezvous::Encode(
          rendezvous::Failure{{Code::kPeerLost, "rank 1 on gpu02 ended", "look"}, 1, 137, "Killed\n"}),
      muster::rendezvous::Encode(rendezvous::KeyedAllGather{"ports", 5000, {{0, {1, 2}}, {1, {}}}},
                                 rendezvous::ControlType::kKeyedAllGather),
      muster::rendezvous::Encode(rendezvous::KeyedAllGather{"ports", 5000, {{0, {1, 2}}}},
                                 rendezvous::ControlType::kKeyedAllGathered),
      muster::rendezvous::Encode(rendezvous::Acceptance{600000, {0, 1}, "gpu01", true}),
      muster::rendezvous::Encode(rendezvous::JobEnd{3600000}),
      muster::rendezvous::Encode(rendezvous::RanksLeft{{0, 1, 2}}),
      muster::rendezvous::Encode(rendezvous::AdoptionRequest{3}),
      muster::rendezvous::Encode(rendezvous::Adoption{group, 1, 2, "backend: socket\n", "slurm:4.0:0"}),
      muster::rendezvous::Encode(rendezvous::Survey{1, 2000, {3, 4}}),
      muster::rendezvous::Encode(rendezvous::Versions{2, 3, "0.2.0"}),
      muster::rendezvous::Encode(rendezvous::RanksLost{{1, 2}, "rank 1 on gpu02 ended", true}),
      muster::rendezvous::Encode(rendezvous::Tolerance{true}),
      muster::rendezvous::Encode(rendezvous::OwnerQuestion{7, "10.1.2.3", 40000, "fd00::1", 61000, 1}),
      muster::rendezvous::Encode(rendezvous::OwnerAnswer{7, rendezvous::OwnerKind::kProgram, 1000, 3, 2})};
  rendezvous::RankReport report;
  report.process = {7, 'S', 1000, 10, "ep_poll"};
  report.operations = {{1, true, true, "AllReduce", 42, "f32[8]", 31000, {0}}};
  seeds.push_back(muster::rendezvous::Encode(rendezvous::Surveyed{1, true, {report}}));
  seeds.push_back(muster::rendezvous::Encode(
      rendezvous::GroupStatus{"slurm:4.0:0", "01", "", "", true, 0, 0, {"gpu01"}, {0}, {report}}));
  map::MapState map;
  map.subject = "python eval.py";
  map.progress = {10, 3, 1, 0, 2, 0};
  map.slowest = {{3, "q3", 0, std::chrono::seconds(1)}};
  map.ranks = {{0, 1, false, 3, 1, 2, 1, std::chrono::seconds(2)}};
  seeds.push_back(muster::rendezvous::Encode(
      rendezvous::GroupStatus{"slurm:4.0:0", "01", "", "", true, 0, 0, {"gpu01"}, {0}, {report}, {map}}));
  for (uint8_t type = 1; type <= static_cast<uint8_t>(rendezvous::ControlType::kOwnerAnswered); ++type) {
    seeds.push_back(rendezvous::EncodeBare(static_cast<rendezvous::ControlType>(type)));
    Bytes values{static_cast<uint8_t>(kFromValues + type)};
    for (uint8_t i = 0; i < 100; ++i) values.push_back(static_cast<uint8_t>(i * 37 % 11));
    seeds.push_back(std::move(values));
  }
  return seeds;
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
