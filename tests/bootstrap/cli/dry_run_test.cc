// --dry-run of `muster run` and `muster launch`: what is printed, and that nothing is started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bootstrap/cli/run_muster.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

Outcome Muster(const std::string& variables, const std::string& words) { return RunMuster(words, variables); }

class DryRunTest : public testing::Test {
 protected:
  const std::string mark = testing::TempDir() + "/started";
  void SetUp() override { std::filesystem::remove(mark); }
  void TearDown() override { EXPECT_FALSE(std::filesystem::exists(mark)) << "a program was started"; }
};

TEST_F(DryRunTest, LaunchPrintsRanksAndTheirEnvironment) {
  const Outcome outcome = Muster("", "launch -n 3 --max-restarts 2 --dry-run -- touch " + mark);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("dry run: nothing is started\n"), HasSubstr("ranks           3, nodes 1\n"),
                    HasSubstr("on this node, over a Unix socket; no port\n"),
                    HasSubstr("restarts        at most 2\n"), HasSubstr("\n  RANK=0\n"),
                    HasSubstr("\n  WORLD_SIZE=3\n"), HasSubstr("timeouts.rendezvous=10m")));
  EXPECT_THAT(outcome.out, HasSubstr("rank 2: "));
  EXPECT_THAT(outcome.out, HasSubstr("RANK=2"));
}

TEST_F(DryRunTest, JsonHasTheProgramOfEachRank) {
  const Outcome outcome = Muster("", "launch -n 2 --dry-run --json -- touch " + mark);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json object = Json::parse(outcome.out);
  EXPECT_EQ(object["command"], Json({"touch", mark}));
  EXPECT_EQ(object["world_size"], 2);
  ASSERT_EQ(object["programs"].size(), 2);
  for (int rank = 0; rank < 2; ++rank) {
    const Json& program = object["programs"][static_cast<size_t>(rank)];
    EXPECT_EQ(program["rank"], rank);
    EXPECT_EQ(program["environment"]["RANK"], std::to_string(rank));
    EXPECT_EQ(program["environment"]["LOCAL_RANK"], std::to_string(rank));
    EXPECT_EQ(program["environment"]["WORLD_SIZE"], "2");
    EXPECT_EQ(program["undecided"]["MASTER_PORT"], "chosen at the start");
  }
}

TEST_F(DryRunTest, RunRefusesMoreRanksThanItCounts) {
  for (const std::string nodes : {"600000", "1048577"}) {
    const Outcome outcome = Muster("", "run --rank 0 --world-size " + nodes +
                                           " --endpoint a:5000 --nproc-per-node 4096 --dry-run -- true");
    EXPECT_EQ(outcome.status, 64);
    EXPECT_THAT(outcome.err,
                HasSubstr("error: --nproc-per-node 4096 on each of " + nodes +
                          " nodes is too many (pass less: a group has at most 2147483647 ranks)\n"));
  }
}

TEST_F(DryRunTest, ProgramsGetTheEnvironmentThatItPrinted) {
  const Json object = Json::parse(Muster("", "launch -n 1 --dry-run --json -- true").out);
  const Outcome real = Muster("", "launch -n 1 -- env");
  for (const auto& [name, value] : object["programs"][0]["environment"].items()) {
    if (name == "TORCHELASTIC_RUN_ID") continue;  // has the number of muster's process
    EXPECT_THAT(real.out, HasSubstr(name + "=" + value.get<std::string>() + "\n"));
  }
}

TEST_F(DryRunTest, SecretsAreNotShown) {
  for (const std::string json : {"", " --json"}) {
    const Outcome outcome =
        Muster("MUSTER_SECRET=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
               "launch -n 2 --dry-run" + json + " --set 'run.env={HF_TOKEN: hf_abc}' -- touch " + mark);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out + outcome.err,
                AllOf(Not(HasSubstr("0123456789abcdef")), Not(HasSubstr("hf_abc"))));
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("MUSTER_SECRET is present (not shown)"), HasSubstr("HF_TOKEN")));
  }
}

TEST_F(DryRunTest, RunTakesTheRankFromTheLauncherAndWaitsForNoOtherRank) {
  const std::string torch =
      "RANK=0 WORLD_SIZE=8 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 MASTER_ADDR=gpu01 MASTER_PORT=29500 ";
  const Outcome outcome = Muster(torch, "run --dry-run -- touch " + mark);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("launcher        torch-env"), HasSubstr("on gpu01, "),
                                 HasSubstr("\n  MUSTER_RANK=0\n"), HasSubstr("\n  MUSTER_WORLD_SIZE=8\n")));
  // Rank 0 prints for all.
  const Outcome other =
      Muster("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=gpu01 MASTER_PORT=29500 ",
             "run --dry-run -- touch " + mark);
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(other.out, "");
}

TEST_F(DryRunTest, WithHostsItPrintsTheCommandOfEachMachine) {
  const std::string hosts = testing::TempDir() + "/hosts";
  std::ofstream(hosts) << "gpu01\ngpu02\n";
  const Outcome outcome = Muster("", "launch --hosts " + hosts + " -n 2 --dry-run -- touch " + mark);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\ngpu01\n  ssh -o BatchMode=yes gpu01\n"), HasSubstr("--node-rank 1")));
  // Another program may have any of them.
  EXPECT_THAT(outcome.out, HasSubstr(" --any-port "));
  EXPECT_THAT(Muster("", "launch --hosts " + hosts + " -n 2 --endpoint gpu01:61000 --dry-run -- true").out,
              AllOf(HasSubstr("--endpoint gpu01:61000"), Not(HasSubstr("--any-port"))));
  const Json object =
      Json::parse(Muster("", "launch --hosts " + hosts + " -n 2 --dry-run --json -- true").out);
  EXPECT_EQ(object["machines"].size(), 2);
  EXPECT_EQ(object["machines"][1]["host"], "gpu02");
}

// The other machines would wait for it on themselves.
TEST_F(DryRunTest, WithHostsTheFirstMachineHasANameForTheOthers) {
  const std::string hosts = testing::TempDir() + "/hosts";
  const std::string command = "launch --hosts " + hosts + " -n 2 --dry-run -- true";
  std::ofstream(hosts) << "user@localhost\ngpu02\n";
  const Outcome outcome = Muster("", command);
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err,
              AllOf(StartsWith("muster: error: the endpoint localhost:"),
                    HasSubstr(" is a loopback address: other machines do not reach it (name the machine ")));
  for (const std::string reached : {"gpu02\nlocalhost\n", "localhost\n"}) {
    std::ofstream(hosts) << reached;
    EXPECT_EQ(Muster("", command).status, 0) << reached;
  }
}

// A shell that starts in a removed directory leaves PWD empty.
TEST_F(DryRunTest, WithHostsARemovedDirectoryIsNamedIfPwdHasAName) {
  const std::string base = testing::TempDir() + "/removed";
  std::ofstream(base + ".hosts") << "gpu01\ngpu02\n";
  const auto error_with = [&](const std::string& pwd) {
    const std::string script = "m=$PWD/bootstrap/cli/muster; mkdir " + base + " && cd " + base +
                               " && rmdir " + base + " && env MUSTER_LOG_TIME=none PWD=" + pwd +
                               " $m launch --hosts " + base + ".hosts -n 2 -- touch " + mark + " 2>" + base +
                               ".err";
    EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 71);
    return ContentOf(base + ".err");
  };
  EXPECT_THAT(error_with("/named"),
              StartsWith("muster: error: the working directory /named cannot be found: "));
  EXPECT_THAT(error_with(""),
              StartsWith("muster: error: the working directory of this process cannot be found: "));
}

// Every user of a machine sees the arguments of its processes: run.env, which may hold a secret, goes over stdin.
TEST_F(DryRunTest, WithHostsRunEnvIsNoArgumentOfTheMachines) {
  const std::string hosts = testing::TempDir() + "/hosts";
  std::ofstream(hosts) << "gpu01\ngpu02\n";
  const std::string sets = " --set 'run.env={TOKEN: 4711}' --set run.grace=3s ";
  for (const std::string how : {"--dry-run", "--dry-run --json"}) {
    std::string command = "launch -n 2 ";
    command.append(how).append(sets).append("--hosts ").append(hosts).append(" -- true");
    const Outcome outcome = Muster("", command);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("run.grace=3s"), Not(HasSubstr("4711"))));
  }
}

TEST_F(DryRunTest, AnErrorIsThatOfTheRealRun) {
  EXPECT_EQ(
      Muster("SLURM_JOB_ID=4 SLURM_JOB_NODELIST='gpu[01-02]' SLURM_NTASKS=4 SLURM_TASKS_PER_NODE='2(x2)'",
             "run --dry-run -- touch " + mark)
          .status,
      64);
  const Outcome json = Muster("", "launch -n 2 --json -- touch " + mark);
  EXPECT_EQ(json.status, 64);
  EXPECT_THAT(json.out, HasSubstr("--dry-run"));
}

}  // namespace
}  // namespace muster::cli
