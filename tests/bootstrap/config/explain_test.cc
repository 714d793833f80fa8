#include "bootstrap/config/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bootstrap/config/load.h"
#include "tests/bootstrap/config/temporary_yaml.h"

namespace muster::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

EffectiveConfig Awkward() {
  EffectiveConfig effective =
      *LoadConfig({}, {{"MUSTER_RENDEZVOUS_ENDPOINT", "[2001:db8::1]:61000"}},
                  {"timeouts.collective=60000", "backend=gloo", "run.stop_on_failure=false"});
  effective.config.run.command = {"python", "-c",  "print(\"a: b\")\n", "", "null", "#",
                                  "-",      "{x}", "\xc3\xa9",          "'"};
  effective.config.run.env = {{"A B", "true"}, {"C", ""}, {"D", "1, 2"}, {"~", "*x"}};
  effective.config.log.file = "a # b";
  effective.origins["log.file"] = "odd\nname.yaml:1:1";
  return effective;
}

TEST(ToYaml, LoadsBackAsTheSame) {
  for (const bool origins : {false, true}) {
    const EffectiveConfig effective = Awkward();
    const TemporaryYaml file(ToYaml(effective, origins));
    const auto loaded = LoadConfig(file.path(), {}, {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->config, effective.config);
  }
}

TEST(ToYaml, SaysWhereEachValueCameFrom) {
  const std::string text = ToYaml(Awkward(), true);
  EXPECT_THAT(text, StartsWith("launcher: auto                  # default\n"
                               "backend: socket                 # --set\n"
                               "include: null                   # default\n"
                               "rendezvous:\n"
                               "  method: auto                  # default\n"
                               "  endpoint: \"[2001:db8::1]:61000\"  # MUSTER_RENDEZVOUS_ENDPOINT\n"));
  EXPECT_THAT(text, HasSubstr("  collective: 16h40m            # --set\n"));
  EXPECT_THAT(text, HasSubstr("  file: \"a # b\"                 # odd?name.yaml:1:1\n"));
}

TEST(ToYaml, WithoutOriginsHasNoComments) {
  EXPECT_THAT(ToYaml(*LoadConfig({}, {}, {}), false),
              StartsWith("launcher: auto\nbackend: auto\ninclude: null\nrendezvous:\n"));
}

TEST(ToJson, IsOneObjectWithSections) {
  const std::string text = ToJson(*LoadConfig({}, {}, {"run.command=[a, 'b \"c\"']"}), false);
  EXPECT_EQ(
      text,
      R"({"launcher":"auto","backend":"auto","include":null,)"
      R"("rendezvous":{"method":"auto","endpoint":null,"ports":"61000-64999","interface":null,)"
      R"("directory":null,"slurm_helper":null,"auth":"auto","protect":"control"},)"
      R"("timeouts":{"resolve":"10s","rendezvous":"10m","handshake":"5s","connect":"30s","init":"10m",)"
      R"("collective":"30m","barrier":"30m","shutdown":"30s","cap_at_job_end":true},)"
      R"("liveness":{"heartbeat":"1s","suspect_after":"5s","dead_after":"30s","straggler_after":"10s"},)"
      R"("nccl":{"share_device":false,"interface":null,"debug":"warn","algorithm":null,"protocol":null,"abort_timeout":"10s"},)"
      R"("run":{"command":["a", "b \"c\""],"env":{},"grace":"10s","stop_on_failure":true,"store":"muster","stdin":"auto","label":false,)"
      R"("log_dir":null,"report":null,"expect":[],"threads":"auto"},)"
      R"("map":{"items":null,"class":null,"command":[],"output":null,"journal":null,"retries":2,"retry_failed":false,"timeout":null,"expect":[],)"
      R"("slots":{"count": 1, "gpus": 0, "cores": 0}},)"
      R"("log":{"level":"info","format":"text","time":"auto","file":null}})"
      "\n");
}

TEST(ToJson, CarriesOrigins) {
  const std::string text = ToJson(*LoadConfig({}, {{"MUSTER_LOG_FILE", "x"}}, {}), true);
  EXPECT_THAT(text, StartsWith(R"({"launcher":{"value":"auto","origin":"default"},"backend":)"));
  EXPECT_THAT(text, testing::EndsWith(R"("file":{"value":"x","origin":"MUSTER_LOG_FILE"}}})"
                                      "\n"));
}

// JSON is YAML, so our own strict parser checks whether it is well formed and complete.
TEST(ToJson, ReadsBackAsTheSameConfiguration) {
  const EffectiveConfig effective = Awkward();
  const TemporaryYaml file(ToJson(effective, false));
  const auto loaded = LoadConfig(file.path(), {}, {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config, effective.config);
}

TEST(GroupWideText, IsEmptyForTheDefaults) { EXPECT_EQ(GroupWideText(Config()), ""); }

TEST(GroupWideText, HasWhatDiffersFromTheDefaultsInTheOrderOfTheTable) {
  Config config;
  config.timeouts.collective = std::chrono::hours(1);
  config.rendezvous.endpoint = Endpoint{"2001:db8::1", 61000};
  config.backend = Backend::kSocket;
  EXPECT_EQ(GroupWideText(config),
            "backend=socket\nrendezvous.endpoint=\"[2001:db8::1]:61000\"\ntimeouts.collective=1h\n");
}

TEST(GroupWideText, LeavesOutWhatMayDiffer) {
  Config config;
  config.launcher = "slurm";
  config.rendezvous.interface = "ib0";
  config.run.command = {"a"};
  config.run.env = {{"A", "b"}};
  config.run.grace = std::chrono::seconds(1);
  config.log = {LogLevel::kDebug, LogFormat::kJson, "f"};
  EXPECT_EQ(GroupWideText(config), "");
}

}  // namespace
}  // namespace muster::config
