// rendezvous.protect: all, between ranks that are threads: the collectives work, nothing of the data is readable
// between the nodes, and a change of it there ends the group with both ranks named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/comm/socket/closed_port.h"
#include "tests/comm/socket/collective_checks.h"
#include "tests/comm/socket/man_in_the_middle.h"

namespace muster::socket {
namespace {

using testing::Each;
using Passing = ManInTheMiddle::Passing;

SocketOptions Options(Protect protect) {
  SocketOptions options = TestOptions();
  options.protect = protect;
  options.cause_grace = std::chrono::milliseconds(20);
  // Everything goes the way that the test has prepared.
  options.call_back_after = std::chrono::minutes(2);
  return options;
}

// Sparse: what the algorithms do is tested without.
TEST(Sealed, EveryOperationGivesWhatItGivesOtherwise) {
  for (const std::vector<int>& layout : {BlockLayout({3, 2}), CyclicLayout(4, 4)}) {
    FakeWorld world(layout, Options(Protect::kAll));
    Planner planner(17, world.size());
    for (const auto check :
         {CheckReductions, CheckReduceScatter, CheckBroadcastAndScatter, CheckGathers, CheckAllToAll}) {
      const Plan plan = planner.Next();
      SCOPED_TRACE(Describe(plan, world.size()));
      check(world, plan);
    }
    CheckBytesOfDifferentLength(world);
    CheckOneAfterTheOther(world);
    CheckLongData(world);
  }
}

TEST(Sealed, SendsReceivesAndSplits) {
  FakeWorld world(BlockLayout({1, 1}), Options(Protect::kAll));
  world.Run([](Communicator& c) {
    std::vector<double> data(100'000, c.rank() + 1);
    std::vector<double> got(data.size());
    const int other = 1 - c.rank();
    if (c.rank() == 0) {
      ASSERT_EQ(MessageOf(c.Send(HostBuffer(std::span(data)), other)), "");
      ASSERT_EQ(MessageOf(c.Recv(HostBuffer(std::span(got)), other)), "");
    } else {
      ASSERT_EQ(MessageOf(c.Recv(HostBuffer(std::span(got)), other)), "");
      ASSERT_EQ(MessageOf(c.Send(HostBuffer(std::span(data)), other)), "");
    }
    EXPECT_EQ(got, std::vector<double>(data.size(), other + 1));
    auto part = c.Split(0, 0);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(MessageOf((*part)->AllReduce(std::span(got), ReduceOp::kSum)), "");
    EXPECT_EQ(got.front(), 3);
  });
}

TEST(Sealed, APeerThatLeavesHasLeft) {
  FakeWorld world(BlockLayout({1, 1}), Options(Protect::kAll));
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
  world.Leave(1);
  EXPECT_EQ(MessageOf(world.at(0).Barrier()), "rank 1 on gpu02 left the group before Barrier #2");
}

enum class Connector { kHigher, kLower };

// Two ranks on two nodes; the data between rank 1 and rank 0 passes `filter`. kLower: rank 1 cannot connect to
// rank 0, which calls back.
class Wiretap {
 public:
  Wiretap(Protect protect, ManInTheMiddle::Filter filter, Connector connector = Connector::kHigher)
      : world_(MakeRoster(BlockLayout({1, 1})), Options(protect, connector),
               [this, connector, filter = std::move(filter)](int rank, EndpointAddress& address) {
                 if (rank == 0 && connector == Connector::kLower) address.port = closed_.number();
                 if (rank != static_cast<int>(connector == Connector::kLower)) return;
                 man_ = std::make_unique<ManInTheMiddle>(address.port, filter);
                 address.port = man_->port();
               }) {}

  FakeWorld& world() { return world_; }
  std::string Seen() const {
    const Bytes seen = man_->Seen();
    return std::string(AsText(seen));
  }

 private:
  static SocketOptions Options(Protect protect, Connector connector) {
    SocketOptions options = socket::Options(protect);
    if (connector == Connector::kLower) options.call_back_after = std::chrono::milliseconds(1);
    options.called_back_within = std::chrono::minutes(1);
    return options;
  }

  const ClosedPort closed_;
  std::unique_ptr<ManInTheMiddle> man_;
  FakeWorld world_;
};

Status AllReduceFloats(Communicator& c, std::vector<float>* result = nullptr) {
  std::vector<float> data(1000, 1);
  Status status = c.AllReduce(std::span(data), ReduceOp::kSum);
  if (result != nullptr) *result = data;
  return status;
}

std::vector<uint8_t> Repeated(std::string_view pattern) {
  std::vector<uint8_t> data(100'000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(pattern[i % pattern.size()]);
  return data;
}

class Readable : public testing::TestWithParam<std::tuple<Protect, Connector>> {};
INSTANTIATE_TEST_SUITE_P(PlainAndSealed, Readable,
                         testing::Combine(testing::Values(Protect::kControl, Protect::kAll),
                                          testing::Values(Connector::kHigher, Connector::kLower)));

TEST_P(Readable, BetweenTheNodesIsOnlyWhatIsPlain) {
  constexpr std::string_view kPattern = "the quick brown fox jumps over the lazy dog";
  constexpr std::string_view kPartPattern = "pack my box with five dozen liquor jugs";
  const auto [protect, connector] = GetParam();
  Wiretap tap(
      protect, [](Passing&, Bytes&) {}, connector);
  tap.world().Run([&](Communicator& c) {
    std::vector<uint8_t> data = Repeated(kPattern);
    EXPECT_EQ(MessageOf(c.Broadcast(std::span(data), 0)), "");
    EXPECT_EQ(MessageOf(c.BroadcastBytes(data, 1)), "");
    EXPECT_EQ(MessageOf(c.rank() == 0 ? c.Send(HostBuffer(std::span(data)), 1)
                                      : c.Recv(HostBuffer(std::span(data)), 0)),
              "");
    const auto part = c.Split(0, 0);
    ASSERT_TRUE(part);
    data = Repeated(kPartPattern);
    EXPECT_EQ(MessageOf((*part)->Broadcast(std::span(data), 1)), "");
  });
  const std::string seen = tap.Seen();
  EXPECT_GT(seen.size(), 400'000U);
  const bool readable = protect == Protect::kControl;
  for (const std::string_view words : {kPattern, kPartPattern, std::string_view("MUS1")})
    EXPECT_EQ(seen.find(words) != std::string::npos, readable) << words;
}

TEST(Sealed, AByteThatIsChangedEndsTheGroupWithBothRanks) {
  for (const bool up : {true, false}) {
    // Header, its tag, payload, its tag.
    for (const uint64_t behind : {7UL, 50UL, 60UL + 18, 60UL + 4000 + 3}) {
      Wiretap tap(Protect::kAll, Flip(up, behind));
      EXPECT_THAT(
          tap.world().Messages([](Communicator& c) { return AllReduceFloats(c); }),
          testing::Contains(up ? "what rank 1 on gpu02 sent to rank 0 on gpu01 in AllReduce #1 f32[1000] "
                                 "was changed on the way: its authentication tag is wrong"
                               : "what rank 0 on gpu01 sent to rank 1 on gpu02 in AllReduce #1 f32[1000] "
                                 "was changed on the way: its authentication tag is wrong"))
          << up << " " << behind;
      ASSERT_TRUE(tap.world().state().failure());
      EXPECT_EQ(tap.world().state().failure()->code, Code::kAuthentication);
    }
  }
}

// The condition of the test before: the byte is one of the data.
TEST(Plain, AByteThatIsChangedIsAnotherResult) {
  Wiretap tap(Protect::kControl, Flip(/*up=*/true, 44 + 18));
  tap.world().Run([](Communicator& c) {
    std::vector<float> result;
    EXPECT_EQ(MessageOf(AllReduceFloats(c, &result)), "");
    const auto wrong = std::ranges::count_if(result, [](float value) { return value != 2; });
    EXPECT_EQ(wrong, c.rank() == 0 ? 1 : 0);
  });
}

// Byte strings may be taken for programs (pickles), so that they are authentic whether sealed or not.
TEST(Plain, ABytesStringThatIsChangedIsNeverGiven) {
  const std::string text = "the pickle of rank ";
  const auto mine = [&](const Communicator& c) { return text + std::to_string(c.rank()); };
  struct Case {
    const char* name;
    std::function<Status(Communicator&)> call;
    const char* message;
  };
  const Case cases[] = {
      {"broadcast",
       [&](Communicator& c) -> Status {
         MUSTER_TRY(const Bytes got, c.BroadcastBytes(AsBytes(mine(c)), 0));
         EXPECT_EQ(AsText(got), text + "0");
         return {};
       },
       "what rank 0 on gpu01 sent to rank 1 on gpu02 in BroadcastBytes #1 was changed on the way: it is not "
       "authentic"},
      {"gather",
       [&](Communicator& c) -> Status {
         MUSTER_TRY(const auto got, c.GatherBytes(AsBytes(mine(c)), 0));
         EXPECT_TRUE(got.empty() || AsText(got[1]) == text + "1");
         return {};
       },
       "what rank 1 on gpu02 sent to rank 0 on gpu01 in GatherBytes #1 was changed on the way: it is not "
       "authentic"},
      {"all gather",
       [&](Communicator& c) -> Status {
         MUSTER_TRY(const auto got, c.AllGatherBytes(AsBytes(mine(c))));
         EXPECT_EQ(AsText(got[1]), text + "1");
         return {};
       },
       "what rank 1 on gpu02 sent to rank 0 on gpu01 in AllGatherBytes #1 was changed on the way: it is not "
       "authentic"}};
  for (const Case& c : cases) {
    Wiretap honest(Protect::kControl, [](Passing&, Bytes&) {});
    EXPECT_THAT(honest.world().Messages(c.call), Each("")) << c.name;
    EXPECT_THAT(honest.Seen(), testing::HasSubstr(text)) << "it is not sealed";
    for (const bool last : {false, true}) {
      Wiretap tap(Protect::kControl, [&](Passing&, Bytes& bytes) {
        const size_t at = AsText(bytes).find(text);
        // A letter, or the last byte of what shows that it is authentic.
        if (at != std::string::npos) bytes[at + (last ? text.size() + sizeof(auth::Digest) : 4)] ^= 1;
      });
      std::vector<std::string> messages = tap.world().Messages(c.call);
      // A rank that only gives may have done so and gone on.
      EXPECT_THAT(messages, testing::Contains(c.message)) << c.name << last;
      ASSERT_TRUE(tap.world().state().failure()) << c.name;
      EXPECT_EQ(tap.world().state().failure()->code, Code::kAuthentication) << c.name;
    }
  }
}

TEST(Plain, ABytesStringOfAnotherCallIsNotTaken) {
  Bytes first;
  Wiretap tap(Protect::kControl, [&](Passing& passing, Bytes& bytes) {
    // The first broadcast is put in the place of the next one, of the same length.
    const size_t at = AsText(bytes).find("pickle ");
    if (passing.up || at == std::string::npos) return;
    const size_t size = 8 + sizeof(auth::Digest);
    ASSERT_GE(bytes.size(), at + size);
    if (first.empty()) {
      first.assign(bytes.begin() + static_cast<ptrdiff_t>(at),
                   bytes.begin() + static_cast<ptrdiff_t>(at + size));
    } else {
      std::ranges::copy(first, bytes.begin() + static_cast<ptrdiff_t>(at));
    }
  });
  EXPECT_THAT(
      tap.world().Messages([](Communicator& c) -> Status {
        MUSTER_TRY(const Bytes one, c.BroadcastBytes(AsBytes("pickle 1"), 0));
        EXPECT_EQ(AsText(one), "pickle 1");
        MUSTER_CHECK(c.Barrier());  // so that the two do not pass together
        MUSTER_TRY(const Bytes two, c.BroadcastBytes(AsBytes("pickle 2"), 0));
        EXPECT_EQ(AsText(two), "pickle 2");
        return {};
      }),
      testing::Contains("what rank 0 on gpu01 sent to rank 1 on gpu02 in BroadcastBytes #3 was changed on "
                        "the way: it is not authentic"));
}

TEST(Sealed, AByteLeftOutOrPutInIsNoticed) {
  for (const bool put_in : {true, false}) {
    Wiretap tap(Protect::kAll, [&, done = false](Passing& passing, Bytes& bytes) mutable {
      const uint64_t at = DataBegins(true) + 100;
      if (done || !passing.up || at < passing.offset || at >= passing.offset + bytes.size()) return;
      done = true;
      const auto where = bytes.begin() + static_cast<ptrdiff_t>(at - passing.offset);
      put_in ? bytes.insert(where, uint8_t{0}) : bytes.erase(where);
    });
    // The one that is short of a byte may only learn it from the next message.
    const std::vector<std::string> messages = tap.world().Messages([](Communicator& c) -> Status {
      MUSTER_CHECK(AllReduceFloats(c));
      return AllReduceFloats(c);
    });
    EXPECT_THAT(messages, testing::Contains(testing::HasSubstr("its authentication tag is wrong"))) << put_in;
    EXPECT_EQ(tap.world().state().failure()->code, Code::kAuthentication);
  }
}

TEST(Sealed, ACutConnectionIsALostPeerAndNoGoodbye) {
  Wiretap tap(Protect::kAll, [](Passing& passing, Bytes& bytes) {
    passing.cut = passing.offset + bytes.size() > DataBegins(passing.up);
  });
  EXPECT_THAT(tap.world().Messages([](Communicator& c) -> Status {
    MUSTER_CHECK(AllReduceFloats(c));
    return AllReduceFloats(c);
  }),
              testing::Contains(testing::HasSubstr(" closed its connection during AllReduce #")));
  EXPECT_EQ(tap.world().state().failure()->code, Code::kPeerLost);
}

TEST(Sealed, AChangedHandshakeGivesNoConnection) {
  Wiretap tap(Protect::kAll, [](Passing& passing, Bytes& bytes) {
    // AES taken out of the offer; without AES, ChaCha20 is.
    if (passing.up && passing.offset == 0 && bytes.size() > 21) bytes[21] = bytes[21] == 3 ? 1 : 0;
  });
  EXPECT_THAT(
      tap.world().Messages([](Communicator& c) { return c.Barrier({.timeout = std::chrono::seconds(2)}); }),
      Each(testing::HasSubstr("rank ")));
  EXPECT_TRUE(tap.world().state().failure());
}

}  // namespace
}  // namespace muster::socket
