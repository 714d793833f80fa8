#include "comm/rendezvous/messages/exit_report.h"

#include <gtest/gtest.h>

#include "comm/rendezvous/messages/messages.h"
#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

using std::chrono::microseconds;

const ExitReport kEnds{
    {{5, EndCause::kKilled, OutOfMemory::kOwn, 0, 9, microseconds(1), microseconds(2), std::chrono::hours(3)},
     {6, EndCause::kItself, OutOfMemory::kNo, 3, 0, {}, {}, microseconds(7)}},
    true};

TEST(ExitReport, ComeBackAsTheyWere) {
  const Bytes frame = Encode(kEnds);
  EXPECT_EQ(ControlTypeOf(frame), ControlType::kEnded);
  const Result<ExitReport> again = Decode<ExitReport>(frame);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, kEnds);
  EXPECT_EQ(*Decode<ExitReport>(Encode(ExitReport{})), ExitReport{});
}

TEST(OrphanReport, ComesBackAsItWas) {
  const OrphanReport report{"0123456789abcdef", kEnds.ends};
  const Bytes frame = Encode(report);
  EXPECT_EQ(ControlTypeOf(frame), ControlType::kOrphanReport);
  const Result<OrphanReport> again = Decode<OrphanReport>(frame);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, report);
  for (size_t size = 1; size < frame.size(); ++size)
    EXPECT_FALSE(Decode<OrphanReport>(ByteView(frame).first(size))) << size;
}

TEST(ExitReport, AreToldToTheMicrosecond) {
  ExitReport ends = kEnds;
  ends.ends[0].run = std::chrono::nanoseconds(1234567);
  ends.ends[1].run = std::chrono::nanoseconds(-5);
  const Result<ExitReport> again = Decode<ExitReport>(Encode(ends));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ends[0].run, microseconds(1234));
  EXPECT_EQ(again->ends[1].run, Duration{});
}

TEST(ExitReport, NoPartOfThemIsAWhole) {
  const Bytes frame = Encode(kEnds);
  for (size_t size = 1; size < frame.size(); ++size) {
    EXPECT_FALSE(Decode<ExitReport>(ByteView(frame).first(size))) << size;
  }
  Bytes longer = frame;
  longer.push_back(0);
  EXPECT_FALSE(Decode<ExitReport>(longer));
}

struct Broken {
  const char* what;
  size_t at;
  uint8_t value;
};

class BrokenEnds : public testing::TestWithParam<Broken> {};

// type, last, count, then rank, cause, memory, ...
INSTANTIATE_TEST_SUITE_P(All, BrokenEnds,
                         testing::Values(Broken{"last", 1, 2}, Broken{"count", 5, 0xff},
                                         Broken{"cause", 10, 4}, Broken{"memory", 11, 3}),
                         [](const auto& given) { return given.param.what; });

TEST_P(BrokenEnds, AreRefused) {
  Bytes frame = Encode(kEnds);
  frame[GetParam().at] = GetParam().value;
  const Result<ExitReport> decoded = Decode<ExitReport>(frame);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kInternal);
  EXPECT_TRUE(decoded.error().message.starts_with("malformed ends")) << decoded.error().message;
}

TEST(ExitReport, ATimeBeyondAllClocksIsTheLongest) {
  Bytes frame = Encode(ExitReport{{kEnds.ends[1]}, false});
  for (size_t i = frame.size() - 8; i < frame.size(); ++i) frame[i] = 0xff;
  const Result<ExitReport> decoded = Decode<ExitReport>(frame);
  ASSERT_TRUE(decoded);
  EXPECT_GT(decoded->ends[0].run, std::chrono::hours(24 * 365 * 200));
}

}  // namespace
}  // namespace muster::rendezvous
