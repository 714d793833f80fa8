#include "comm/nccl/communicator/start_report.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::nccl {
namespace {

Roster TwoNodes() {
  return {"id", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}, {1, 1, 4, {}}}};
}

Result<StartReport> Decode(ByteView bytes) { return DecodeFields<StartReport>(bytes, "NCCL start"); }

TEST(StartReport, TravelsUnchanged) {
  for (const StartReport& report :
       {StartReport{StartStage::kThrough, ""}, StartReport{StartStage::kWaiting, "no route to host"},
        StartReport{StartStage::kNotReturned, ""}, StartReport{StartStage::kNotEntered, ""}}) {
    EXPECT_EQ(Decode(EncodeFields(report)), report);
  }
}

TEST(StartReport, IsTheseBytes) {
  EXPECT_EQ(EncodeFields(StartReport{StartStage::kWaiting, "no"}), (Bytes{2, 2, 0, 0, 0, 'n', 'o'}));
}

TEST(StartReport, OfManyWordsIsCut) {
  const StartReport report{StartStage::kWaiting, std::string(5000, 'x')};
  EXPECT_EQ(Decode(EncodeFields(report))->last_error, std::string(1024, 'x'));
}

TEST(StartReport, IsReadStrictly) {
  const Bytes good = EncodeFields(StartReport{StartStage::kThrough, "a"});
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(Decode(ByteView(good).first(length)).error().message,
              "malformed NCCL start: it ends too early");
  }
  Bytes bad = good;
  bad[0] = 4;
  EXPECT_FALSE(Decode(bad));
  bad = good;
  bad.push_back(0);
  EXPECT_FALSE(Decode(bad));
}

TEST(JudgeStart, IsSuccessWhereAllAreThrough) {
  EXPECT_TRUE(JudgeStart(TwoNodes(), std::vector<StartReport>(4, {StartStage::kThrough, ""}),
                         std::chrono::minutes(10)));
}

std::string Judged(const std::vector<StartReport>& reports) {
  const Status status = JudgeStart(TwoNodes(), reports, std::chrono::minutes(10));
  EXPECT_EQ(status.error().code, Code::kDeadline);
  return status.error().message;
}

StartReport Through() { return {StartStage::kThrough, ""}; }

TEST(JudgeStart, NamesWhoIsNotAndWhatTheFirstSaid) {
  EXPECT_EQ(
      Judged({Through(), Through(), {StartStage::kWaiting, "connect: refused"}, {StartStage::kWaiting, ""}}),
      "NCCL did not start within 10m on 2 of 4 ranks: ranks 2,3 (the first: rank 2 on gpu02; its last "
      "error: connect: refused) waited in it; the other ranks were through");
}

TEST(JudgeStart, NamesThoseFirstWhoAreFurthestBehind) {
  EXPECT_EQ(
      Judged({{StartStage::kWaiting, "connect: refused"},
              {StartStage::kWaiting, ""},
              {StartStage::kNotEntered, ""},
              {StartStage::kNotReturned, "cannot open plugin"}}),
      "NCCL did not start within 10m on 4 of 4 ranks: rank 2 on gpu02 had not entered it; rank 3 on gpu02 "
      "(its last error: cannot open plugin) had entered it and not returned; ranks 0,1 (the first: rank "
      "0 on gpu01; its last error: connect: refused) waited in it; no rank was through");
}

}  // namespace
}  // namespace muster::nccl
