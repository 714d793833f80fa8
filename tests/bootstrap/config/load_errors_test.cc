// Every way a configuration can be wrong, and the whole sentence about it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bootstrap/config/load.h"
#include "tests/bootstrap/config/temporary_yaml.h"

namespace muster::config {
namespace {

struct Wrong {
  const char* text;
  const char* message;  // F stands for the file's name
  const char* hint = "";
};

std::string WithName(std::string message, const std::string& name) {
  if (message.starts_with("F")) message.replace(0, 1, name);
  return message;
}

void Expect(const Result<EffectiveConfig>& loaded, const Wrong& wrong, const std::string& name) {
  ASSERT_FALSE(loaded) << wrong.text;
  EXPECT_EQ(loaded.error().code, Code::kConfiguration) << wrong.text;
  EXPECT_EQ(loaded.error().message, WithName(wrong.message, name)) << wrong.text;
  EXPECT_EQ(loaded.error().hint, wrong.hint) << wrong.text;
}

constexpr const char* kDurationHint = "write for example 500ms, 30s, 10m or 16h40m; a bare number is seconds";

constexpr Wrong kWrongFiles[] = {
    {"timeouts:\n  colective: 1h\n",
     "F:2:3: unknown key \"timeouts.colective\"; did you mean \"timeouts.collective\"?"},
    {"timeout: {collective: 1h}\n", "F:1:1: unknown key \"timeout\"; did you mean \"timeouts\"?"},
    {"collective: 1h\n", "F:1:1: unknown key \"collective\"; did you mean \"timeouts.collective\"?"},
    {"run: {xyzxyzxyz: 1}\n", "F:1:7: unknown key \"run.xyzxyzxyz\"",
     "run has command, env, grace, stop_on_failure, store, stdin, label, log_dir, report, expect, "
     "threads"},
    {"xyzxyzxyz: 1\n", "F:1:1: unknown key \"xyzxyzxyz\"", "`muster config` shows all keys"},
    {"timeouts.collective: 1h\n", "F:1:1: unknown key \"timeouts.collective\"",
     "write it in two lines of the file: timeouts: and, indented, collective:"},
    {"x: &a {b: c}\n", "F:1:1: unknown key \"x\"", "`muster config` shows all keys"},
    {"\"a\\nb\": 1\n", "F:1:1: unknown key \"a\\nb\"", "`muster config` shows all keys"},
    {"timeouts: {collective: [1h]}\n", "F:1:24: timeouts.collective: a duration is expected, not a list"},
    {"timeouts:\n  collective:\n", "F:2:3: timeouts.collective: a duration is expected, not null"},
    {"timeouts:\n  collective: ten minutes\n",
     "F:2:15: timeouts.collective: \"ten minutes\" is not a duration: a number is expected", kDurationHint},
    {"timeouts:\n  collective: 1x\n",
     "F:2:15: timeouts.collective: \"1x\" is not a duration: the units are d, h, m, s, ms, us and ns",
     kDurationHint},
    {"timeouts: {barrier: 0}\n", "F:1:21: timeouts.barrier: 0 is too short: at least 1ms"},
    {"liveness: {heartbeat: 1ms}\n", "F:1:23: liveness.heartbeat: 1ms is too short: at least 10ms"},
    {"timeouts: {barrier: 1s, barrier: 2s}\n", "F:1:25: \"barrier\" a second time; the first is in line 1"},
    {"map: {items: []}\n", "F:1:14: map.items: there are no items",
     "write a file, [a, b], or {model: [a, b], task: [x, y]}"},
    {"map: {items: [a, [b]]}\n", "F:1:14: map.items: item 2: text or a map of text is expected, not a list"},
    {"map: {items: [{model: [a]}]}\n", "F:1:14: map.items: item 1: model: text is expected, not a list"},
    {"map: {items: {model: [a], task: []}}\n", "F:1:14: map.items: task: the list is empty"},
    {"map: {items: {model: {a: b}}}\n", "F:1:14: map.items: model: a list of text is expected, not a map"},
    {"map: {slots: 0}\n", "F:1:14: map.slots: a number from 1 to 4096 is expected, not \"0\""},
    {"map: {slots: {gpu: 1}}\n", "F:1:14: map.slots: there is no \"gpu\" of slots",
     "write for example {count: 2, gpus: 1, cores: 8}"},
    {"map: {slots: {cores: -1}}\n",
     "F:1:14: map.slots: cores: a number from 0 to 4096 is expected, not \"-1\""},
    {"map: {retries: many}\n", "F:1:16: map.retries: a number from 0 to 1000000 is expected, not \"many\""},
    {"map: {timeout: [1]}\n", "F:1:16: map.timeout: a duration is expected, not a list"},
    {"timeouts: 10s\n", "F:1:11: timeouts: a map of keys is expected, not a scalar"},
    {"- timeouts\n", "F:1:1: a map of keys is expected, not a list"},
    {"timeouts\n", "F:1:1: a map of keys is expected, not a scalar"},
    {"timeouts: {init: 1s\n", "F:2:1: broken YAML: end of map flow not found"},
    {"launcher: slurm\n---\nlauncher: none\n",
     "F:2:1: a second document begins here; a configuration is one document"},
    {"launcher: Slurm Workload\n", "F:1:11: launcher: \"Slurm Workload\" is not a name",
     "write lower case letters, digits and hyphens"},
    {"launcher: ''\n", "F:1:11: launcher: \"\" is not a name",
     "write lower case letters, digits and hyphens"},
    {"launcher:\n", "F:1:1: launcher: a name is expected, not null"},
    {"backend: mpi\n",
     "F:1:10: backend: \"mpi\" is refused: muster brings its own collectives and does not go through "
     "MPI",
     "write socket or auto; an MPI program runs under `muster run` as it is"},
    {"backend: cuda\n", "F:1:10: backend: \"cuda\" is not one of auto, nccl, socket"},
    {"backend: [nccl]\n", "F:1:10: backend: one of auto, nccl, socket is expected, not a list"},
    {"run: {threads: 0}\n",
     "F:1:16: run.threads: auto, none or a number from 1 to 65536 is expected, not \"0\""},
    {"run: {store: torch}\n", "F:1:14: run.store: \"torch\" is not one of muster, program"},
    {"run:\n  env: {A: 1, OUT: 'x.${rnk}'}\n", "F:2:8: run.env: OUT: there is no \"${rnk}\"",
     "did you mean ${rank}? write $${ for ${ itself"},
    {"run:\n  env: {OUT: 'x.${rank'}\n", "F:2:8: run.env: OUT: \"${rank\" has no closing brace",
     "write $${ for ${ itself"},
    {"rendezvous: {endpoint: gpu01}\n",
     "F:1:24: rendezvous.endpoint: \"gpu01\" is not an endpoint: the port is missing",
     "write host:port, for example gpu01:61000 or [2001:db8::1]:61000"},
    {"rendezvous: {ports: 64999-61000}\n",
     "F:1:21: rendezvous.ports: the range 64999-61000 ends before it begins"},
    {"rendezvous: {ports: 0-5}\n", "F:1:21: rendezvous.ports: \"0-5\" is not a range of ports",
     "write first-last with ports from 1 to 65535, for example 61000-64999"},
    {"rendezvous: {ports: 1-65536}\n", "F:1:21: rendezvous.ports: \"1-65536\" is not a range of ports",
     "write first-last with ports from 1 to 65535, for example 61000-64999"},
    {"rendezvous: {interface: ''}\n", "F:1:25: rendezvous.interface: it is empty", "write null for none"},
    {"run: {stop_on_failure: yes}\n", "F:1:24: run.stop_on_failure: true or false is expected, not \"yes\""},
    {"run: {stop_on_failure: 'true'}\n",
     "F:1:24: run.stop_on_failure: true or false is expected, not quoted text"},
    {"run: {command: python}\n", "F:1:16: run.command: a list of text is expected, not a scalar",
     "write for example [python, -m, lmms_eval]"},
    {"run: {command: [a, ~]}\n", "F:1:16: run.command: text as item 2 is expected, not null"},
    {"run: {command: ['', a]}\n", "F:1:16: run.command: the program's name is empty"},
    {"run: {expect: [a, '']}\n", "F:1:15: run.expect: the name of a file is empty"},
    {"run: {expect: ['${rang}']}\n", "F:1:15: run.expect: there is no \"${rang}\"",
     "did you mean ${rank}? write $${ for ${ itself"},
    {"run: {stdin: rank1}\n", "F:1:14: run.stdin: \"rank1\" is not one of auto, rank0, all, none"},
    {"run: {command: [\"a\\0b\"]}\n", "F:1:16: run.command: text cannot hold a zero byte"},
    {"run: {env: [A]}\n", "F:1:12: run.env: a map of text is expected, not a list",
     "write for example {OMP_NUM_THREADS: 4}"},
    {"run: {env: {A: }}\n", "F:1:12: run.env: text for A is expected, not null"},
    {"run: {env: {A=B: c}}\n", "F:1:12: run.env: \"A=B\" cannot be the name of a variable"},
    {"run: {env: {'': c}}\n", "F:1:12: run.env: \"\" cannot be the name of a variable"},
    {"log: {level: loud}\n", "F:1:14: log.level: \"loud\" is not one of debug, info, warning, error, off"},
};

TEST(LoadErrors, InAFile) {
  for (const Wrong& wrong : kWrongFiles) {
    const TemporaryYaml file(wrong.text);
    Expect(LoadConfig(file.path(), {}, {}), wrong, file.path().native());
  }
}

TEST(LoadErrors, InSet) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"timeouts.colective=1h",
            "--set: unknown key \"timeouts.colective\"; did you mean \"timeouts.collective\"?"},
           {"run.env.A=1", "--set: unknown key \"run.env.A\"", "write --set 'run.env={A: 1}'"},
           {"run.env.A=x: y", "--set: unknown key \"run.env.A\"", "write --set 'run.env={A: \"x: y\"}'"},
           {"run.env.A=it's", "--set: unknown key \"run.env.A\"", "write --set 'run.env={A: \"it'\\''s\"}'"},
           {"map.slots.count=2", "--set: unknown key \"map.slots.count\"",
            "write --set 'map.slots={count: 2}'"},
           // Not an entry of this key.
           {"timeouts.collective.s=5",
            "--set: unknown key \"timeouts.collective.s\"; did you mean \"timeouts.collective\"?"},
           {"run.env.A=B=1", "--set: unknown key \"run.env.A\"", "write --set 'run.env={A: B=1}'"},
           {"=1h", "--set: unknown key \"\"", "`muster config` shows all keys"},
           {"timeouts.collective", "--set \"timeouts.collective\": the value is missing",
            "write --set key=value, for example --set timeouts.collective=1h"},
           {"liveness=1s", "--set: \"liveness\" is a section, not a key",
            "it has heartbeat, suspect_after, dead_after, straggler_after"},
           {"timeouts.init=soon", "--set timeouts.init: \"soon\" is not a duration: a number is expected",
            kDurationHint},
           {"timeouts.init=", "--set timeouts.init: \"\" is not a duration: it is empty", kDurationHint},
           {"run.command=python -m x", "--set run.command: a list of text is expected, not a scalar",
            "write for example [python, -m, lmms_eval]"},
           {"run.command=[a", "--set run.command:1:1: broken YAML: end of sequence flow not found"},
           {"log.file=\xff", "--set log.file: byte 1 is not UTF-8"},
           {"run.stop_on_failure=1", "--set run.stop_on_failure: true or false is expected, not \"1\""},
       }) {
    Expect(LoadConfig({}, {}, {wrong.text}), wrong, "");
  }
}

TEST(LoadErrors, InTheEnvironment) {
  const auto duration = LoadConfig({}, {{"MUSTER_TIMEOUTS_INIT", "soon"}}, {});
  Expect(duration,
         {"", "MUSTER_TIMEOUTS_INIT: \"soon\" is not a duration: a number is expected", kDurationHint}, "");
  Expect(LoadConfig({}, {{"MUSTER_RUN_ENV", "{A: [}"}}, {}),
         {"", "MUSTER_RUN_ENV:1:6: broken YAML: illegal flow end"}, "");
  Expect(LoadConfig({}, {{"MUSTER_BACKEND", ""}}, {}),
         {"", "MUSTER_BACKEND: \"\" is not one of auto, nccl, socket"}, "");
}

TEST(LoadErrors, OfTheFileItself) {
  const std::string hint = "give a file that this user can read; a relative path begins at " +
                           std::filesystem::current_path().native();
  Expect(LoadConfig("no/such.yaml", {}, {}),
         {"", "cannot read no/such.yaml: No such file or directory", hint.c_str()}, "");
  Expect(LoadConfig(testing::TempDir(), {}, {}), {"", "F is not a regular file"}, testing::TempDir());
  const TemporaryYaml large(std::string((1 << 20) + 1, '#'));
  Expect(LoadConfig(large.path(), {}, {}), {"", "F is too large: 1048577 bytes; at most 1048576"},
         large.path().native());
}

// The file's error stands even if the flag would have replaced the value: a broken file is broken.
TEST(LoadErrors, InAFileAreNotHiddenByAFlag) {
  const TemporaryYaml file("timeouts: {init: soon}\n");
  EXPECT_FALSE(LoadConfig(file.path(), {}, {"timeouts.init=1s"}));
}

}  // namespace
}  // namespace muster::config
