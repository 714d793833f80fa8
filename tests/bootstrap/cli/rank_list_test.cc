#include "bootstrap/cli/rank_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::cli {
namespace {

using testing::ElementsAre;

TEST(ParseRankList, TakesNumbersAndRanges) {
  EXPECT_THAT(*ParseRankList("5", "--ranks"), ElementsAre(5));
  EXPECT_THAT(*ParseRankList("7,0-2,1", "--ranks"), ElementsAre(0, 1, 2, 7));
}

TEST(ParseRankList, RefusesAnythingElse) {
  for (const char* text : {"", "a", "1,", "2-1", "-1", "1-", "0-4096", "0-2147483647"}) {
    EXPECT_EQ(ParseRankList(text, "--ranks").error(),
              (Error{Code::kUsage, fmt::format("--ranks \"{}\" is not a list of ranks", text),
                     "write it as 0-3,7; at most 4096 ranks"}));
  }
}

}  // namespace
}  // namespace muster::cli
