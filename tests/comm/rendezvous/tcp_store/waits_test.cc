#include "comm/rendezvous/tcp_store/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct WaitsTest : testing::Test {
  void Add(ClientId client, std::vector<std::string_view> keys) { EXPECT_TRUE(waits.Add(client, keys)); }
  std::vector<ClientId> Satisfied(std::string_view key) {
    std::vector<ClientId> woken;
    waits.Satisfy(key, woken);
    return woken;
  }
  std::vector<ClientId> SatisfiedOne(std::string_view key) {
    std::vector<ClientId> woken;
    waits.Satisfy(key, woken, /*only_one=*/true);
    return woken;
  }

  Budget memory{"these waits", 2000};
  Waits waits{memory};
};

TEST_F(WaitsTest, AKeyWakesAllThatWaitForItFirstComeFirst) {
  Add(3, {"a"});
  Add(1, {"a"});
  Add(2, {"b"});
  EXPECT_THAT(Satisfied("c"), IsEmpty());
  EXPECT_THAT(Satisfied("a"), ElementsAre(3, 1));
  EXPECT_THAT(Satisfied("a"), IsEmpty());
  EXPECT_THAT(Satisfied("b"), ElementsAre(2));
  EXPECT_EQ(waits.clients(), 0u);
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(WaitsTest, WhoWaitsForSeveralIsWokenByTheLast) {
  Add(1, {"a", "b", "a"});
  EXPECT_THAT(Satisfied("a"), IsEmpty());
  EXPECT_THAT(Satisfied("a"), IsEmpty());
  EXPECT_THAT(Satisfied("b"), ElementsAre(1));
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(WaitsTest, OneThingWakesOne) {
  Add(1, {"q", "other"});
  Add(2, {"q"});
  Add(3, {"q"});
  EXPECT_THAT(SatisfiedOne("q"), ElementsAre(2));
  EXPECT_THAT(SatisfiedOne("q"), ElementsAre(3));
  EXPECT_THAT(SatisfiedOne("q"), IsEmpty());
  EXPECT_THAT(Satisfied("other"), ElementsAre(1));
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(WaitsTest, WhoHasGoneIsNotWoken) {
  Add(1, {"a", "b"});
  Add(2, {"a"});
  waits.Remove(1);
  waits.Remove(1);
  waits.Remove(7);
  EXPECT_THAT(Satisfied("b"), IsEmpty());
  EXPECT_THAT(Satisfied("a"), ElementsAre(2));
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(WaitsTest, WhoHasGoneHalfWokenLeavesNothingBehind) {
  Add(1, {"a", "b"});
  EXPECT_THAT(Satisfied("a"), IsEmpty());
  waits.Remove(1);
  EXPECT_EQ(waits.clients(), 0u);
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(WaitsTest, ANewWaitTakesThePlaceOfTheOld) {
  Add(1, {"a"});
  Add(1, {"b"});
  EXPECT_THAT(Satisfied("a"), IsEmpty());
  EXPECT_THAT(Satisfied("b"), ElementsAre(1));
}

TEST_F(WaitsTest, WhatDoesNotFitIsNoWait) {
  Add(1, {"a"});
  const uint64_t before = memory.taken();
  const std::vector<std::string> names = {"k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"};
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const Status added = waits.Add(2, keys);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kDisagreement);
  EXPECT_THAT(added.error().message,
              testing::MatchesRegex(
                  "these waits hold [0-9]+ bytes; [0-9]+ more would be beyond their limit of 2000"));
  EXPECT_EQ(waits.clients(), 1u);
  EXPECT_EQ(memory.taken(), before);
}

}  // namespace
}  // namespace muster::tcp_store
