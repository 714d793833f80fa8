#include "bootstrap/report/map_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/comm/map/map_at_work.h"

namespace muster::report {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

std::string NodeOfRank(int rank) { return fmt::format("gpu{:02}", rank + 1); }

TEST(MapText, IsABlock) {
  EXPECT_EQ(
      MapText(map::MapAtWork(), NodeOfRank),
      "map \"python eval.py {model}\", journal /scratch/out/journal: at work for 10.0 s\n"
      "  items     118 of 400 done, 20 of them by earlier runs, 2 of them failed; 2 at work, 3 more in the "
      "ranks' batches\n"
      "  at work   number 117: 3.0 s (rank 1 on gpu02)\n"
      "  slowest   q7: 12.1 s (rank 1 on gpu02), q3: 400 ms (rank 0 on gpu01)\n"
      "  failed    q9: 20 ms (rank 0 on gpu01), number 9: <1 ms (rank 1 on gpu02)\n"
      "  busy      97 % of the time\n"
      "  lost      ranks 1\n");
}

TEST(MapText, OfThousandsOfRanksNamesTheLeastBusy) {
  map::MapState map = map::MapAtWork();
  map.ranks.clear();
  for (int rank = 0; rank < 2000; ++rank)
    map.ranks.push_back({rank, 1, false, 1, 0, 0, 0, milliseconds(rank == 1234 ? 500 : 9000 + rank % 1000)});
  const std::string text = MapText(map, NodeOfRank);
  EXPECT_THAT(text,
              HasSubstr("  busy      95 % of the time (median; 5 % to 100 %); least: rank 1234 on gpu1235 "
                        "5 %, rank 0 on gpu01 90 %, rank 1000 on gpu1001 90 %\n"));
  EXPECT_LT(text.size(), 800U);
}

TEST(MapText, OfANewMapIsShort) {
  map::MapState map;
  map.subject = "sums\nof " + std::string(100, 'x');
  EXPECT_EQ(MapText(map, NodeOfRank), "map \"sums of " + std::string(52, 'x') +
                                          "...\": its journal is not open yet\n"
                                          "  items     0 of 0 done\n");
}

TEST(MapText, CutsNoCharacter) {
  map::MapState map;
  for (int i = 0; i < 100; ++i) map.subject += "\xc3\xa9";
  map.subject = "x" + map.subject;
  EXPECT_THAT(MapText(map, NodeOfRank), HasSubstr("\xc3\xa9...\""));
  EXPECT_THAT(MapText(map, NodeOfRank), Not(HasSubstr("\xc3...")));
}

TEST(MapJson, HasWhyAnItemWasGivenUp) {
  map::MapState map = map::MapAtWork();
  map.failed[0].error = "ValueError: no \xff";
  const auto failed = json::parse(
      MapJson(map, NodeOfRank).dump(-1, ' ', false, json::error_handler_t::replace))["first_failed"];
  EXPECT_EQ(failed[0]["error"], "ValueError: no \xef\xbf\xbd");
  EXPECT_FALSE(failed[1].contains("error"));
}

TEST(MapJson, HasEverything) {
  EXPECT_EQ(json::parse(MapJson(map::MapAtWork(), NodeOfRank).dump()), json::parse(R"({
    "number": 1, "name": "python eval.py {model}", "journal": "/scratch/out/journal", "state": "at_work",
    "time_is_up": false, "seconds": 10.0, "items": 400, "committed": 116, "resumed": 20, "failed": 2,
    "left": 282, "granted": 5, "at_work": 2, "second_commits": 1,
    "slowest": [{"index": 6, "key": "q7", "rank": 1, "node": "gpu02", "seconds": 12.1},
                {"index": 2, "key": "q3", "rank": 0, "node": "gpu01", "seconds": 0.4}],
    "longest_at_work": [{"index": 117, "key": null, "rank": 1, "node": "gpu02", "seconds": 3.0}],
    "first_failed": [{"index": 8, "key": "q9", "rank": 0, "node": "gpu01", "seconds": 0.02},
                     {"index": 9, "key": null, "rank": 1, "node": "gpu02", "seconds": 0.0}],
    "utilisation": {"min": 0.97, "median": 0.97, "max": 0.97},
    "ranks": [{"rank": 0, "node": "gpu01", "lost": false, "slots": 1, "committed": 90, "failed_attempts": 2,
               "granted": 4, "at_work": 1, "busy_seconds": 9.7, "utilisation": 0.97},
              {"rank": 1, "node": "gpu02", "lost": true, "slots": 2, "committed": 6, "failed_attempts": 1,
               "granted": 1, "at_work": 1, "busy_seconds": 2.4, "utilisation": 0.12}]})"));
}

TEST(MapJson, OfANewMapHasNoTimes) {
  map::MapState map;
  map.ranks = {{}};
  const json object = json::parse(MapJson(map, NodeOfRank).dump());
  EXPECT_EQ(object["state"], "opening");
  EXPECT_EQ(object["journal"], nullptr);
  EXPECT_EQ(object["utilisation"], nullptr);
  EXPECT_EQ(object["ranks"][0]["utilisation"], nullptr);
}

}  // namespace
}  // namespace muster::report
