#include "bootstrap/run/program/program_environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/run/program/outer_launcher.h"

namespace muster::run {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

// Ranks 0 and 1 on gpu01, 2 on gpu02.
Roster TwoNodes() {
  Roster roster;
  roster.group_id = "0123456789abcdef0123456789abcdef";
  roster.nodes = {{"gpu01", {}}, {"gpu02", {}}};
  roster.members = {{0, 0, 10, {}}, {0, 1, 11, {}}, {1, 0, 12, {}}};
  return roster;
}

ProgramFacts FactsOf(const Roster& roster, int rank) {
  ProgramFacts facts{roster};
  facts.rank = rank;
  facts.job_key = "slurm:4.0:0";
  facts.master_host = "gpu01";
  facts.master_port = 29999;
  facts.agent_store = true;
  facts.control = "@muster-4";
  facts.supervisor_pid = 77;
  return facts;
}

std::vector<std::string> ListOf(const Variables& base, const ProgramFacts& facts) {
  return ToList(ProgramVariables(base, facts));
}

TEST(ProgramEnvironment, SetsTheTuple) {
  const Roster roster = TwoNodes();
  EXPECT_THAT(
      ListOf({}, FactsOf(roster, 1)),
      ElementsAre("GROUP_RANK=0", "GROUP_WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
                  "MASTER_ADDR=gpu01", "MASTER_PORT=29999", "MUSTER_BATCH_JOB=none",
                  "MUSTER_CONTROL=@muster-4", "MUSTER_GROUP=0123456789abcdef0123456789abcdef",
                  "MUSTER_JOB_KEY=slurm:4.0:0", "MUSTER_LOCAL_RANK=1", "MUSTER_LOCAL_WORLD_SIZE=2",
                  "MUSTER_NODE=gpu01", "MUSTER_NODE_RANK=0", "MUSTER_NUM_NODES=2", "MUSTER_RANK=1",
                  "MUSTER_SUPERVISOR_PID=77", "MUSTER_WORLD_SIZE=3", "NODE_RANK=0", "RANK=1",
                  "ROLE_NAME=default", "ROLE_RANK=1", "ROLE_WORLD_SIZE=3", "TORCHELASTIC_MAX_RESTARTS=0",
                  "TORCHELASTIC_RESTART_COUNT=0", "TORCHELASTIC_RUN_ID=muster-slurm:4.0:0",
                  "TORCHELASTIC_USE_AGENT_STORE=True", "WORLD_SIZE=3"));
  const auto other_node = ListOf({}, FactsOf(roster, 2));
  EXPECT_THAT(other_node, Contains("LOCAL_WORLD_SIZE=1"));
  EXPECT_THAT(other_node, Contains("NODE_RANK=1"));
  EXPECT_THAT(other_node, Contains("GROUP_RANK=1"));
  EXPECT_THAT(other_node, Contains("MUSTER_NODE=gpu02"));
}

TEST(ProgramEnvironment, NamesTheBatchJobOfTheSupervisor) {
  const Roster roster = TwoNodes();
  EXPECT_THAT(ListOf({{"LSB_JOBID", "7"}, {"MUSTER_BATCH_JOB", "LSB_JOBID=6"}}, FactsOf(roster, 1)),
              Contains("MUSTER_BATCH_JOB=LSB_JOBID=7"));
}

TEST(ProgramEnvironment, OfAWorldOfOneNamesNoGroup) {
  Roster roster;
  roster.nodes = {{"laptop", {}}};
  roster.members = {{0, 0, 10, {}}};
  ProgramFacts facts{roster};
  facts.job_key = "none";
  facts.master_host = "127.0.0.1";
  facts.supervisor_pid = 77;
  EXPECT_THAT(
      ListOf({{"MUSTER_RANK", "5"}, {"MUSTER_CONTROL", "@outer"}}, facts),
      ElementsAre("GROUP_RANK=0", "GROUP_WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                  "MASTER_ADDR=127.0.0.1", "MASTER_PORT=0", "NODE_RANK=0", "RANK=0", "ROLE_NAME=default",
                  "ROLE_RANK=0", "ROLE_WORLD_SIZE=1", "TORCHELASTIC_MAX_RESTARTS=0",
                  "TORCHELASTIC_RESTART_COUNT=0", "TORCHELASTIC_RUN_ID=muster-none", "WORLD_SIZE=1"));
}

TEST(ProgramEnvironment, NamesTheAgentsStoreOnlyWhereThereIsOne) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 0);
  facts.agent_store = false;
  EXPECT_THAT(ListOf({{"TORCHELASTIC_USE_AGENT_STORE", "True"}}, facts),
              Not(Contains(testing::StartsWith("TORCHELASTIC_USE_AGENT_STORE="))));
}

// Its restarts are real, and so is its role.
TEST(ProgramEnvironment, LeavesWhatTorchrunAboveSays) {
  const Roster roster = TwoNodes();
  const Variables torchrun = {{"TORCHELASTIC_RUN_ID", "none"},
                              {"TORCHELASTIC_RESTART_COUNT", "2"},
                              {"TORCHELASTIC_MAX_RESTARTS", "3"},
                              {"ROLE_NAME", "trainer"},
                              {"ROLE_RANK", "5"},
                              {"ROLE_WORLD_SIZE", "6"}};
  auto list = ListOf(torchrun, FactsOf(roster, 0));
  for (const auto& [name, value] : torchrun)
    EXPECT_THAT(list, Contains(std::string(name).append("=").append(value)));
  Variables from_muster = torchrun;
  from_muster["TORCHELASTIC_RUN_ID"] = "muster-slurm:3.0:0";
  list = ListOf(from_muster, FactsOf(roster, 0));
  EXPECT_THAT(list, Contains("TORCHELASTIC_RUN_ID=muster-slurm:4.0:0"));
  EXPECT_THAT(list, Contains("TORCHELASTIC_RESTART_COUNT=0"));
  EXPECT_THAT(list, Contains("ROLE_RANK=0"));
}

TEST(ProgramEnvironment, SetsThreadsWhereTheUserHasNot) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 0);
  EXPECT_THAT(ListOf({}, facts), Not(Contains(testing::StartsWith("OMP_NUM_THREADS="))));
  facts.threads = 4;
  EXPECT_THAT(ListOf({}, facts), Contains("OMP_NUM_THREADS=4"));
  EXPECT_THAT(ListOf({{"OMP_NUM_THREADS", "8"}}, facts), Contains("OMP_NUM_THREADS=8"));
}

TEST(ProgramEnvironment, NamesTheInterfaceThatWasChosen) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 0);
  facts.interfaces = {"ib0", "ib1"};
  auto list = ListOf({}, facts);
  EXPECT_THAT(list, Contains("GLOO_SOCKET_IFNAME=ib0"));
  list = ListOf({{"GLOO_SOCKET_IFNAME", "eth"}}, facts);
  EXPECT_THAT(list, Contains("GLOO_SOCKET_IFNAME=eth"));
}

TEST(ProgramEnvironment, SetsWhatIsConfiguredOfNcclWhereTheUserHasNot) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 0);
  facts.nccl = {{"NCCL_DEBUG", "INFO"}, {"NCCL_ALGO", "Ring"}, {"NCCL_SOCKET_IFNAME", "=ib0,ib1"}};
  auto list = ListOf({}, facts);
  EXPECT_THAT(list, Contains("NCCL_DEBUG=INFO"));
  EXPECT_THAT(list, Contains("NCCL_ALGO=Ring"));
  EXPECT_THAT(list, Contains("NCCL_SOCKET_IFNAME==ib0,ib1"));
  facts.extra = {{"NCCL_ALGO", "Tree"}};
  list = ListOf({{"NCCL_SOCKET_IFNAME", "eth"}, {"NCCL_DEBUG", ""}}, facts);
  EXPECT_THAT(list, Contains("NCCL_SOCKET_IFNAME=eth"));
  EXPECT_THAT(list, Contains("NCCL_DEBUG="));
  EXPECT_THAT(list, Contains("NCCL_ALGO=Tree"));
}

TEST(ProgramEnvironment, FillsPlaceholdersOfRunEnv) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 2);
  facts.extra = {{"ALL",
                  "${rank} ${world_size} ${local_rank} ${local_world_size} ${node_rank} ${num_nodes} ${node} "
                  "${master_addr} ${master_port} ${job_key}"},
                 {"CUDA_VISIBLE_DEVICES", "${local_rank}"},
                 {"SHELL_TEXT", "$${rank}"}};
  const auto list = ListOf({{"CUDA_VISIBLE_DEVICES", "0,1"}}, facts);
  EXPECT_THAT(list, Contains("ALL=2 3 0 1 1 2 gpu02 gpu01 29999 slurm:4.0:0"));
  EXPECT_THAT(list, Contains("CUDA_VISIBLE_DEVICES=0"));
  EXPECT_THAT(list, Contains("SHELL_TEXT=${rank}"));
}

TEST(ProgramEnvironment, ReplacesWhatIsStale) {
  const Roster roster = TwoNodes();
  const auto list =
      ListOf({{"RANK", "9"}, {"MASTER_PORT", "29500"}, {"MUSTER_GROUP", "x"}}, FactsOf(roster, 0));
  EXPECT_THAT(list, Contains("RANK=0"));
  EXPECT_THAT(list, Contains("MASTER_PORT=29999"));
  EXPECT_THAT(list, Not(Contains("MUSTER_GROUP=x")));
}

TEST(ProgramEnvironment, AddsRunEnvLast) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 0);
  facts.extra = {{"OMP_NUM_THREADS", "4"}, {"PATH", "/opt/bin"}};
  const auto list = ListOf({{"PATH", "/bin"}, {"HOME", "/h"}}, facts);
  EXPECT_THAT(list, Contains("OMP_NUM_THREADS=4"));
  EXPECT_THAT(list, Contains("PATH=/opt/bin"));
  EXPECT_THAT(list, Contains("HOME=/h"));
  EXPECT_THAT(list, Not(Contains("PATH=/bin")));
}

TEST(ProgramEnvironment, KeepsAllOfTheOuterLauncherForOneRank) {
  Variables outer = {{"CUDA_VISIBLE_DEVICES", "1"}, {"NCCL_DEBUG", "1"}, {"SLURM_JOB_ID", "1"}};
  for (const OuterVariable& variable : OuterVariables()) {
    std::string name(variable.name);
    if (name.ends_with('*')) name.back() = 'X';
    outer[name] = "1";
  }
  outer["TORCHELASTIC_RUN_ID"] = "none";
  const Roster roster = TwoNodes();
  const auto list = ListOf(outer, FactsOf(roster, 0));
  for (const auto& [name, value] : outer) EXPECT_THAT(list, Contains(fmt::format("{}={}", name, value)));
}

TEST(ProgramEnvironment, RemovesSecretsAndWhatChoseTheLauncher) {
  const Roster roster = TwoNodes();
  ProgramFacts facts = FactsOf(roster, 0);
  facts.agent_store = false;
  for (const std::string name : {"MUSTER_LAUNCHER", "MUSTER_SECRET", "TORCHELASTIC_USE_AGENT_STORE"})
    EXPECT_THAT(ListOf({{name, "1"}}, facts), Not(Contains(StartsWith(name + "="))));
}

TEST(CheckExtraVariables, RefusesWhatMusterSetsItself) {
  EXPECT_TRUE(CheckExtraVariables({{"OMP_NUM_THREADS", "4"}, {"MUSTER_TIMEOUTS_COLLECTIVE", "1h"}}));
  for (const char* name : {"RANK", "MASTER_ADDR", "MUSTER_CONTROL", "TORCHELASTIC_USE_AGENT_STORE"}) {
    const Status status = CheckExtraVariables({{name, "1"}});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kConfiguration);
    EXPECT_EQ(status.error().message, std::string("run.env sets ") + name + ", which muster sets itself");
  }
}

}  // namespace
}  // namespace muster::run
