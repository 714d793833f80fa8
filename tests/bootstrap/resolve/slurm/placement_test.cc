#include "bootstrap/resolve/slurm/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bootstrap/resolve/fixtures.h"

namespace muster::resolve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Placement Place(const Environment& environment) {
  auto placement = PlacementOfSlurmStep(environment);
  if (!placement) {
    ADD_FAILURE() << placement.error().message;
    return {};
  }
  return *std::move(placement);
}

// Node `node` of a step, with that node's ranks.
Environment Step(std::string_view nodes, std::string_view counts, int tasks, std::string_view distribution,
                 int node, std::string_view name, std::string_view task_ids) {
  return Env(
      fmt::format("SLURM_STEP_NODELIST={}\nSLURM_STEP_TASKS_PER_NODE={}\nSLURM_STEP_NUM_TASKS={}\n"
                  "SLURM_DISTRIBUTION={}\nSLURM_NODEID={}\nSLURMD_NODENAME={}\nSLURM_GTIDS={}\n",
                  nodes, counts, tasks, distribution, node, name, task_ids));
}

TEST(Placement, NamesTheNodesAndTheirTasks) {
  const Placement placement = Place(Fixture("srun-cyclic/0"));
  EXPECT_THAT(placement.nodes, ElementsAre(Placement::Node{"gpu01", 5}, Placement::Node{"gpu02", 1},
                                           Placement::Node{"gpu03", 1}));
  EXPECT_THAT(placement.node_of_rank, ElementsAre(0, 1, 2, 0, 0, 0, 0));
}

TEST(Placement, OfBlocksIsNotEven) {
  EXPECT_THAT(Place(Step("r[1-2]", "3,1", 4, "block", 1, "r2", "3")).node_of_rank, ElementsAre(0, 0, 0, 1));
  // The container passes an empty SLURMD_NODENAME on.
  EXPECT_THAT(Place(Step("r[1-2]", "3,1", 4, "block", 1, "", "3")).node_of_rank, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Place(Step("r[1-2]", "3,1", 4, "block:cyclic", 0, "r1", "0,1,2")).node_of_rank,
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Place(Step("r[1-2]", "3,1", 4, "block,NoPack", 0, "r1", "0,1,2")).node_of_rank,
              ElementsAre(0, 0, 0, 1));
}

TEST(Placement, OfPlanesAsMeasured) {
  // Slurm 22.05: plane=2 with 8 tasks on 3 nodes gave 6,1,1 and SLURM_GTIDS 0,1,4,5,6,7 | 2 | 3.
  const auto expected = ElementsAre(0, 0, 1, 2, 0, 0, 0, 0);
  EXPECT_THAT(Place(Step("r[1-3]", "6,1(x2)", 8, "plane=2", 0, "r1", "0,1,4,5,6,7")).node_of_rank, expected);
  EXPECT_THAT(Place(Step("r[1-3]", "6,1(x2)", 8, "plane=2", 1, "r2", "2")).node_of_rank, expected);
  EXPECT_THAT(Place(Step("r[1-3]", "6,1(x2)", 8, "plane=2", 2, "r3", "3")).node_of_rank, expected);
  const Environment old =
      Changed(Step("r[1-3]", "6,1(x2)", 8, "plane", 2, "r3", "3"), {{"SLURM_DIST_PLANESIZE", "2"}});
  EXPECT_THAT(Place(old).node_of_rank, expected);
}

TEST(Placement, IsLeftOpenWhereItCannotBeDerived) {
  for (const char* distribution : {"arbitrary", "plane", "plane=0", "plane=x", "unknown", ""}) {
    const Placement placement = Place(Step("r[1-2]", "2(x2)", 4, distribution, 0, "r1", "0,1"));
    EXPECT_THAT(placement.node_of_rank, IsEmpty()) << distribution;
    EXPECT_THAT(placement.nodes, ElementsAre(Placement::Node{"r1", 2}, Placement::Node{"r2", 2}))
        << distribution;
  }
  const Environment block = Step("r[1-2]", "2(x2)", 4, "block", 0, "r1", "0,1");
  EXPECT_THAT(Place(block).node_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Place(Changed(block, {{"SLURM_HET_SIZE", "2"}})).node_of_rank, IsEmpty());
}

TEST(Placement, IsLeftOpenWhereThisTaskKnowsBetter) {
  const auto of = [](const Environment& environment) { return Place(environment).node_of_rank; };
  EXPECT_THAT(of(Step("r[1-2]", "2(x2)", 4, "block", 0, "r1", "0,2")), IsEmpty());
  EXPECT_THAT(of(Step("r[1-2]", "2(x2)", 4, "block", 0, "r2", "0,1")), IsEmpty());
  EXPECT_THAT(of(Step("r[1-2]", "2(x2)", 4, "block", 2, "r1", "0,1")), IsEmpty());
}

TEST(Placement, KeepsOnlyTheNamesWhereTheCountsDoNotFit) {
  for (const char* counts : {"2(x3)", "2,1"}) {
    const Placement placement = Place(Step("r[1-2]", counts, 4, "block", 0, "r1", "0,1"));
    EXPECT_THAT(placement.nodes, ElementsAre(Placement::Node{"r1", 0}, Placement::Node{"r2", 0})) << counts;
    EXPECT_THAT(placement.node_of_rank, IsEmpty()) << counts;
  }
}

TEST(Placement, IsBoundedForAnyNumberOfTasks) {
  const Placement placement = Place(Step("r[1-2]", "2147483646,1", 2147483647, "cyclic", 1, "r2", "1"));
  EXPECT_EQ(placement.nodes[0].tasks, 2147483646);
  EXPECT_THAT(placement.node_of_rank, IsEmpty());
}

TEST(Placement, NamesTheVariable) {
  const auto message = [](const Environment& environment) {
    return PlacementOfSlurmStep(environment).error().message;
  };
  EXPECT_EQ(message(Environment()), "SLURM_STEP_NODELIST is not set");
  EXPECT_EQ(message(Step("r[", "2", 2, "block", 0, "r1", "0,1")),
            "SLURM_STEP_NODELIST: \"r[\" is not a host list: a \"[\" without its \"]\"");
  EXPECT_EQ(message(Step("r1", "x", 2, "block", 0, "r1", "0,1")),
            "SLURM_STEP_TASKS_PER_NODE: \"x\" is not a list of tasks per node such as 2(x3),1: \"x\" is not "
            "a count");
}

TEST(NodesOfSlurmJob, AreThoseOfTheWholeJob) {
  EXPECT_THAT(
      NodesOfSlurmJob(Fixture("mpirun-ompi-in-salloc/5"))->nodes,
      ElementsAre(Placement::Node{"gpu01", 0}, Placement::Node{"gpu02", 0}, Placement::Node{"gpu03", 0}));
  EXPECT_THAT(NodesOfSlurmJob(Environment())->nodes, IsEmpty());
}

}  // namespace
}  // namespace muster::resolve
