#include "comm/rendezvous/tcp_store/rounds.h"

#include <gtest/gtest.h>

namespace muster::tcp_store {
namespace {

TEST(ProcessGroupKey, IsToldByItsPrefix) {
  EXPECT_TRUE(IsProcessGroupKey("/default_pg/0//cpu//0/1"));
  EXPECT_TRUE(IsProcessGroupKey("/default_pg/"));
  EXPECT_TRUE(IsProcessGroupKey("//worker/attempt_0/default_pg/0//cuda//0"));
  EXPECT_TRUE(IsProcessGroupKey("//worker/attempt_12/default_pg/x"));
}

TEST(ProcessGroupKey, AllOthersAreTheUsers) {
  for (const char* key :
       {"", "/", "init/", "/default_pg", "default_pg/0", "/mine/default_pg/0", "/rpc_prefix_0/x",
        "//worker/attempt_0", "//worker/attempt_", "//worker/attempt_0/mine", "/torchelastic/x"}) {
    EXPECT_FALSE(IsProcessGroupKey(key)) << key;
  }
}

TEST(Rounds, AllRanksCountAlike) {
  Rounds rounds(3);
  for (Round round = 0; round < 4; ++round) {
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(rounds.Enter(rank), round);
    for (int rank = 0; rank < 3; ++rank) rounds.Leave(rank);
  }
}

// The others still read what it has written.
TEST(Rounds, AFastRankIsOneAhead) {
  Rounds rounds(3);
  for (int rank = 0; rank < 3; ++rank) rounds.Enter(rank);
  rounds.Leave(1);
  EXPECT_EQ(rounds.Enter(1), 1u);
  EXPECT_EQ(rounds.Enter(0), 0u) << "a second connection of a rank that has not left";
  EXPECT_EQ(rounds.Of(0), 0u);
  EXPECT_EQ(rounds.Of(1), 1u);
  rounds.Leave(0);
  rounds.Leave(2);
  EXPECT_EQ(rounds.Enter(2), 1u);
  EXPECT_EQ(rounds.Enter(0), 0u) << "its first connection is open";
  rounds.Leave(0);
  rounds.Leave(0);
  EXPECT_EQ(rounds.Enter(0), 1u);
}

TEST(Rounds, ARankStaysAsLongAsOneConnectionIsOpen) {
  Rounds rounds(1);
  rounds.Enter(0);
  rounds.Enter(0);
  rounds.Leave(0);
  EXPECT_EQ(rounds.Enter(0), 0u);
  rounds.Leave(0);
  rounds.Leave(0);
  EXPECT_EQ(rounds.Enter(0), 1u);
}

// It may try again and again, with pauses, before the others come and while they wait: they look for it in the first round.
TEST(Rounds, NobodyLeavesARoundBeforeAllHaveMet) {
  Rounds rounds(2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_EQ(rounds.Enter(0), 0u);
    rounds.Leave(0);
  }
  EXPECT_EQ(rounds.Enter(1), 0u);
  EXPECT_EQ(rounds.Enter(0), 0u) << "rank 1 has come in a pause of rank 0, and waits";
  rounds.Leave(0);
  EXPECT_EQ(rounds.Enter(0), 1u);
  rounds.Leave(0);
  EXPECT_EQ(rounds.Enter(0), 1u) << "rank 1 is in round 0";
  rounds.Leave(1);
  EXPECT_EQ(rounds.Enter(1), 1u);
}

TEST(Rounds, WhoIsNoRankSeesTheLatest) {
  Rounds rounds(1);
  EXPECT_EQ(rounds.Enter(-1), 0u);
  rounds.Leave(-1);
  EXPECT_EQ(rounds.Enter(7), 0u);
  EXPECT_EQ(rounds.Enter(0), 0u);
  rounds.Leave(0);
  EXPECT_EQ(rounds.Enter(0), 1u);
  EXPECT_EQ(rounds.Enter(-1), 1u);
  EXPECT_EQ(rounds.Of(-1), 1u);
}

}  // namespace
}  // namespace muster::tcp_store
