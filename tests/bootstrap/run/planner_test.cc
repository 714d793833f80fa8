#include "bootstrap/run/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::run {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(ExportSettings, TurnsFlagsIntoVariables) {
  Variables variables = {{"MUSTER_BACKEND", "socket"}, {"HOME", "/h"}};
  join::StartOptions asked;
  asked.config_file = "/etc/eval.yaml";
  asked.sets = {"backend=nccl", "timeouts.collective=1h", "timeouts.collective=2h"};
  ExportSettings(asked, variables);
  EXPECT_THAT(variables,
              ElementsAre(Pair("HOME", "/h"), Pair("MUSTER_BACKEND", "nccl"),
                          Pair("MUSTER_CONFIG", "/etc/eval.yaml"), Pair("MUSTER_TIMEOUTS_COLLECTIVE", "2h")));
}

TEST(ExportSettings, NamesTheFileSoThatItIsFoundFromElsewhere) {
  Variables variables;
  join::StartOptions asked;
  asked.config_file = "eval.yaml";
  ExportSettings(asked, variables);
  EXPECT_THAT(variables["MUSTER_CONFIG"], testing::MatchesRegex("/.*/eval\\.yaml"));
}

TEST(ExportSettings, KeepsWhatIsTheSupervisors) {
  Variables variables;
  join::StartOptions asked;
  asked.sets = {"run.report=run.html", "run.label=true"};
  ExportSettings(asked, variables);
  EXPECT_TRUE(variables.empty());
}

}  // namespace
}  // namespace muster::run
