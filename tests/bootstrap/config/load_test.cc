#include "bootstrap/config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bootstrap/config/table.h"
#include "bootstrap/config/value.h"
#include "tests/bootstrap/config/temporary_yaml.h"

namespace muster::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// One key: its default, another value as it is written, and that value in canonical form.
struct KeyCase {
  const char* path;
  const char* default_value;
  const char* written;
  const char* canonical;
};

constexpr KeyCase kKeyCases[] = {
    {"launcher", "auto", "torch-env", "torch-env"},
    {"backend", "auto", "gloo", "socket"},
    {"rendezvous.method", "auto", "torch-store", "torch-store"},
    {"rendezvous.endpoint", "null", "gpu01:61000", "gpu01:61000"},
    {"rendezvous.ports", "61000-64999", "62000", "62000-62000"},
    {"rendezvous.interface", "null", "10.1.0.0/16", "10.1.0.0/16"},
    {"rendezvous.directory", "null", "/shared/me", "/shared/me"},
    {"rendezvous.slurm_helper", "null", "none", "none"},
    {"rendezvous.auth", "auto", "munge", "munge"},
    {"rendezvous.protect", "control", "all", "all"},
    {"timeouts.resolve", "10s", "11", "11s"},
    {"timeouts.rendezvous", "10m", "12m", "12m"},
    {"timeouts.handshake", "5s", "1.5s", "1s500ms"},
    {"timeouts.connect", "30s", "14s", "14s"},
    {"timeouts.init", "10m", "15m", "15m"},
    {"timeouts.collective", "30m", "60000s", "16h40m"},
    {"timeouts.barrier", "30m", "1ms", "1ms"},
    {"timeouts.shutdown", "30s", "18s", "18s"},
    {"timeouts.cap_at_job_end", "true", "false", "false"},
    {"liveness.heartbeat", "1s", "500ms", "500ms"},
    {"liveness.suspect_after", "5s", "6s", "6s"},
    {"liveness.dead_after", "30s", "40s", "40s"},
    {"liveness.straggler_after", "10s", "0", "0s"},
    {"nccl.share_device", "false", "true", "true"},
    {"nccl.interface", "null", "ib0", "ib0"},
    {"nccl.debug", "warn", "info", "info"},
    {"nccl.algorithm", "null", "Ring", "Ring"},
    {"nccl.protocol", "null", "Simple", "Simple"},
    {"nccl.abort_timeout", "10s", "3", "3s"},
    {"run.command", "[]", "[python, -m, 5]", "[python, -m, 5]"},
    {"run.env", "{}", "{OMP_NUM_THREADS: 4, A: \"\"}", "{A: \"\", OMP_NUM_THREADS: 4}"},
    {"run.grace", "10s", "0", "0s"},
    {"run.stop_on_failure", "true", "False", "false"},
    {"run.store", "muster", "program", "program"},
    {"run.stdin", "auto", "none", "none"},
    {"run.expect", "[]", "[out.json, 'logs/${rank}/*.json']", "[out.json, \"logs/${rank}/*.json\"]"},
    {"run.label", "false", "true", "true"},
    {"run.log_dir", "null", "logs", "logs"},
    {"log.level", "info", "off", "off"},
    {"log.format", "text", "json", "json"},
    {"log.time", "auto", "short", "short"},
    {"run.report", "null", "out/run.html", "out/run.html"},
    {"run.threads", "auto", "16", "16"},
    {"log.file", "null", "out/m.log", "out/m.log"},
    {"map.items", "null", "{model: [a, 7], shots: 5}", "{model: [a, 7], shots: [5]}"},
    {"map.class", "null", "model", "model"},
    {"map.command", "[]", "[python, eval.py, '{model}']", "[python, eval.py, \"{model}\"]"},
    {"map.output", "null", "out", "out"},
    {"map.journal", "null", "/shared/j", "/shared/j"},
    {"map.retries", "2", "0", "0"},
    {"map.retry_failed", "false", "true", "true"},
    {"map.timeout", "null", "90", "1m30s"},
    {"map.expect", "[]", "['scores.json:acc']", "[scores.json:acc]"},
    {"map.slots", "{count: 1, gpus: 0, cores: 0}", "{cores: 8, count: 2}", "{count: 2, gpus: 0, cores: 8}"},
};

class EveryKey : public testing::TestWithParam<KeyCase> {
 protected:
  const Key& key() const { return *FindKey(GetParam().path); }
  std::string ValueIn(const Result<EffectiveConfig>& loaded) const {
    return loaded ? YamlValue(key(), loaded->config) : loaded.error().message;
  }
  std::string OriginIn(const Result<EffectiveConfig>& loaded) const {
    return loaded ? loaded->origins.at(GetParam().path) : loaded.error().message;
  }
  std::string InYaml() const {
    const std::string section(SectionOf(key().path));
    const std::string name(NameOf(key().path));
    return section.empty() ? name + ": " + GetParam().written + "\n"
                           : section + ":\n  " + name + ": " + GetParam().written + "\n";
  }
};

TEST_P(EveryKey, HasItsDefault) {
  const auto loaded = LoadConfig({}, {}, {});
  EXPECT_EQ(ValueIn(loaded), GetParam().default_value);
  EXPECT_EQ(OriginIn(loaded), "default");
}

TEST_P(EveryKey, ComesFromTheFile) {
  const TemporaryYaml file(InYaml());
  const auto loaded = LoadConfig(file.path(), {}, {});
  EXPECT_EQ(ValueIn(loaded), GetParam().canonical);
  const size_t name = NameOf(key().path).size();
  const std::string place =
      SectionOf(key().path).empty() ? ":1:" + std::to_string(name + 3) : ":2:" + std::to_string(name + 5);
  EXPECT_EQ(OriginIn(loaded), file.path().native() + place);
}

TEST_P(EveryKey, ComesFromTheEnvironment) {
  const auto loaded = LoadConfig({}, {{VariableName(key()), GetParam().written}}, {});
  EXPECT_EQ(ValueIn(loaded), GetParam().canonical);
  EXPECT_EQ(OriginIn(loaded), VariableName(key()));
}

TEST_P(EveryKey, ComesFromSet) {
  const auto loaded = LoadConfig({}, {}, {std::string(key().path) + "=" + GetParam().written});
  EXPECT_EQ(ValueIn(loaded), GetParam().canonical);
  EXPECT_EQ(OriginIn(loaded), "--set");
}

TEST_P(EveryKey, MayNotBeAMapOfMaps) {
  const std::string section(SectionOf(key().path));
  const TemporaryYaml file(section.empty()
                               ? std::string(key().path) + ": {a: {b: c}}\n"
                               : section + ":\n  " + std::string(NameOf(key().path)) + ": {a: {b: c}}\n");
  const auto loaded = LoadConfig(file.path(), {}, {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kConfiguration);
  EXPECT_THAT(loaded.error().message, testing::EndsWith("is expected, not a map"));
}

INSTANTIATE_TEST_SUITE_P(All, EveryKey, testing::ValuesIn(kKeyCases), [](const auto& test) {
  std::string name = test.param.path;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
});

// All but include (include_test.cc).
TEST(LoadConfig, KnowsNoKeyThatTheCasesMiss) { EXPECT_EQ(Keys().size(), std::size(kKeyCases) + 1); }

// The names in YAML reach the fields of that name.
TEST(LoadConfig, FillsTheFields) {
  const TemporaryYaml file(R"(launcher: slurm
backend: nccl
rendezvous:
  method: pmix
  endpoint: "[2001:db8::1]:61001"
  ports: 62000-62010
  interface: eth*
  directory: /shared
  slurm_helper: /opt/muster-slurm
  auth: secret
  protect: all
timeouts:
  resolve: 1s
  rendezvous: 2s
  handshake: 3s
  connect: 4s
  init: 5s
  collective: 6s
  barrier: 7s
  shutdown: 8s
liveness: {heartbeat: 100ms, suspect_after: 200ms, dead_after: 300ms}
nccl: {share_device: true, interface: ib1, debug: trace, algorithm: Ring, protocol: LL, abort_timeout: 1s}
run:
  command: [sleep, 5]
  env: {A: b}
  grace: 9s
  stop_on_failure: false
  store: program
  label: true
  log_dir: logs
  threads: 7
log: {level: debug, format: json, time: none, file: f}
)");
  const auto loaded = LoadConfig(file.path(), {}, {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  Config expected;
  expected.launcher = "slurm";
  expected.backend = Backend::kNccl;
  expected.rendezvous = {RendezvousMethod::kPmix,
                         Endpoint{"2001:db8::1", 61001},
                         PortRange{62000, 62010},
                         "eth*",
                         AuthMethod::kSecret,
                         Protect::kAll,
                         "/shared",
                         "/opt/muster-slurm"};
  expected.timeouts = {seconds(1), seconds(2), seconds(3), seconds(4),
                       seconds(5), seconds(6), seconds(7), seconds(8)};
  expected.liveness = {milliseconds(100), milliseconds(200), milliseconds(300)};
  expected.nccl = {true, "ib1", NcclDebug::kTrace, "Ring", "LL", seconds(1)};
  expected.run = {{"sleep", "5"}, {{"A", "b"}}, seconds(9), false, RunStore::kProgram, true, "logs"};
  expected.run.threads = {RunThreads::Choice::kCount, 7};
  expected.log = {LogLevel::kDebug, LogFormat::kJson, "f"};
  expected.log_time = LogTime::kNone;
  EXPECT_EQ(loaded->config, expected);
}

TEST(LoadConfig, PrefersFlagToEnvironmentToFileToDefault) {
  const TemporaryYaml file("timeouts: {collective: 1h, barrier: 1h, init: 1h}\n");
  const auto loaded =
      LoadConfig(file.path(), {{"MUSTER_TIMEOUTS_COLLECTIVE", "2h"}, {"MUSTER_TIMEOUTS_BARRIER", "2h"}},
                 {"timeouts.collective=3h", "timeouts.collective=4h"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.timeouts.collective, hours(4));
  EXPECT_EQ(loaded->config.timeouts.barrier, hours(2));
  EXPECT_EQ(loaded->config.timeouts.init, hours(1));
  EXPECT_EQ(loaded->config.timeouts.rendezvous, minutes(10));
  EXPECT_EQ(loaded->origins.at("timeouts.collective"), "--set");
  EXPECT_EQ(loaded->origins.at("timeouts.barrier"), "MUSTER_TIMEOUTS_BARRIER");
  EXPECT_EQ(loaded->origins.at("timeouts.init"), file.path().native() + ":1:47");
  EXPECT_EQ(loaded->origins.at("timeouts.rendezvous"), "default");
}

TEST(LoadConfig, ReplacesListsAndMapsWhole) {
  const TemporaryYaml file("run: {env: {A: 1, B: 2}, command: [a, b]}\n");
  const auto loaded = LoadConfig(file.path(), {{"MUSTER_RUN_ENV", "{C: 3}"}}, {"run.command=[c]"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->config.run.env, testing::ElementsAre(testing::Pair("C", "3")));
  EXPECT_THAT(loaded->config.run.command, testing::ElementsAre("c"));
}

TEST(LoadConfig, TakesNullAndNothingForAKeyThatMayBeNull) {
  const TemporaryYaml file("rendezvous: {endpoint: a:1, interface: ib0}\nlog: {file: x}\n");
  const auto loaded =
      LoadConfig(file.path(), {{"MUSTER_RENDEZVOUS_ENDPOINT", ""}, {"MUSTER_LOG_FILE", "null"}},
                 {"rendezvous.interface=~"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config, Config());
}

TEST(LoadConfig, TakesScalarsOfTheEnvironmentAsTheyStand) {
  const auto loaded =
      LoadConfig({}, {{"MUSTER_RENDEZVOUS_ENDPOINT", "[2001:db8::1]:61000"}}, {"log.file=a: b #c"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.rendezvous.endpoint, (Endpoint{"2001:db8::1", 61000}));
  EXPECT_EQ(loaded->config.log.file, "a: b #c");
}

TEST(LoadConfig, TakesAnEmptyFileEmptySectionsAndAliases) {
  const TemporaryYaml empty("# nothing\n");
  EXPECT_EQ(LoadConfig(empty.path(), {}, {})->config, Config());
  const TemporaryYaml sections("timeouts:\nrun:\n  # grace: 1s\n");
  EXPECT_EQ(LoadConfig(sections.path(), {}, {})->config, Config());
  const TemporaryYaml aliases("timeouts: {collective: &long 2h, barrier: *long}\n");
  EXPECT_EQ(LoadConfig(aliases.path(), {}, {})->config.timeouts.barrier, hours(2));
}

TEST(LoadConfig, LeavesOtherVariablesAlone) {
  const auto loaded = LoadConfig({},
                                 {{"MUSTER_RANK", "x"},
                                  {"MUSTER_GROUP", ""},
                                  {"MUSTER_SECRET", "s"},
                                  {"MUSTER_CONTROL", "@c"},
                                  {"MUSTER_CONFIG", "f"},
                                  {"MUSTER_NODE", "n"},
                                  {"TIMEOUTS_COLLECTIVE", "x"},
                                  {"muster_timeouts_collective", "x"}},
                                 {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config, Config());
  EXPECT_THAT(loaded->warnings, testing::IsEmpty());
}

// Of a supervisor of the next release.
TEST(LoadConfigText, IgnoresKeysOfAnotherRelease) {
  const auto loaded = LoadConfigText("timeouts: {warp: 1s, collective: 2h}\nfuture: {a: 1}\n", "muster run");
  ASSERT_TRUE(loaded) << loaded.error().message;
  Config expected;
  expected.timeouts.collective = std::chrono::hours(2);
  EXPECT_EQ(loaded->config, expected);
  EXPECT_THAT(loaded->warnings,
              testing::ElementsAre("muster run:1:12: unknown key \"timeouts.warp\" is ignored",
                                   "muster run:2:1: unknown key \"future\" is ignored"));
}

TEST(LoadConfig, WarnsOfAVariableThatWasSurelyMeantAsAKey) {
  const auto loaded = LoadConfig({}, {{"MUSTER_TIMEOUTS_COLECTIVE", "2h"}}, {});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config, Config());
  EXPECT_THAT(
      loaded->warnings,
      testing::ElementsAre(
          "MUSTER_TIMEOUTS_COLECTIVE is not a setting of muster; did you mean MUSTER_TIMEOUTS_COLLECTIVE?"));
}

}  // namespace
}  // namespace muster::config
