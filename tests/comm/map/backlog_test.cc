#include "comm/map/backlog.h"

#include <gtest/gtest.h>

namespace muster::map {
namespace {

using std::chrono::seconds;

JournalRecord RecordOf(size_t bytes) {
  JournalRecord record;
  record.payload = Bytes(bytes);
  return record;
}

TEST(Backlog, IsFullBeyondItsLimit) {
  Backlog backlog;
  const Clock::time_point now = Clock::now();
  const uint64_t bytes = backlog.Add(RecordOf(Backlog::kMostBytes / 2), now);
  EXPECT_GT(bytes, Backlog::kMostBytes / 2);
  EXPECT_FALSE(backlog.full());
  EXPECT_EQ(backlog.Add(RecordOf(Backlog::kMostBytes / 2), now), bytes);
  EXPECT_TRUE(backlog.full());
  EXPECT_EQ(backlog.records(), 2U);
  backlog.Remove(bytes, now);
  EXPECT_FALSE(backlog.full());
  EXPECT_EQ(backlog.records(), 1U);
}

TEST(Backlog, SmallRecordsFillItAsWell) {
  Backlog backlog;
  uint64_t records = 0;
  for (; !backlog.full() && records < Backlog::kMostBytes; ++records)
    backlog.Add(RecordOf(0), Clock::time_point{});
  EXPECT_LE(records, Backlog::kMostBytes / 256);
}

TEST(Backlog, IsReportedEveryThirtySecondsWithoutAnAnswer) {
  Backlog backlog;
  const Clock::time_point begin = Clock::now();
  EXPECT_EQ(backlog.TakeReport(begin + seconds(100)), std::nullopt) << "nothing waits";
  const uint64_t bytes = backlog.Add(RecordOf(1), begin);
  backlog.Add(RecordOf(1), begin + seconds(20));
  EXPECT_EQ(backlog.TakeReport(begin + seconds(29)), std::nullopt);
  EXPECT_EQ(backlog.TakeReport(begin + seconds(31)), Duration(seconds(31)));
  EXPECT_EQ(backlog.TakeReport(begin + seconds(32)), std::nullopt);
  EXPECT_EQ(backlog.TakeReport(begin + seconds(61)), Duration(seconds(61)));
  backlog.Remove(bytes, begin + seconds(70));
  EXPECT_EQ(backlog.TakeReport(begin + seconds(99)), std::nullopt) << "it answers";
  EXPECT_EQ(backlog.TakeReport(begin + seconds(100)), Duration(seconds(30)));
  backlog.Remove(bytes, begin + seconds(101));
  EXPECT_EQ(backlog.TakeReport(begin + seconds(500)), std::nullopt);
}

}  // namespace
}  // namespace muster::map
