#include <gtest/gtest.h>

#include "bootstrap/doctor/examine.h"
#include "bootstrap/doctor/findings.h"

namespace muster::doctor {
namespace {

Report Sample() {
  return {"0.1.0",
          "login01",
          {{"system", Health::kOk, "Linux 4.18", "", "", {{"kernel", "4.18"}}},
           {"slurm", Health::kNote, "no muster-slurm", "fewer names", "install it", {}}}};
}

TEST(ReportText, ShowsCostAndRemedy) {
  EXPECT_EQ(ReportText(Sample()),
            "muster 0.1.0 on login01: muster works here; see the notes\n"
            "  ok       system    Linux 4.18\n"
            "  note     slurm     no muster-slurm\n"
            "                     cost: fewer names\n"
            "                     remedy: install it\n");
}

TEST(ReportJson, IsOneLineOfTheSame) {
  EXPECT_EQ(ReportJson(Sample()),
            R"({"muster":"0.1.0","node":"login01","health":"note","findings":[)"
            R"({"subject":"system","health":"ok","found":"Linux 4.18","cost":null,"remedy":null,)"
            R"("facts":{"kernel":"4.18"}},)"
            R"({"subject":"slurm","health":"note","found":"no muster-slurm","cost":"fewer names",)"
            R"("remedy":"install it","facts":{}}]})"
            "\n");
}

TEST(ReportJson, BytesThatAreNoTextAreReplaced) {
  EXPECT_NE(ReportJson({"0.1.0", "n\xff", {}}).find("n\xEF\xBF\xBD"), std::string::npos);
}

TEST(Worst, AProblemOutweighsNotes) {
  std::vector<Finding> findings = Sample().findings;
  EXPECT_EQ(Worst({}), Health::kOk);
  EXPECT_EQ(Worst(findings), Health::kNote);
  findings.push_back({"sockets", Health::kProblem, "", "", "", {}});
  EXPECT_EQ(Worst(findings), Health::kProblem);
}

TEST(JudgeLaunch, ARefusalIsAProblemAndNoLaunchIsANote) {
  resolve::Refusal refusal;
  refusal.error = {Code::kBadEnvironment, "SLURM_PROCID is x", "unset it"};
  EXPECT_EQ(JudgeLaunch(tl::unexpected<resolve::Refusal>(refusal)).health, Health::kProblem);
  refusal.error.code = Code::kNotLaunched;
  EXPECT_EQ(JudgeLaunch(tl::unexpected<resolve::Refusal>(refusal)).health, Health::kNote);
  resolve::Resolution resolution;
  resolution.tuple.launcher = "slurm";
  resolution.tuple.rank = 3;
  resolution.tuple.world_size = 16;
  EXPECT_EQ(JudgeLaunch(resolution).found, "slurm: rank 3 of 16");
}

}  // namespace
}  // namespace muster::doctor
