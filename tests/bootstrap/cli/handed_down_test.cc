#include "bootstrap/cli/handed_down.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(HandDown, TurnsFlagsIntoVariables) {
  Variables variables = {{"MUSTER_BACKEND", "socket"}, {"HOME", "/h"}};
  Asked asked;
  asked.config_file = "/etc/eval.yaml";
  asked.sets = {"backend=nccl", "timeouts.collective=1h", "timeouts.collective=2h"};
  HandDown(asked, variables);
  EXPECT_THAT(variables,
              ElementsAre(Pair("HOME", "/h"), Pair("MUSTER_BACKEND", "nccl"),
                          Pair("MUSTER_CONFIG", "/etc/eval.yaml"), Pair("MUSTER_TIMEOUTS_COLLECTIVE", "2h")));
}

TEST(HandDown, NamesTheFileSoThatItIsFoundFromElsewhere) {
  Variables variables;
  Asked asked;
  asked.config_file = "eval.yaml";
  HandDown(asked, variables);
  EXPECT_THAT(variables["MUSTER_CONFIG"], testing::MatchesRegex("/.*/eval\\.yaml"));
}

TEST(HandDown, KeepsWhatIsTheSupervisors) {
  Variables variables;
  Asked asked;
  asked.sets = {"run.report=run.html", "run.label=true"};
  HandDown(asked, variables);
  EXPECT_TRUE(variables.empty());
}

}  // namespace
}  // namespace muster
