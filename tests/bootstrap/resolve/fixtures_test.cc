// Every captured environment gives the truth that MPI or torch.distributed told in that very process.
#include "tests/bootstrap/resolve/fixtures.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bootstrap/join/meeting.h"
#include "bootstrap/resolve/detect.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

using testing_support::AllExpected;
using testing_support::ExpectedRank;
using testing_support::Fixture;

Environment Load(const ExpectedRank& expected) {
  return Fixture(expected.folder + "/" + expected.file.substr(0, expected.file.size() - 4));
}

// "3": exactly 3; "?3": 3 or unknown.
void ExpectNumber(std::string_view expected, std::optional<int> got, const std::string& where) {
  const bool may_be_unknown = expected.substr(0, 1) == "?";
  if (may_be_unknown && !got) return;
  EXPECT_EQ(got, ParseInteger<int>(expected.substr(may_be_unknown ? 1 : 0))) << where;
}

TEST(Fixtures, GiveTheTruth) {
  int cases = 0;
  for (const ExpectedRank& expected : AllExpected()) {
    const std::string where = expected.folder + "/" + expected.file;
    const auto got = Resolve(Load(expected));
    ++cases;
    if (expected.rank == "-") {
      ASSERT_FALSE(got) << where;
      EXPECT_EQ(got.error().error.code, Code::kNotLaunched) << where;
      EXPECT_TRUE(got.error().allocation) << where;
      continue;
    }
    if (expected.rank == "!") {
      ASSERT_FALSE(got) << where;
      EXPECT_EQ(got.error().error.code, Code::kBadEnvironment) << where;
      continue;
    }
    ASSERT_TRUE(got) << where << ": " << got.error().error.message;
    ExpectNumber(expected.rank, got->tuple.rank, where);
    ExpectNumber(expected.world_size, got->tuple.world_size, where);
    ExpectNumber(expected.local_rank, got->tuple.local_rank, where);
    ExpectNumber(expected.local_world_size, got->tuple.local_world_size, where);
    EXPECT_EQ(got->tuple.node.value_or(expected.host), expected.host) << where;
  }
  EXPECT_GE(cases, 162);
}

TEST(Fixtures, NameTheLauncher) {
  const std::map<std::string, std::string> launchers = {{"array-3", "slurm"},
                                                        {"deepspeed", "deepspeed"},
                                                        {"hetjob-both", "slurm"},
                                                        {"mpirun-mpich-alone", "hydra"},
                                                        {"mpirun-ompi-in-salloc", "openmpi"},
                                                        {"openmpi4.1.0-alone", "openmpi"},
                                                        {"openmpi5.0-alone", "openmpi"},
                                                        {"openmpi6.0-alone", "openmpi"},
                                                        {"slurm20.11-mpirun-mpich-in-sbatch", "hydra"},
                                                        {"slurm20.11-mpirun-openmpi-in-sbatch", "openmpi"},
                                                        {"slurm20.11-srun-pmi2", "slurm"},
                                                        {"slurm20.11-srun-pmix", "slurm"},
                                                        {"slurm24.11-mpirun-mpich-in-sbatch", "hydra"},
                                                        {"slurm24.11-mpirun-openmpi-in-sbatch", "openmpi"},
                                                        {"slurm24.11-srun-pmi2", "slurm"},
                                                        {"slurm24.11-srun-pmix", "slurm"},
                                                        {"slurm26.05-mpirun-mpich-in-sbatch", "hydra"},
                                                        {"slurm26.05-mpirun-openmpi-in-sbatch", "openmpi"},
                                                        {"slurm26.05-srun-pmi2", "slurm"},
                                                        {"sbatch-step", "slurm"},
                                                        {"sbatch-torchrun", "torchrun"},
                                                        {"slurm25.11-step-plain", "slurm"},
                                                        {"srun-block", "slurm"},
                                                        {"srun-boilerplate", "slurm"},
                                                        {"srun-cyclic", "slurm"},
                                                        {"srun-mpspawn", "torch-env"},
                                                        {"srun-one", "slurm"},
                                                        {"srun-pmi2", "slurm"},
                                                        {"srun-pmix", "slurm"},
                                                        {"srun-stale-rank", "slurm"},
                                                        {"srun-torchrun-c10d", "torchrun"},
                                                        {"torchrun-standalone", "torchrun"}};
  for (const auto& [folder, launcher] : launchers) {
    const auto got = Resolve(Fixture(folder + "/0"));
    ASSERT_TRUE(got) << folder << ": " << got.error().error.message;
    EXPECT_EQ(got->tuple.launcher, launcher) << folder;
  }
}

TEST(Fixtures, NameTheNode) {
  for (const ExpectedRank& expected : AllExpected()) {
    const auto got = Resolve(Load(expected));
    if (!got) continue;
    // Nothing in these two says it, and a captured environment has no host to ask.
    const bool said = expected.folder != "torchrun-standalone" && expected.folder != "deepspeed";
    EXPECT_EQ(got->tuple.node.has_value(), said) << expected.folder << "/" << expected.file;
  }
}

struct Plan {
  FindRoot find_root;
  std::string root;  // the first node, the host, or the store that says it
  size_t nodes;
};

std::string RootOf(const Meeting& meeting) {
  if (meeting.torch_store) return ToString(*meeting.torch_store);
  return meeting.host.empty() && !meeting.placement.nodes.empty() ? meeting.placement.nodes[0].name
                                                                  : meeting.host;
}

const std::map<std::string, Plan>& Plans() {
  static const std::map<std::string, Plan> plans = {
      {"array-3", {FindRoot::kFirstNode, "gpu01", 2}},
      {"deepspeed", {FindRoot::kSameNode, "", 0}},
      {"hetjob-both", {FindRoot::kFirstNode, "gpu01", 3}},
      {"mpirun-mpich-alone", {FindRoot::kSameNode, "", 0}},
      {"mpirun-ompi-in-salloc", {FindRoot::kSearch, "gpu01", 3}},
      {"openmpi4.1.0-alone", {FindRoot::kSameNode, "", 0}},
      {"openmpi5.0-alone", {FindRoot::kSameNode, "", 0}},
      {"openmpi6.0-alone", {FindRoot::kSameNode, "", 0}},
      {"slurm20.11-mpirun-mpich-in-sbatch", {FindRoot::kSearch, "gpu01", 3}},
      {"slurm20.11-mpirun-openmpi-in-sbatch", {FindRoot::kSearch, "gpu01", 3}},
      {"slurm20.11-srun-pmi2", {FindRoot::kFirstNode, "gpu01", 3}},
      {"slurm20.11-srun-pmix", {FindRoot::kFirstNode, "gpu01", 3}},
      {"slurm24.11-mpirun-mpich-in-sbatch", {FindRoot::kSearch, "gpu01", 3}},
      {"slurm24.11-mpirun-openmpi-in-sbatch", {FindRoot::kSearch, "gpu01", 3}},
      {"slurm24.11-srun-pmi2", {FindRoot::kFirstNode, "gpu01", 3}},
      {"slurm24.11-srun-pmix", {FindRoot::kFirstNode, "gpu01", 3}},
      {"slurm26.05-mpirun-mpich-in-sbatch", {FindRoot::kSearch, "gpu01", 3}},
      {"slurm26.05-mpirun-openmpi-in-sbatch", {FindRoot::kSearch, "gpu01", 3}},
      {"slurm26.05-srun-pmi2", {FindRoot::kFirstNode, "gpu01", 3}},
      {"sbatch-step", {FindRoot::kFirstNode, "gpu01", 3}},
      {"sbatch-torchrun", {FindRoot::kSameNode, "", 0}},
      {"slurm25.11-step-plain", {FindRoot::kFirstNode, "r01", 3}},
      {"srun-block", {FindRoot::kFirstNode, "gpu01", 4}},
      {"srun-boilerplate", {FindRoot::kFirstNode, "gpu001", 2}},
      {"srun-cyclic", {FindRoot::kFirstNode, "gpu01", 3}},
      {"srun-mpspawn", {FindRoot::kHost, "gpu001", 0}},
      {"srun-one", {FindRoot::kSameNode, "gpu01", 1}},
      {"srun-pmi2", {FindRoot::kFirstNode, "gpu01", 3}},
      {"srun-pmix", {FindRoot::kFirstNode, "gpu01", 3}},
      {"srun-stale-rank", {FindRoot::kFirstNode, "gpu001", 2}},
      {"srun-torchrun-c10d", {FindRoot::kEndpointStore, "gpu001:45401", 0}},
      {"torchrun-standalone", {FindRoot::kSameNode, "", 0}},
  };
  return plans;
}

Meeting MeetingOf(const ExpectedRank& expected) {
  const Environment environment = Load(expected);
  const auto resolution = Resolve(environment);
  if (!resolution) return {};
  const auto meeting = join::PlanMeeting(*resolution, environment, RendezvousOptions{});
  EXPECT_TRUE(meeting) << expected.folder << ": " << meeting.error().message;
  return meeting ? *meeting : Meeting{};
}

TEST(Fixtures, AllRanksPlanOneMeetingAndNoTwoLaunchesShareIt) {
  std::map<std::string, Meeting> meetings;
  for (const ExpectedRank& expected : AllExpected()) {
    if (expected.rank == "-" || expected.rank == "!") continue;
    const Meeting meeting = MeetingOf(expected);
    const auto [it, first] = meetings.emplace(expected.folder, meeting);
    EXPECT_TRUE(first || it->second == meeting)
        << expected.folder << "/" << expected.file << ": " << meeting.key;
  }
  ASSERT_EQ(meetings.size(), Plans().size());
  std::set<std::string> keys;
  std::set<std::string> job_keys;
  for (const auto& [folder, meeting] : meetings) {
    EXPECT_TRUE(keys.insert(meeting.key).second) << folder << ": " << meeting.key;
    EXPECT_TRUE(job_keys.insert(meeting.job_key).second) << folder << ": " << meeting.job_key;
    const Plan& plan = Plans().at(folder);
    EXPECT_EQ(meeting.find_root, plan.find_root) << folder;
    EXPECT_EQ(meeting.placement.nodes.size(), plan.nodes) << folder;
    EXPECT_EQ(RootOf(meeting), plan.root) << folder;
  }
}

// Where the layout is derived, it is the one that really was.
TEST(Fixtures, PlaceEveryRankWhereItRan) {
  int derived = 0;
  for (const ExpectedRank& expected : AllExpected()) {
    const auto rank = ParseInteger<size_t>(expected.rank);
    if (!rank) continue;
    const Placement placement = MeetingOf(expected).placement;
    if (placement.node_of_rank.empty()) continue;
    ++derived;
    const auto node = static_cast<size_t>(placement.node_of_rank.at(*rank));
    EXPECT_EQ(placement.nodes.at(node).name, expected.host) << expected.folder << "/" << expected.file;
  }
  EXPECT_EQ(derived, 3 + 6 + 6 + 8 + 4 + 7 + 1 + 5 + 5 + 1 + 5 * 5);
}

}  // namespace
}  // namespace muster::resolve
