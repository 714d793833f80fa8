#include "bootstrap/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/base/parse.h"
#include "comm/log/log_json.h"
#include "tests/bootstrap/run/records.h"

namespace muster::report {
namespace {

using std::chrono::milliseconds;

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(Summary, TellsTheWholeStory) {
  EXPECT_EQ(
      SummaryText(run::FailedRun()),
      "the run failed after 12.3 s: rank 9 on gpu03 failed: exit 3\n"
      "  the last lines of rank 9 on gpu03:\n"
      "    Traceback (most recent call last):\n"
      "      File \"x.py\", line 3\n"
      "    RuntimeError: <boom>\n"
      "  ended because of it: ranks 0-5,7,8,10-13,15 by SIGTERM; rank 6 on gpu02 by SIGKILL, after run.grace "
      "(10s)\n"
      "  ended with 0: rank 14 on gpu04\n"
      "  resolve 3 ms, rendezvous 307 ms, run 22.0 s");
}

TEST(Summary, NamesThoseWhoFailedByThemselves) {
  RunRecord record = run::FailedRun();
  for (const int rank : {10, 11, 12}) {
    record.ranks[static_cast<size_t>(rank)].end =
        run::EndedBy(rank, rendezvous::EndCause::kItself, 1, 0, milliseconds(1));
  }
  record.ranks[3].end = run::EndedBy(3, rendezvous::EndCause::kItself, 0, SIGSEGV, milliseconds(1));
  EXPECT_THAT(
      SummaryText(record),
      HasSubstr("\n  also failed: ranks 10-12 (exit 1), rank 3 on gpu01 (signal 11 (Segmentation fault))\n"));
}

TEST(Summary, SaysOfWhomNothingIsKnown) {
  RunRecord record = run::FailedRun();
  for (const size_t rank : {0U, 1U, 10U}) record.ranks[rank].end.reset();
  EXPECT_THAT(SummaryText(record), HasSubstr("\n  nothing is known of the end of ranks 0,1,10\n"));
  // The ranks that were lost with the first failure's node are named there.
  record.failure->exit_status = -1;
  record.ranks[9].end.reset();
  EXPECT_THAT(SummaryText(record), HasSubstr("\n  nothing is known of the end of ranks 0,1\n"));
}

TEST(Summary, NamesTheLastToArriveWhereItMatters) {
  RunRecord record = run::FailedRun();
  record.ranks[5].arrived = seconds(2);
  record.formed = milliseconds(2003);
  record.initialized = milliseconds(2503);
  const std::string text = SummaryText(record);
  EXPECT_THAT(text,
              HasSubstr("\n  resolve 3 ms, rendezvous 2.0 s (first rank 0 on gpu01 at 3 ms, last rank 5 on "
                        "gpu02 at 2.0 s), init 500 ms, run 19.8 s\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  last to arrive: rank 5 on gpu02 at 2.0 s, rank 15 on gpu04 at 87 ms, rank 14"));
  EXPECT_THAT(text, Not(HasSubstr("rank 5 on gpu02 at 2.0 s, rank 5 on gpu02")));
}

TEST(Summary, OfTwoThousandRanksHasShortLines) {
  RunRecord record = run::GoodRun(2048, 8, seconds(5));
  record.failure = rendezvous::Failure{{Code::kPeerLost, "rank 9 on gpu02 failed: exit 3", ""}, 9, 3, ""};
  for (int rank = 0; rank < 2048; ++rank) {
    record.ranks[static_cast<size_t>(rank)].end =
        run::EndedBy(rank, rank % 2 == 0 ? rendezvous::EndCause::kTerminated : rendezvous::EndCause::kKilled,
                     0, 9, milliseconds(1));
  }
  const std::string text = SummaryText(record);
  for (const std::string_view line : Split(text, '\n')) EXPECT_LT(line.size(), 500U) << line;
  EXPECT_THAT(
      text,
      HasSubstr("ranks 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 and 1008 more by SIGTERM; ranks 1,3,"));
}

TEST(Summary, IsFieldsForMonitors) {
  EXPECT_THAT(LogLineAsJson({}, "error", "summary", {}, "x", SummaryFields(run::FailedRun())),
              EndsWith(R"("fields":{"code":"peer_lost","exit_status":3,"failed_after":12.31,"first_rank":9,)"
                       R"("first_node":"gpu03","ok":"14","failed":"9","terminated":"0-5,7,8,10-13,15",)"
                       R"("killed":"6","resolve":0.003,"rendezvous":0.307,"run":22.0}})"));
  EXPECT_THAT(LogLineAsJson({}, "error", "summary", {}, "x", SummaryFields(run::NeverFormed())),
              EndsWith(R"("fields":{"code":"deadline","exit_status":75,"failed_after":20.0,"missing":"8-11",)"
                       R"("not_started":"0-7,12-15","resolve":0.003}})"));
}

TEST(FormatSpan, IsShort) {
  EXPECT_EQ(FormatSpan({}), "<1 ms");
  EXPECT_EQ(FormatSpan(milliseconds(310)), "310 ms");
  EXPECT_EQ(FormatSpan(milliseconds(12420)), "12.4 s");
  EXPECT_EQ(FormatSpan(minutes(16) + seconds(40)), "16m40s");
  EXPECT_EQ(FormatSpan(hours(2) + minutes(5) + seconds(59)), "2h05m");
}

}  // namespace
}  // namespace muster::report
