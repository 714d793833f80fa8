#include "comm/rendezvous/liveness/exchange_tracker.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

const Roster kFourRanks{
    "", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}, {1, 1, 4, {}}}};

KeyedAllGather Part(int rank, Bytes bytes) { return {"x", 1000, {{rank, std::move(bytes)}}}; }

TEST(ExchangeTracker, AnExchangeIsCompleteWithItsLastPart) {
  ExchangeTracker exchanges(kFourRanks);
  EXPECT_TRUE(exchanges.IsUnknown("x"));
  EXPECT_EQ(exchanges.Contribute(Part(3, {3})), std::nullopt);
  EXPECT_FALSE(exchanges.IsUnknown("x"));
  EXPECT_EQ(exchanges.Contribute({"x", 0, {{1, {1}}, {0, {}}}}), std::nullopt);
  const auto whole = exchanges.Contribute(Part(2, {2}));
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, (KeyedAllGather{"x", 0, {{0, {}}, {1, {1}}, {2, {2}}, {3, {3}}}}));
}

TEST(ExchangeTracker, ALateCopyStartsNothing) {
  ExchangeTracker exchanges(kFourRanks);
  for (int rank = 0; rank < 4; ++rank) exchanges.Contribute(Part(rank, {}));
  EXPECT_EQ(exchanges.Contribute(Part(0, {1})), std::nullopt);
  EXPECT_FALSE(exchanges.IsUnknown("x"));
  EXPECT_EQ(exchanges.GiveUp("x", std::chrono::seconds(1)), std::nullopt);
}

TEST(ExchangeTracker, TheFirstOfTwoPartsCounts) {
  ExchangeTracker exchanges(kFourRanks);
  exchanges.Contribute(Part(0, {1}));
  exchanges.Contribute(Part(0, {2}));
  exchanges.Contribute(Part(-1, {}));
  exchanges.Contribute(Part(4, {}));
  exchanges.Contribute(Part(1, {}));
  exchanges.Contribute(Part(2, {}));
  const auto whole = exchanges.Contribute(Part(3, {}));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->entries.front().second, Bytes{1});
  EXPECT_EQ(whole->entries.size(), 4u);
}

TEST(ExchangeTracker, GivingUpNamesWhoIsMissing) {
  ExchangeTracker exchanges(kFourRanks);
  EXPECT_EQ(exchanges.GiveUp("x", std::chrono::seconds(1)), std::nullopt);
  exchanges.Contribute(Part(1, {}));
  const auto failure = exchanges.GiveUp("x", std::chrono::seconds(90));
  ASSERT_TRUE(failure);
  EXPECT_EQ(*failure,
            (Failure{{Code::kDeadline,
                      "the exchange \"x\" was not complete after 1m30s: ranks 0 on gpu01, 2,3 on gpu02 "
                      "did not take part",
                      ""},
                     0,
                     -1,
                     ""}));
}

TEST(ExchangeTracker, AnExchangeThatWaitsForARankThatHasLeftIsHopeless) {
  ExchangeTracker exchanges(kFourRanks);
  EXPECT_EQ(exchanges.FindHopeless({2}), std::nullopt);
  KeyedAllGather part{"program 0/data endpoints", 1000, {{1, {}}}};
  exchanges.Contribute(part);
  const auto failure = exchanges.FindHopeless({2});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.code, Code::kPeerLost);
  EXPECT_EQ(failure->error.message, "rank 2 on gpu02 ended before it took part in \"data endpoints\"");
  EXPECT_EQ(failure->rank, 2);
}

}  // namespace
}  // namespace muster::rendezvous
