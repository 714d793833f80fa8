#include "deploy/examples/share.h"

#include <gtest/gtest.h>

namespace muster::examples {
namespace {

const Roster kRoster = {"", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}}};
const std::vector<uint8_t> kTwo = {7, 8};
const std::vector<uint8_t> kOne = {9};

Error ErrorOf(const std::vector<Bytes>& parts) {
  const Result<Assembled> all = AssembleShares(kRoster, 3, parts);
  return all ? Error{Code::kInternal, "assembled", ""} : all.error();
}

TEST(AssembleShares, PutsTheRowsInOrder) {
  const Result<Assembled> all =
      AssembleShares(kRoster, 3, {EncodeShare(0, kTwo), EncodeShare(2, kOne), EncodeShare(3, {})});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->predictions, (std::vector<uint8_t>{7, 8, 9}));
  EXPECT_EQ(all->shares, (std::vector<RowRange>{{0, 2}, {2, 3}, {3, 3}}));
}

TEST(AssembleShares, NamesTheRankThatDidOtherRows) {
  EXPECT_EQ(
      ErrorOf({EncodeShare(0, kTwo), EncodeShare(2, {}), EncodeShare(1, kOne)}),
      (Error{Code::kDisagreement, "rank 2 on gpu02 evaluated from row 1 on where row 2 was its first", ""}));
}

TEST(AssembleShares, CountsTheRows) {
  EXPECT_EQ(ErrorOf({EncodeShare(0, kTwo), EncodeShare(2, {}), EncodeShare(2, {})}),
            (Error{Code::kDisagreement, "3 ranks sent 2 predictions for 3 rows", ""}));
  EXPECT_EQ(ErrorOf({EncodeShare(0, kTwo), EncodeShare(2, kTwo), EncodeShare(4, {})}),
            (Error{Code::kDisagreement, "3 ranks sent 4 predictions for 3 rows", ""}));
}

TEST(AssembleShares, NamesTheRankWhoseBytesAreNoShare) {
  const Bytes good = EncodeShare(0, kTwo);
  for (size_t length = 0; length < good.size(); ++length) {
    const Error error = ErrorOf({good, Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(length))});
    EXPECT_EQ(error.code, Code::kInternal) << length;
    EXPECT_EQ(error.message, "malformed predictions of rank 1 on gpu01: it ends too early") << length;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(ErrorOf({longer}).message, "malformed predictions of rank 0 on gpu01: 1 bytes too many");
}

}  // namespace
}  // namespace muster::examples
