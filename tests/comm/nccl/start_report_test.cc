#include "comm/nccl/start_report.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

Roster TwoNodes() {
  return {"id", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}, {1, 1, 4, {}}}};
}

TEST(StartReport, TravelsUnchanged) {
  for (const StartReport& report : {StartReport{true, ""}, StartReport{false, "no route to host"}}) {
    EXPECT_EQ(DecodeStartReport(EncodeStartReport(report)), report);
  }
}

TEST(StartReport, OfManyWordsIsCut) {
  const StartReport report{false, std::string(5000, 'x')};
  EXPECT_EQ(DecodeStartReport(EncodeStartReport(report))->last_words, std::string(1024, 'x'));
}

TEST(StartReport, IsReadStrictly) {
  const Bytes good = EncodeStartReport({true, "a"});
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(DecodeStartReport(ByteView(good).first(length)).error().message,
              "malformed NCCL start: it ends too early");
  }
  Bytes bad = good;
  bad[0] = 2;
  EXPECT_FALSE(DecodeStartReport(bad));
  bad = good;
  bad.push_back(0);
  EXPECT_FALSE(DecodeStartReport(bad));
}

TEST(JudgeStart, IsSuccessWhereAllAreThrough) {
  EXPECT_TRUE(JudgeStart(TwoNodes(), std::vector<StartReport>(4, {true, ""}), std::chrono::minutes(10)));
}

TEST(JudgeStart, NamesWhoIsNotAndWhatTheFirstSaid) {
  const std::vector<StartReport> reports = {{true, ""}, {true, ""}, {false, "connect: refused"}, {false, ""}};
  const Status status = JudgeStart(TwoNodes(), reports, std::chrono::minutes(10));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDeadline);
  EXPECT_EQ(status.error().message,
            "NCCL did not start within 10m on 2 of 4 ranks: 2,3 (rank 2 on gpu02; its last words: connect: "
            "refused); "
            "the other ranks were through");
}

}  // namespace
}  // namespace muster
