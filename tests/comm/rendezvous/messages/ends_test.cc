#include "comm/rendezvous/messages/ends.h"

#include <gtest/gtest.h>

#include "comm/rendezvous/messages/messages.h"
#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

using std::chrono::microseconds;

const Ends kEnds{
    {{5, EndCause::kKilled, OutOfMemory::kOwn, 0, 9, microseconds(1), microseconds(2), std::chrono::hours(3)},
     {6, EndCause::kItself, OutOfMemory::kNo, 3, 0, {}, {}, microseconds(7)}},
    true};

TEST(Ends, ComeBackAsTheyWere) {
  const Bytes frame = Encode(kEnds);
  EXPECT_EQ(ControlTypeOf(frame), ControlType::kEnded);
  const Result<Ends> again = DecodeEnds(frame);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, kEnds);
  EXPECT_EQ(*DecodeEnds(Encode(Ends{})), Ends{});
}

TEST(Ends, AreToldToTheMicrosecond) {
  Ends ends = kEnds;
  ends.ends[0].run = std::chrono::nanoseconds(1234567);
  ends.ends[1].run = std::chrono::nanoseconds(-5);
  const Result<Ends> again = DecodeEnds(Encode(ends));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ends[0].run, microseconds(1234));
  EXPECT_EQ(again->ends[1].run, Duration{});
}

TEST(Ends, NoPartOfThemIsAWhole) {
  const Bytes frame = Encode(kEnds);
  for (size_t size = 1; size < frame.size(); ++size) {
    EXPECT_FALSE(DecodeEnds(ByteView(frame).first(size))) << size;
  }
  Bytes longer = frame;
  longer.push_back(0);
  EXPECT_FALSE(DecodeEnds(longer));
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
  const Result<Ends> decoded = DecodeEnds(frame);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kInternal);
  EXPECT_TRUE(decoded.error().message.starts_with("malformed ends")) << decoded.error().message;
}

TEST(Ends, ATimeBeyondAllClocksIsTheLongest) {
  Bytes frame = Encode(Ends{{kEnds.ends[1]}, false});
  for (size_t i = frame.size() - 8; i < frame.size(); ++i) frame[i] = 0xff;
  const Result<Ends> decoded = DecodeEnds(frame);
  ASSERT_TRUE(decoded);
  EXPECT_GT(decoded->ends[0].run, std::chrono::hours(24 * 365 * 200));
}

}  // namespace
}  // namespace muster
