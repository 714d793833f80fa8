#include "comm/nccl/unique_ids/id_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::nccl
