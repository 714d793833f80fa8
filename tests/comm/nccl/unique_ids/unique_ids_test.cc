#include "comm/nccl/unique_ids/unique_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "tests/comm/base/print_error.h"
#include "tests/comm/nccl/computing_nccl.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::nccl {
namespace {

using testing::ElementsAre;

TEST(NcclIdOwners, OneUpTo128Ranks) {
  EXPECT_THAT(NcclIdOwners(1, true), ElementsAre(0));
  EXPECT_THAT(NcclIdOwners(128, true), ElementsAre(0));
}

TEST(NcclIdOwners, OneWhereTheLibraryTakesOnlyOne) { EXPECT_THAT(NcclIdOwners(4096, false), ElementsAre(0)); }

TEST(NcclIdOwners, MoreAbove) {
  EXPECT_THAT(NcclIdOwners(129, true), ElementsAre(0, 65));
  EXPECT_THAT(NcclIdOwners(256, true), ElementsAre(0, 128));
  EXPECT_THAT(NcclIdOwners(260, true), ElementsAre(0, 87, 174));
  EXPECT_EQ(NcclIdOwners(100'000, true).size(), 782u);
}

// Which id a rank meets at, as NCCL reckons.
int IdOfRank(int rank, int ranks, int ids) {
  const int least = ranks / ids;
  const int larger = ranks % ids;
  const int in_larger = larger * (least + 1);
  return rank < in_larger ? rank / (least + 1) : (rank - in_larger) / least + larger;
}

TEST(NcclIdOwners, EachIsTheFirstRankThatMeetsAtItsId) {
  for (int ranks = 129; ranks < 1500; ++ranks) {
    const std::vector<int> owners = NcclIdOwners(ranks, true);
    const int ids = static_cast<int>(owners.size());
    for (int id = 0; id < ids; ++id) {
      const int owner = owners[static_cast<size_t>(id)];
      ASSERT_EQ(IdOfRank(owner, ranks, ids), id) << ranks;
      ASSERT_TRUE(owner == 0 || IdOfRank(owner - 1, ranks, ids) == id - 1) << ranks;
    }
    ASSERT_EQ(IdOfRank(ranks - 1, ranks, ids), ids - 1);
  }
}

NcclId SomeId() {
  NcclId id = {};
  for (size_t i = 0; i < id.size(); ++i) id.at(i) = static_cast<uint8_t>(i + 1);
  return id;
}

Result<NcclIdPart> Decode(ByteView bytes) { return DecodeFields<NcclIdPart>(bytes, "NCCL id"); }

TEST(IdPart, IsReadBack) {
  for (const NcclIdPart& part :
       {NcclIdPart{{2, 32, 3}, 500, {}, ""}, NcclIdPart{{2, 18, 0}, 0, SomeId(), ""},
        NcclIdPart{{2, 32, 3}, 0xffffffff, {}, "unhandled system error: no interface"}}) {
    const auto read = Decode(EncodeFields(part));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, part);
  }
}

TEST(IdPart, LooksAsDocumented) {
  EXPECT_EQ(EncodeFields(NcclIdPart{{2, 32, 3}, 500, {}, ""}), (Bytes{2, 0, 32, 0, 3, 0, 0xf4, 1, 0, 0, 0}));
  EXPECT_EQ(EncodeFields(NcclIdPart{{2, 32, 3}, 500, {}, "no"}),
            (Bytes{2, 0, 32, 0, 3, 0, 0xf4, 1, 0, 0, 2, 2, 0, 0, 0, 'n', 'o'}));
  const Bytes drawn = EncodeFields(NcclIdPart{{2, 32, 3}, 500, SomeId(), ""});
  ASSERT_EQ(drawn.size(), 11u + 128u);
  EXPECT_EQ(drawn[10], 1);
  EXPECT_EQ(drawn[11], 1);
  EXPECT_EQ(drawn.back(), 128);
}

TEST(IdPart, AnythingElseIsRefused) {
  Bytes cut = EncodeFields(NcclIdPart{{2, 32, 3}, 500, SomeId(), ""});
  cut.pop_back();
  Bytes long_one = EncodeFields(NcclIdPart{{2, 32, 3}, 500, SomeId(), ""});
  long_one.push_back(0);
  for (const Bytes& bytes : {Bytes{}, Bytes{2, 0, 32, 0, 3, 0}, Bytes{2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 3},
                             Bytes{2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0}, cut}) {
    const auto part = Decode(bytes);
    ASSERT_FALSE(part) << bytes.size();
    EXPECT_EQ(part.error(), (Error{Code::kInternal, "malformed NCCL id: it ends too early", ""}));
  }
  for (const Bytes& bytes : {Bytes{2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 0, 0}, long_one}) {
    const auto part = Decode(bytes);
    ASSERT_FALSE(part) << bytes.size();
    EXPECT_EQ(part.error(), (Error{Code::kInternal, "malformed NCCL id: 1 bytes too many", ""}));
  }
}

using Ids = Result<NcclTerms>;
using MakeNccl = std::function<std::unique_ptr<NcclApi>(int rank)>;

Deadline AMinute() { return Deadline::After(std::chrono::minutes(1)); }

std::unique_ptr<NcclApi> WithVersion(NcclVersion version) {
  auto nccl = std::make_unique<ComputingNccl>(std::make_shared<FakeFabric>());
  nccl->claimed = version;
  return nccl;
}
std::unique_ptr<NcclApi> Usual(int) { return WithVersion({2, 32, 3}); }

// The ids of each of these ranks, four on a node. Ranks in `instead` send these bytes, and have none.
std::vector<Ids> ExchangeAmong(int ranks, const MakeNccl& make, const std::map<int, Bytes>& instead = {},
                               const std::function<Deadline(int rank)>& deadline_of = nullptr) {
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < ranks; ++rank) node_of_rank.push_back(rank / 4);
  socket::FakeGroupState state(socket::MakeRoster(node_of_rank));
  std::vector<Ids> got(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      socket::FakeGroup group(state, rank);
      if (const auto bytes = instead.find(rank); bytes != instead.end()) {
        EXPECT_TRUE(group.KeyedAllGather("ids", bytes->second, AMinute()));
        return;
      }
      const std::unique_ptr<NcclApi> nccl = make(rank);
      got[static_cast<size_t>(rank)] =
          ExchangeNcclIds(group, *nccl, "ids", deadline_of ? deadline_of(rank) : AMinute());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto bad = instead.rbegin(); bad != instead.rend(); ++bad) got.erase(got.begin() + bad->first);
  return got;
}

void ExpectEverywhere(const std::vector<Ids>& got, const Error& error) {
  for (const Ids& ids : got) {
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error(), error);
  }
}

TEST(ExchangeNcclIds, OneForAFewRanks) {
  const std::vector<Ids> got = ExchangeAmong(6, Usual);
  for (const Ids& ids : got) {
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(ids->ids.size(), 1u);
    EXPECT_EQ(ids->ids, got.front()->ids);
  }
}

TEST(ExchangeNcclIds, SeveralForMany) {
  const std::vector<Ids> got = ExchangeAmong(260, Usual);
  for (const Ids& ids : got) {
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(ids->ids, got.front()->ids);
    EXPECT_EQ(std::set<NcclId>(ids->ids.begin(), ids->ids.end()).size(), 3u);
  }
}

TEST(ExchangeNcclIds, OneForManyWhereTheLibraryIsOlder) {
  const std::vector<Ids> got = ExchangeAmong(130, [](int) { return WithVersion({2, 20, 5}); });
  for (const Ids& ids : got) {
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(ids->ids.size(), 1u);
  }
}

TEST(ExchangeNcclIds, AllWaitAsLongAsTheRankWithTheLeastTimeLeft) {
  const Deadline soon = AMinute();
  const std::vector<Ids> got = ExchangeAmong(3, Usual, {}, [&](int rank) {
    if (rank == 2) return Deadline::Never();
    return rank == 1 ? soon : Deadline::After(std::chrono::hours(1));
  });
  EXPECT_LE(got[1]->deadline.when(), soon.when());
  for (const Ids& ids : got) EXPECT_LE(ids->deadline.when(), soon.when() + std::chrono::minutes(5));
}

TEST(ExchangeNcclIds, ForEverWhereNobodyHasADeadline) {
  for (const Ids& ids : ExchangeAmong(2, Usual, {}, [](int) { return Deadline::Never(); })) {
    EXPECT_TRUE(ids->deadline.IsNever());
  }
}

TEST(ExchangeNcclIds, DifferentVersionsAreNamedOnEveryRank) {
  const std::vector<Ids> got = ExchangeAmong(6, [](int rank) {
    return rank == 5 ? WithVersion({2, 28, 9}) : Usual(rank);
  });
  ExpectEverywhere(got,
                   {Code::kDisagreement, "rank 0 on gpu01 has NCCL 2.32.3, rank 5 on gpu02 has NCCL 2.28.9",
                    "install the same version on all nodes, or name its folder with NCCL_HOME"});
}

TEST(ExchangeNcclIds, WhoCannotDrawTellsAll) {
  const std::vector<Ids> got = ExchangeAmong(3, [](int rank) {
    const auto fabric = std::make_shared<FakeFabric>();
    if (rank == 0) fabric->draws_no_id[0] = "no socket interface found";
    return std::make_unique<ComputingNccl>(fabric);
  });
  ExpectEverywhere(got, {Code::kSystem,
                         "rank 0 on gpu01 could not draw an id of NCCL: unhandled system error: no socket "
                         "interface found",
                         ""});
}

TEST(ExchangeNcclIds, WhoSendsNonsenseIsNamed) {
  Bytes cut = EncodeFields(NcclIdPart{{2, 32, 3}, 60'000, {}, ""});
  cut.pop_back();
  ExpectEverywhere(ExchangeAmong(3, Usual, {{2, cut}}),
                   {Code::kDisagreement, "rank 2 on gpu01 sent a malformed NCCL id: it ends too early", ""});
}

TEST(ExchangeNcclIds, WhoDoesNotDrawIsNamed) {
  const Bytes without = {2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 0};
  ExpectEverywhere(ExchangeAmong(3, Usual, {{0, without}}),
                   {Code::kSystem, "rank 0 on gpu01 could not draw an id of NCCL: it did not try", ""});
}

}  // namespace
}  // namespace muster::nccl
