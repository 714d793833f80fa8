#include "comm/rendezvous/messages/messages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <random>

#include "comm/base/wire.h"
#include "tests/comm/rendezvous/members.h"

namespace {

// The largest block that was asked for; to see that no code allocates the count of a stranger.
size_t largest_allocation = 0;

}  // namespace

void* operator new(size_t size) {
  largest_allocation = std::max(largest_allocation, size);
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace muster::rendezvous {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

Hello ExampleHello() {
  ProcessInfo first = PartyOf(0, "gpu01", 4, 0, 2);
  first.claims[0].payload = {1, 2, 3};
  ProcessInfo second = PartyOf(1, "gpu01", 4, 1, 2);
  second.claims.push_back({2, -1, -1, {}});
  ProcessInfo other_node = PartyOf(3, "gpu02", 4);
  other_node.agreement.configuration = "timeouts.rendezvous=5s\n";
  ProcessInfo refused = PartyOf(2, "gpu02", 4);
  refused.agreement = other_node.agreement;
  refused.refused = Error{Code::kConfiguration, "rank 2 on gpu02 was refused", "look there"};
  return HelloOf({first, second, other_node, refused}, {"10.1.2.3", "fd00::1"});
}

FormedGroup ExampleGroup() {
  FormedGroup group;
  group.key.fill(7);
  group.root_rank = 1;
  group.roster.group_id = "0123456789abcdef0123456789abcdef";
  group.roster.nodes = {{"gpu01", {"10.1.2.3", "fd00::1"}}, {"gpu02", {}}};
  group.roster.members = {{0, 0, 11, {9}}, {1, 0, 12, {}}};
  return group;
}

const Failure kFailure{
    {Code::kConfiguration, "rank 1 on gpu02 failed", "look there"}, 1, 137, "Traceback\nkilled", true, 4711};
const Acceptance kAcceptance{12345, {2, 3}, "gpu02", true};
const KeyedAllGather kKeyedAllGather{"addresses", 60000, {{0, {1, 2}}, {1, {}}}};
const Adoption kAdoption{ExampleGroup(), 1, 2, "log: {level: info}\n", "slurm:4.0:0"};

template <typename T>
void ExpectReadsBack(const Bytes& frame, ControlType type, Result<T> (*decode)(ByteView), const T& value) {
  ASSERT_TRUE(ControlTypeOf(frame));
  EXPECT_EQ(*ControlTypeOf(frame), type);
  const Result<T> decoded = decode(frame);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, value);
}

TEST(Messages, ReadBackAsTheyWere) {
  ExpectReadsBack(Encode(ExampleHello()), ControlType::kHello, Decode<Hello>, ExampleHello());
  ExpectReadsBack(Encode(Hello{}), ControlType::kHello, Decode<Hello>, Hello{});
  ExpectReadsBack(Encode(ExampleGroup()), ControlType::kRoster, Decode<FormedGroup>, ExampleGroup());
  ExpectReadsBack(Encode(kFailure), ControlType::kFailure, Decode<Failure>, kFailure);
  ExpectReadsBack(Encode(kKeyedAllGather, ControlType::kKeyedAllGather), ControlType::kKeyedAllGather,
                  Decode<KeyedAllGather>, kKeyedAllGather);
  ExpectReadsBack(Encode(kKeyedAllGather, ControlType::kKeyedAllGathered), ControlType::kKeyedAllGathered,
                  Decode<KeyedAllGather>, kKeyedAllGather);
  ExpectReadsBack(Encode(kAcceptance), ControlType::kAccepted, Decode<Acceptance>, kAcceptance);
  ExpectReadsBack(Encode(JobEnd{12345}), ControlType::kJobEnd, Decode<JobEnd>, JobEnd{12345});
  ExpectReadsBack(Encode(RanksLeft{{3, 4}}), ControlType::kLeave, Decode<RanksLeft>, RanksLeft{{3, 4}});
  ExpectReadsBack(Encode(AdoptionRequest{5}), ControlType::kAdopt, Decode<AdoptionRequest>,
                  AdoptionRequest{5});
  ExpectReadsBack(Encode(kAdoption), ControlType::kAdopted, Decode<Adoption>, kAdoption);
}

TEST(Messages, ANodesPartiesShareWhatIsTheSame) {
  ProcessInfo first = PartyOf(0, "gpu01", 2);
  first.agreement.configuration = std::string(1000, 'x');
  ProcessInfo second = first;
  second.claims[0].rank = 1;
  EXPECT_LT(Encode(HelloOf({first, second})).size(), Encode(HelloOf({first})).size() + 100);
  EXPECT_EQ(*Decode<Hello>(Encode(HelloOf({first, second}))), HelloOf({first, second}));
}

TEST(Messages, TheTypeIsTheFirstByte) {
  for (int value = 0; value < 256; ++value) {
    const Bytes frame = {static_cast<uint8_t>(value)};
    EXPECT_EQ(ControlTypeOf(frame).has_value(), value >= 1 && value <= 30) << value;
  }
  EXPECT_FALSE(ControlTypeOf({}));
  EXPECT_EQ(EncodeBare(ControlType::kHeartbeat), Bytes{13});
  EXPECT_EQ(ControlTypeOf(EncodeBare(ControlType::kAdopted)), ControlType::kAdopted);
}

struct Sample {
  const char* what;
  Bytes frame;
  std::function<Status(ByteView)> decode;
};
template <typename T>
std::function<Status(ByteView)> Decoder(Result<T> (*decode)(ByteView)) {
  return [decode](ByteView frame) -> Status {
    MUSTER_CHECK(decode(frame));
    return {};
  };
}

std::vector<Sample> Samples() {
  return {
      {"hello", Encode(ExampleHello()), Decoder(Decode<Hello>)},
      {"roster", Encode(ExampleGroup()), Decoder(Decode<FormedGroup>)},
      {"failure", Encode(kFailure), Decoder(Decode<Failure>)},
      {"exchange", Encode(kKeyedAllGather, ControlType::kKeyedAllGather), Decoder(Decode<KeyedAllGather>)},
      {"acceptance", Encode(kAcceptance), Decoder(Decode<Acceptance>)},
      {"end of the job", Encode(JobEnd{1}), Decoder(Decode<JobEnd>)},
      {"leave message", Encode(RanksLeft{{3, 4}}), Decoder(Decode<RanksLeft>)},
      {"adoption request", Encode(AdoptionRequest{5}), Decoder(Decode<AdoptionRequest>)},
      {"adoption", Encode(kAdoption), Decoder(Decode<Adoption>)}};
}

TEST(Messages, CutShortAtAnyByteTheyAreMalformed) {
  for (const Sample& sample : Samples()) {
    for (size_t length = 0; length < sample.frame.size(); ++length) {
      const Status decoded = sample.decode(ByteView(sample.frame).first(length));
      ASSERT_FALSE(decoded) << sample.what << " of " << length << " bytes";
      EXPECT_EQ(decoded.error(),
                (Error{Code::kInternal, fmt::format("malformed {}: it ends too early", sample.what), ""}));
    }
  }
}

TEST(Messages, WithAByteTooManyTheyAreMalformed) {
  for (Sample& sample : Samples()) {
    sample.frame.push_back(0);
    const Status decoded = sample.decode(sample.frame);
    ASSERT_FALSE(decoded) << sample.what;
    EXPECT_EQ(decoded.error().message, fmt::format("malformed {}: 1 bytes too many", sample.what));
  }
}

TEST(Messages, NoDamageBreaksTheDecoder) {
  std::mt19937 random(20240229);
  for (const Sample& sample : Samples()) {
    for (int round = 0; round < 3000; ++round) {
      Bytes frame = sample.frame;
      for (int changes = 0; changes < 1 + round % 4; ++changes) {
        frame[random() % frame.size()] = static_cast<uint8_t>(random());
      }
      frame.resize(frame.size() - random() % 3);
      largest_allocation = 0;
      [[maybe_unused]] const Status decoded = sample.decode(frame);
      EXPECT_LT(largest_allocation, 64u * 1024) << sample.what;
    }
    for (int round = 0; round < 1000; ++round) {
      Bytes noise(random() % 64);
      for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
      [[maybe_unused]] const Status decoded = sample.decode(noise);
    }
  }
}

TEST(Messages, ACountThatLiesAllocatesNothing) {
  for (const Sample& sample : Samples()) {
    // Each 4 bytes in turn become "four billion".
    for (size_t at = 1; at + 4 <= sample.frame.size(); ++at) {
      Bytes frame = sample.frame;
      std::fill_n(frame.begin() + static_cast<ptrdiff_t>(at), 4, 0xff);
      largest_allocation = 0;
      [[maybe_unused]] const Status decoded = sample.decode(frame);
      EXPECT_LT(largest_allocation, 64u * 1024) << sample.what << " at byte " << at;
    }
  }
}

TEST(Messages, AMemberOnNoNodeIsMalformed) {
  for (const int node : {-1, 2}) {
    FormedGroup group = ExampleGroup();
    group.roster.members.own()[1].node = node;
    EXPECT_FALSE(Decode<FormedGroup>(Encode(group))) << node;
  }
}

TEST(Messages, ARootThatIsNoMemberIsMalformed) {
  for (const int rank : {-1, 2}) {
    FormedGroup group = ExampleGroup();
    group.root_rank = rank;
    EXPECT_FALSE(Decode<FormedGroup>(Encode(group))) << rank;
  }
}

TEST(Messages, AFailureOfNoKnownCodeIsMalformed) {
  Bytes frame = Encode(kFailure);
  EXPECT_EQ(frame[1], 9);
  frame[1] = 11;
  EXPECT_FALSE(Decode<Failure>(frame));
}

TEST(Messages, TheFirstPartyCannotBeLikeTheOneBefore) {
  for (const uint8_t flag : {uint8_t{1}, uint8_t{2}}) {
    WireWriter writer;
    writer.U8(static_cast<uint8_t>(ControlType::kHello));
    writer.U32(0);
    writer.U32(1);
    writer.U8(flag);
    writer.I32(11);
    writer.U32(0);
    EXPECT_FALSE(Decode<Hello>(writer.bytes())) << int{flag};
  }
}

TEST(WireTime, SurvivesEveryLength) {
  EXPECT_EQ(MillisecondsLeft(Deadline::After(-hours(1))), 0u);
  const uint64_t hour = MillisecondsLeft(Deadline::After(hours(1)));
  EXPECT_LE(FromMilliseconds(hour), hours(1));
  EXPECT_GT(FromMilliseconds(hour), hours(1) - std::chrono::minutes(1));
  EXPECT_EQ(FromMilliseconds(250), milliseconds(250));
  // However long: adding to it must not wrap.
  for (const uint64_t most :
       {MillisecondsLeft(Deadline::Never()), std::numeric_limits<uint64_t>::max(), uint64_t{1} << 63}) {
    EXPECT_EQ(FromMilliseconds(most), hours(24 * 365 * 200));
    EXPECT_GT(FromMilliseconds(most) + hours(24 * 365), hours(24 * 365 * 200));
  }
}

}  // namespace
}  // namespace muster::rendezvous
