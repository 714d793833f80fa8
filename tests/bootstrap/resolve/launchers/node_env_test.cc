// NODE_RANK and LOCAL_RANK without a RANK: inferred where all nodes are even, else refused.
#include <gtest/gtest.h>

#include "bootstrap/resolve/launchers/launchers.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

std::string Legacy(int node, int local, int world) {
  return fmt::format("NODE_RANK={}\nLOCAL_RANK={}\nWORLD_SIZE={}\nMASTER_ADDR=n1\nMASTER_PORT=29500\n", node,
                     local, world);
}

TEST(NodeEnv, MultipliesWhereAllNodesAreEven) {
  for (const char* how : {"LOCAL_WORLD_SIZE=3\n", "NNODES=2\n", "LOCAL_WORLD_SIZE=3\nNNODES=2\n"}) {
    const RankTuple tuple = MustResolve(Env(Legacy(1, 2, 6) + how)).tuple;
    EXPECT_EQ(tuple.launcher, "node-env") << how;
    EXPECT_EQ(tuple.rank, 5) << how;
    EXPECT_EQ(tuple.world_size, 6) << how;
    EXPECT_EQ(tuple.local_rank, 2) << how;
    EXPECT_EQ(tuple.local_world_size, 3) << how;
    EXPECT_EQ(tuple.node_rank, 1) << how;
    EXPECT_EQ(tuple.num_nodes, 2) << how;
    EXPECT_EQ(tuple.master, (Endpoint{"n1", 29500})) << how;
  }
}

TEST(NodeEnv, SaysHow) {
  const Resolution resolution = MustResolve(Env(Legacy(1, 2, 6) + "NNODES=2\n"));
  ASSERT_GE(resolution.sources.size(), 4u);
  EXPECT_EQ(resolution.sources[0], (FieldSource{"rank", "NODE_RANK x 3 + LOCAL_RANK", ""}));
  EXPECT_EQ(resolution.sources[3], (FieldSource{"local_world_size", "WORLD_SIZE / NNODES", ""}));
}

// Pods: rank 0's own address.
TEST(NodeEnv, TakesNoAnyAddressForOneNode) {
  for (const char* any : {"0.0.0.0", "::"}) {
    const std::string rank =
        fmt::format("NODE_RANK=0\nLOCAL_RANK=0\nWORLD_SIZE=4\nMASTER_ADDR={}\nMASTER_PORT=1\n", any);
    EXPECT_EQ(
        MustRefuse(Env(rank)).error.message,
        "NODE_RANK and LOCAL_RANK are set but RANK is not, and the number of ranks of a node is unknown")
        << any;
  }
}

// As Lightning's own launcher sets it on one machine.
TEST(NodeEnv, TakesALoopbackMasterForOneNode) {
  for (const char* here : {"127.0.0.1", "localhost", "::1"}) {
    const RankTuple tuple =
        MustResolve(Env(fmt::format(
                        "NODE_RANK=0\nLOCAL_RANK=1\nWORLD_SIZE=4\nMASTER_ADDR={}\nMASTER_PORT=1\n", here)))
            .tuple;
    EXPECT_EQ(tuple.rank, 1) << here;
    EXPECT_EQ(tuple.local_world_size, 4) << here;
    EXPECT_EQ(tuple.num_nodes, 1) << here;
  }
}

TEST(NodeEnv, IsRefusedWhereNodesAreOrMayBeUneven) {
  const auto message = [](const std::string& text) {
    const Refusal refusal = MustRefuse(Env(text));
    EXPECT_EQ(refusal.error.code, Code::kBadEnvironment);
    return refusal.error.message;
  };
  const std::string start = "NODE_RANK and LOCAL_RANK are set but RANK is not, and ";
  EXPECT_EQ(message(Legacy(1, 0, 4)), start + "the number of ranks of a node is unknown");
  EXPECT_EQ(message(Legacy(0, 0, 4)), start + "the number of ranks of a node is unknown");
  EXPECT_EQ(message(Legacy(1, 0, 5) + "NNODES=2\n"), start + "WORLD_SIZE=5 is not a multiple of NNODES=2");
  EXPECT_EQ(message(Legacy(1, 0, 5) + "LOCAL_WORLD_SIZE=2\n"),
            start + "WORLD_SIZE=5 is not a multiple of LOCAL_WORLD_SIZE=2");
  EXPECT_EQ(message(Legacy(1, 0, 6) + "LOCAL_WORLD_SIZE=2\nNNODES=2\n"),
            start + "LOCAL_WORLD_SIZE=2 on NNODES=2 are not WORLD_SIZE=6");
}

TEST(NodeEnv, NamesWhatIsMalformed) {
  const auto message = [](const std::string& text) {
    const Probed probed = FindLauncher("node-env")->Probe(Env(text), {});
    const auto* malformed = std::get_if<Malformed>(&probed);
    return malformed != nullptr ? malformed->error.message : "not malformed";
  };
  EXPECT_EQ(message("NODE_RANK=x\nLOCAL_RANK=0\nWORLD_SIZE=4\n"),
            "NODE_RANK=\"x\" is not a whole number from 0 to 2147483647");
  EXPECT_EQ(message("NODE_RANK=0\nLOCAL_RANK=-1\nWORLD_SIZE=4\n"), "LOCAL_RANK=-1 is negative");
  EXPECT_EQ(message("NODE_RANK=0\nLOCAL_RANK=0\nWORLD_SIZE=0\n"), "WORLD_SIZE=0: there is at least one");
  EXPECT_EQ(message("NODE_RANK=0\nLOCAL_RANK=0\nWORLD_SIZE=4\nNNODES=\n"), "NNODES is set but empty");
  EXPECT_EQ(message("NODE_RANK=0\nLOCAL_RANK=2\nWORLD_SIZE=4\nNNODES=2\n"),
            "LOCAL_RANK=2 is outside the 2 ranks of a node");
  EXPECT_EQ(message("NODE_RANK=2\nLOCAL_RANK=0\nWORLD_SIZE=4\nNNODES=2\n"), "NODE_RANK=2 is outside 2 nodes");
}

TEST(NodeEnv, IsNoneOfItsBusinessWhereThereIsARank) {
  for (const char* text : {"NODE_RANK=1\nWORLD_SIZE=4\n", "NODE_RANK=1\nLOCAL_RANK=0\n",
                           "NODE_RANK=1\nLOCAL_RANK=0\nWORLD_SIZE=4\nRANK=2\n"}) {
    EXPECT_TRUE(std::holds_alternative<Absent>(FindLauncher("node-env")->Probe(Env(text), {}))) << text;
  }
}

// Lightning in an interactive `srun -n1 --pty`, and scripts that start a node's ranks from one task on each.
TEST(NodeEnv, NestsInItsCarrier) {
  const std::string local = "NODE_RANK=0\nLOCAL_RANK=1\nWORLD_SIZE=2\nMASTER_ADDR=127.0.0.1\nMASTER_PORT=1\n";
  EXPECT_EQ(MustResolve(Env(OneTaskANode(1, 0) + local)).tuple.launcher, "node-env");
  const Resolution spread = MustResolve(Env(OneTaskANode(2, 1) + Legacy(1, 0, 4) + "NNODES=2\n"));
  EXPECT_EQ(spread.tuple.launcher, "node-env");
  EXPECT_EQ(spread.tuple.rank, 2);
  EXPECT_EQ(MustRefuse(Env(OneTaskANode(4, 2) + Legacy(0, 0, 4) + "NNODES=4\n")).error.code,
            Code::kBadEnvironment);
}

}  // namespace
}  // namespace muster::resolve
