// Each error in a launcher's numbers is Malformed and named by its variable, for every launcher
// alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bootstrap/resolve/launchers/launchers.h"
#include "tests/bootstrap/resolve/fixtures.h"

namespace muster::resolve {
namespace {

using testing::HasSubstr;

// Rank 1 of 4, local rank 1 of 2 on node 0 of 2, as far as the launcher has it.
struct Sound {
  std::string launcher;
  std::string environment;
  std::string rank;
  std::string size;
  std::vector<std::string> others;
  bool half_is_malformed = true;
};

const std::vector<Sound>& Written() {
  static const std::vector<Sound> all = {
      {"muster",
       "MUSTER_RANK=1\nMUSTER_WORLD_SIZE=4\nMUSTER_LOCAL_RANK=1\nMUSTER_LOCAL_WORLD_SIZE=2\nMUSTER_NODE_RANK="
       "0\n"
       "MUSTER_NUM_NODES=2\nMUSTER_GROUP=0123456789abcdef0123456789abcdef\nMUSTER_CONTROL=@x\n",
       "MUSTER_RANK",
       "MUSTER_WORLD_SIZE",
       {"MUSTER_LOCAL_RANK", "MUSTER_LOCAL_WORLD_SIZE", "MUSTER_NODE_RANK", "MUSTER_NUM_NODES"}},
      {"torchrun",
       "TORCHELASTIC_RUN_ID=r\nRANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nGROUP_RANK=0\n"
       "GROUP_WORLD_SIZE=2\nTORCHELASTIC_RESTART_COUNT=0\n",
       "RANK",
       "WORLD_SIZE",
       {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"}},
      {"deepspeed",
       "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_SIZE=2\nCROSS_RANK=0\nCROSS_SIZE=2\n",
       "RANK",
       "WORLD_SIZE",
       {"LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"},
       false},
      {"ray",
       "RAY_JOB_ID=01\nRANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nNODE_RANK=0\n",
       "RANK",
       "WORLD_SIZE",
       {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"},
       false},
      {"openmpi",
       "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
       "OMPI_COMM_WORLD_LOCAL_SIZE=2\nOMPI_MCA_orte_num_nodes=2\n",
       "OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_SIZE",
       {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_orte_num_nodes"}},
      {"hydra",
       "PMI_RANK=1\nPMI_SIZE=4\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\n",
       "PMI_RANK",
       "PMI_SIZE",
       {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}},
      {"slurm",
       "SLURM_JOB_ID=9\nSLURM_STEP_ID=0\nSLURM_STEP_NODELIST=n[1-2]\nSLURM_STEP_NUM_NODES=2\nSLURM_STEP_NUM_"
       "TASKS=4\n"
       "SLURM_PROCID=1\nSLURM_LOCALID=1\nSLURM_NODEID=0\nSLURMD_NODENAME=n1\nSLURM_RESTART_COUNT=0\n",
       "SLURM_PROCID",
       "SLURM_STEP_NUM_TASKS",
       {"SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_NUM_NODES", "SLURM_RESTART_COUNT"},
       false},
      {"pmi",
       "PMI_RANK=1\nPMI_SIZE=4\nPMI_LOCAL_RANK=1\nPMI_LOCAL_SIZE=2\n",
       "PMI_RANK",
       "PMI_SIZE",
       {"PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"}},
      {"azureml",
       "AZUREML_RUN_ID=run\nRANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nNODE_RANK=0\n",
       "RANK",
       "WORLD_SIZE",
       {"LOCAL_RANK", "NODE_RANK"},
       false},
      {"torch-env",
       "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nGROUP_RANK=0\nGROUP_WORLD_SIZE=2\n",
       "RANK",
       "WORLD_SIZE",
       {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"}},
  };
  return all;
}

// Those and every documented environment, by the variables of the row.
std::vector<Sound> AllSound() {
  std::vector<Sound> all = Written();
  for (const Documented& one : AllDocumented()) {
    const TupleVariables& tuple = Launchers().Of(one.launcher).tuple;
    Sound sound{one.launcher, "", std::string(tuple.rank), std::string(tuple.world_size), {}, false};
    for (const auto& [name, value] : one.environment.All()) sound.environment += name + "=" + value + "\n";
    for (const std::string_view other :
         {tuple.local_rank, tuple.local_world_size, tuple.node_rank, tuple.num_nodes})
      if (!other.empty()) sound.others.emplace_back(other);
    all.push_back(std::move(sound));
  }
  return all;
}

Probed Probe(const Sound& sound, const Environment& environment) {
  return FindLauncher(sound.launcher)->Probe(environment, {});
}

class EveryLauncherTest : public testing::TestWithParam<Sound> {
 protected:
  // The message; fails if it is no Malformed of the right code.
  std::string MessageWith(std::initializer_list<Change> changes) {
    const Probed probed = Probe(GetParam(), Changed(Env(GetParam().environment), changes));
    const auto* malformed = std::get_if<Malformed>(&probed);
    if (malformed == nullptr) {
      ADD_FAILURE() << GetParam().launcher << ": not malformed";
      return {};
    }
    EXPECT_EQ(malformed->error.code, Code::kBadEnvironment);
    return malformed->error.message;
  }
};

TEST_P(EveryLauncherTest, IsSoundAsGiven) {
  const Probed probed = Probe(GetParam(), Env(GetParam().environment));
  ASSERT_TRUE(std::holds_alternative<Candidate>(probed)) << GetParam().launcher;
  EXPECT_EQ(std::get<Candidate>(probed).tuple.launcher, GetParam().launcher);
  EXPECT_EQ(std::get<Candidate>(probed).tuple.world_size, 4);
}

TEST_P(EveryLauncherTest, NamesTheVariableThatIsNoNumber) {
  std::vector<std::string> variables = GetParam().others;
  variables.insert(variables.end(), {GetParam().rank, GetParam().size});
  for (const std::string& variable : variables) {
    for (const char* value : {" 1", "1 ", "x", "1.0", "0x1", "+1", "\"1\"", "'1'", "1,2", "$SLURM_PROCID",
                              "2147483648", "99999999999999999999"}) {
      EXPECT_EQ(MessageWith({{variable, value}}),
                fmt::format("{}=\"{}\" is not a whole number from 0 to 2147483647", variable, value));
    }
    EXPECT_EQ(MessageWith({{variable, "-1"}}), fmt::format("{}=-1 is negative", variable));
    EXPECT_EQ(MessageWith({{variable, ""}}), fmt::format("{} is set but empty", variable));
  }
}

TEST_P(EveryLauncherTest, NamesARankOutsideItsWorld) {
  EXPECT_EQ(MessageWith({{GetParam().rank, "4"}}),
            fmt::format("{}=4 is outside {}=4", GetParam().rank, GetParam().size));
  EXPECT_EQ(MessageWith({{GetParam().size, "0"}}),
            fmt::format("{}=0: there is at least one", GetParam().size));
}

TEST_P(EveryLauncherTest, NamesBothHalvesOfAPair) {
  for (const std::string& half : {GetParam().size, GetParam().rank}) {
    const Environment without = Changed(Env(GetParam().environment), {{half, std::nullopt}});
    EXPECT_FALSE(std::holds_alternative<Candidate>(Probe(GetParam(), without))) << half;
  }
  if (!GetParam().half_is_malformed) return;
  EXPECT_THAT(MessageWith({{GetParam().size, std::nullopt}}),
              HasSubstr(fmt::format("is set but {} is not: half a pair", GetParam().size)));
  // A bare WORLD_SIZE may be a user's export: a claim without a rank.
  if (GetParam().launcher == "torch-env") return;
  EXPECT_THAT(MessageWith({{GetParam().rank, std::nullopt}}),
              HasSubstr(fmt::format("is set but {} is not: half a pair", GetParam().rank)));
}

INSTANTIATE_TEST_SUITE_P(Malformed, EveryLauncherTest, testing::ValuesIn(AllSound()), [](const auto& sound) {
  std::string name = sound.param.launcher;
  std::erase(name, '-');
  return name;
});

// The same of every captured environment, by the variables of the row.
TEST(CapturedLauncher, NamesTheVariableThatIsNoNumber) {
  for (const ExpectedMeeting& captured : AllMeetings()) {
    const Launcher& launcher = Launchers().Of(captured.launcher);
    const Environment environment = Fixture(captured.folder + "/0");
    for (const std::string_view variable : {launcher.tuple.rank, launcher.tuple.world_size}) {
      const Probed probed = launcher.probe(Changed(environment, {{variable, "x"}}), {});
      const auto* malformed = std::get_if<Malformed>(&probed);
      ASSERT_NE(malformed, nullptr) << captured.folder << ": " << variable;
      EXPECT_EQ(malformed->error.message,
                fmt::format("{}=\"x\" is not a whole number from 0 to 2147483647", variable));
    }
  }
}

// A row with a pair of its own has a captured environment, a documented one, or one above.
TEST(EveryLauncher, HasAnEnvironment) {
  std::set<std::string, std::less<>> with;
  for (const Sound& sound : AllSound()) with.insert(sound.launcher);
  for (const ExpectedMeeting& meeting : AllMeetings()) with.insert(meeting.launcher);
  for (const Launcher* launcher : Launchers()) {
    if (launcher->role == LauncherRole::kFlags || launcher->tuple.rank.empty()) continue;
    EXPECT_TRUE(with.contains(launcher->name)) << launcher->name;
  }
}

}  // namespace
}  // namespace muster::resolve
