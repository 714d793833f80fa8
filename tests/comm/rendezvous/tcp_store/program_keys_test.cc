#include "comm/rendezvous/tcp_store/program_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/tcp_store/fields.h"
#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGroupKey = "/default_pg/0//cpu//0/0";

class Client {
 public:
  Client(ProgramKeys& keys, ClientId id, int rank) : view_(keys, id, rank) {}

  Bytes Ask(const Request& request) {
    Bytes answer;
    EXPECT_TRUE(view_.Apply(request, answer, woken));
    return answer;
  }
  void Set(const char* key) { Ask({Operation::kSet, {key, "v"}}); }
  bool Has(const char* key) { return Ask({Operation::kCheck, {key}}) == Bytes{kReady}; }
  int64_t Count() {
    const Bytes answer = Ask({Operation::kNumKeys, {}});
    return answer.empty() ? -1 : answer.front();
  }

  std::vector<ClientId> woken;

 private:
  ClientView view_;
};

class ProgramKeysTest : public testing::Test {
 protected:
  Client& Connect(int rank) {
    return *clients.emplace_back(std::make_unique<Client>(keys, clients.size(), rank));
  }

  Budget memory{"these keys", 100000};
  ProgramKeys keys{{}, memory, 2};
  std::vector<std::unique_ptr<Client>> clients;
};

TEST_F(ProgramKeysTest, ANewRoundHasNoneOfTheFormersProcessGroupKeys) {
  for (int round = 0; round < 3; ++round) {
    auto zero = std::make_unique<Client>(keys, 1, 0);
    auto one = std::make_unique<Client>(keys, 2, 1);
    EXPECT_FALSE(one->Has(kGroupKey)) << round;
    zero->Set(kGroupKey);
    EXPECT_TRUE(one->Has(kGroupKey)) << round;
    zero.reset();
    EXPECT_TRUE(one->Has(kGroupKey)) << "the others may still need it";
  }
  EXPECT_EQ(keys.keys(), 2u) << "of the latest two rounds";
}

TEST_F(ProgramKeysTest, AFastRankDoesNotSeeWhatASlowOneStillReads) {
  auto fast = std::make_unique<Client>(keys, 1, 0);
  Client& slow = Connect(1);
  fast->Set(kGroupKey);
  EXPECT_TRUE(slow.Has(kGroupKey));
  fast = std::make_unique<Client>(keys, 2, 0);
  EXPECT_FALSE(fast->Has(kGroupKey));
  EXPECT_TRUE(slow.Has(kGroupKey));
}

TEST_F(ProgramKeysTest, AllOtherKeysStay) {
  for (int round = 0; round < 3; ++round) {
    Client zero(keys, 1, 0);
    Client one(keys, 2, 1);
    EXPECT_EQ(zero.Has("/mine"), round > 0);
    zero.Set("/mine");
    zero.Set(kGroupKey);
    EXPECT_TRUE(one.Has("/mine"));
    EXPECT_TRUE(one.Has(kGroupKey));
  }
}

// A rank that publishes something over a connection of its own, or checks whether the store answers.
TEST_F(ProgramKeysTest, AConnectionWithoutAProcessGroupIsNoRound) {
  { Client(keys, 1, 0).Set("/mine"); }
  { Client(keys, 1, 1).Has("/mine"); }
  { Client(keys, 1, 0).Set("/mine"); }
  Client& zero = Connect(0);
  zero.Set(kGroupKey);
  EXPECT_TRUE(Connect(1).Has(kGroupKey));
  Connect(0);
  EXPECT_TRUE(Connect(1).Has("/mine"));
}

TEST_F(ProgramKeysTest, CountAndListAreThoseThatTheClientSees) {
  {
    Client zero(keys, 1, 0);
    Client one(keys, 2, 1);
    zero.Set(kGroupKey);
    zero.Set("/mine");
    EXPECT_EQ(zero.Count(), 2);
    one.Has(kGroupKey);
    EXPECT_EQ(one.Count(), 2);
    EXPECT_EQ(Connect(0).Count(), 2) << "a second connection that has named no key";
  }
  Client& zero = Connect(0);
  zero.Set("/default_pg/x");
  EXPECT_EQ(zero.Count(), 2);
  Bytes expected;
  PutInteger<int64_t>(2, expected);
  PutText("/mine", expected);
  PutText("/default_pg/x", expected);
  EXPECT_EQ(zero.Ask({Operation::kListKeys, {}}), expected);
}

TEST_F(ProgramKeysTest, WaitsEndAndAreCanceledInTheirRound) {
  Client& zero = Connect(0);
  Client& one = Connect(1);
  EXPECT_THAT(one.Ask({Operation::kWait, {kGroupKey}}), IsEmpty());
  EXPECT_EQ(one.Ask({Operation::kCancelWait, {}}), Bytes{kWaitCanceled});
  zero.Set(kGroupKey);
  EXPECT_THAT(zero.woken, IsEmpty());
  EXPECT_THAT(one.Ask({Operation::kWait, {"/default_pg/other"}}), IsEmpty());
  zero.Set("/default_pg/other");
  EXPECT_THAT(zero.woken, ElementsAre(1u));
}

TEST_F(ProgramKeysTest, WithoutRanksNoKeyIsSpecial) {
  ProgramKeys plain({}, memory, 0);
  { Client(plain, 1, -1).Set(kGroupKey); }
  Client other(plain, 2, -1);
  EXPECT_TRUE(other.Has(kGroupKey));
  EXPECT_EQ(other.Count(), 1);
}

TEST_F(ProgramKeysTest, MemoryIsGivenBack) {
  {
    ProgramKeys program({}, memory, 1);
    for (int round = 0; round < 5; ++round) {
      Client client(program, 1, 0);
      client.Set(kGroupKey);
      client.Set("/mine");
    }
    EXPECT_GT(memory.taken(), 0u);
  }
  EXPECT_EQ(memory.taken(), 0u);
}

}  // namespace
}  // namespace muster::tcp_store
