// The meeting of all fixtures is in fixtures_test.cc; here are the rules one by one.
#include "bootstrap/join/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::join {
namespace {

using resolve::Change;
using resolve::Changed;
using resolve::Env;
using resolve::Fixture;
using resolve::Hydra;
using resolve::Openmpi;
using testing::ElementsAre;
using testing::IsEmpty;

Result<Meeting> Plan(const Environment& environment, const RendezvousOptions& options = {},
                     const resolve::DetectOptions& detect = {}) {
  const auto resolution = resolve::Resolve(environment, detect);
  if (!resolution) {
    ADD_FAILURE() << resolution.error().error.message;
    return Meeting{};
  }
  return PlanMeeting(*resolution, environment, options, detect.explicit_tuple.endpoint);
}

Meeting MustPlan(const Environment& environment, const RendezvousOptions& options = {},
                 const resolve::DetectOptions& detect = {}) {
  auto meeting = Plan(environment, options, detect);
  if (!meeting) {
    ADD_FAILURE() << meeting.error().message;
    return {};
  }
  return *std::move(meeting);
}

Environment LiveAs(const Environment& environment, uid_t uid, pid_t pmi_server = 0) {
  return environment.AsProcess(
      {.pid = 5, .parent = 4, .uid = uid, .host_name = "h", .pmi_server = pmi_server});
}

TEST(MeetingKey, OfASlurmStep) {
  const Meeting meeting = MustPlan(Fixture("srun-block/5"));
  EXPECT_EQ(meeting.key, "slurm uid=0 cluster=mini job=2 step=0");
  EXPECT_EQ(meeting.job_key, "slurm uid=0 cluster=mini job=2 step=0 size=8 restart=0");
  EXPECT_EQ(MustPlan(Fixture("slurm25.11-step-plain/5")).job_key,
            "slurm uid=0 cluster=rs25 job=1 step=0 size=6 restart=0 start=1795164010");
}

TEST(Meeting, LeavesThePortsOfOthersInASlurmJobAlone) {
  EXPECT_EQ(MustPlan(Fixture("srun-block/5")).ports_of_others, std::vector<uint16_t>{61442});
  EXPECT_EQ(MustPlan(Fixture("srun-block/0")).ports_of_others, std::vector<uint16_t>{61442});
  const Meeting by_hand =
      MustPlan(Env("RANK=0\nWORLD_SIZE=2\nLOCAL_RANK=0\nLOCAL_WORLD_SIZE=1\nMASTER_ADDR=a\nMASTER_PORT=1\n"));
  EXPECT_TRUE(by_hand.ports_of_others.empty());
}

TEST(MeetingKey, TellsStepsJobsClustersUsersApart) {
  const Environment task = Fixture("srun-block/5");
  const std::string key = MustPlan(LiveAs(task, 1000)).key;
  EXPECT_EQ(key, "slurm uid=1000 cluster=mini job=2 step=0");
  EXPECT_NE(MustPlan(LiveAs(task, 1001)).key, key);
  const auto with = [&](std::initializer_list<Change> changes) {
    return MustPlan(LiveAs(Changed(task, changes), 1000)).key;
  };
  EXPECT_NE(with({{"SLURM_STEP_ID", "1"}, {"SLURM_STEPID", "1"}}), key);
  EXPECT_NE(with({{"SLURM_JOB_ID", "3"}}), key);
  EXPECT_NE(with({{"SLURM_CLUSTER_NAME", "other"}}), key);
  EXPECT_EQ(with({{"SLURM_RESTART_COUNT", "1"}}), key);
}

TEST(MeetingKey, OfARequeuedJobDiffersInTheJobKey) {
  const Environment task = Fixture("srun-block/5");
  EXPECT_NE(MustPlan(Changed(task, {{"SLURM_RESTART_COUNT", "1"}})).job_key, MustPlan(task).job_key);
}

TEST(MeetingKey, TellsStepsOfHeterogeneousComponentsApart) {
  EXPECT_EQ(MustPlan(Fixture("hetjob-both/4")).key,
            "slurm uid=0 cluster=mini job=16 step=0 het=2 nodes=gpu[01-03]");
}

TEST(MeetingKey, OfTorchrunIsItsRunAndEndpoint) {
  EXPECT_EQ(MustPlan(Fixture("srun-torchrun-c10d/5")).key, "torchrun uid=0 id=2.0 master=gpu001:45401");
  EXPECT_EQ(MustPlan(Fixture("srun-torchrun-c10d/5")).job_key,
            "torchrun uid=0 id=2.0 master=gpu001:45401 size=6");
}

TEST(MeetingKey, CountsTorchrunsRestartsOnOneNodeOnly) {
  const std::initializer_list<Change> restarted = {{"TORCHELASTIC_RESTART_COUNT", "2"}};
  const Environment alone = Fixture("torchrun-standalone/2");
  EXPECT_NE(MustPlan(Changed(alone, restarted)).job_key, MustPlan(alone).job_key);
  // Each node's agent counts for itself.
  const Environment spread = Fixture("srun-torchrun-c10d/5");
  EXPECT_EQ(MustPlan(Changed(spread, restarted)).job_key, MustPlan(spread).job_key);
}

TEST(MeetingKey, OfSpawnedRanksHasTheStepThatHoldsThemAll) {
  EXPECT_EQ(MustPlan(Fixture("srun-mpspawn/3")).key,
            "torch-env uid=0 master=gpu001:29533 cluster=bars job=7 step=0");
}

TEST(MeetingKey, TellsTwoMpirunsApart) {
  const Environment rank = Fixture("mpirun-ompi-in-salloc/5");
  EXPECT_EQ(MustPlan(rank).key, "openmpi uid=0 id=1713700865 mpirun=ce7c999afc6f1690-5cd4b8ccdf829dec");
  EXPECT_NE(MustPlan(Changed(rank, {{"OMPI_MCA_ess_base_jobid", "1713700866"}})).key, MustPlan(rank).key);
}

TEST(MeetingKey, TellsTwoMpiexecsOfOneNodeApartByTheirProxies) {
  const Environment rank = Fixture("mpirun-mpich-alone/2");
  EXPECT_EQ(MustPlan(LiveAs(rank, 7, 300)).key, "hydra uid=7 proxy=300");
  EXPECT_NE(MustPlan(LiveAs(rank, 7, 301)).key, MustPlan(LiveAs(rank, 7, 300)).key);
}

// Two launches of one user at the same time, outside Slurm: nothing else differs.
TEST(MeetingKey, OfALaunchThatNothingNamesHasTheAddressOfRankZero) {
  const std::string master = "MASTER_ADDR=n1\nMASTER_PORT=1111\n";
  const std::string mvapich2 =
      "MV2_COMM_WORLD_RANK=1\nMV2_COMM_WORLD_SIZE=4\nMV2_COMM_WORLD_LOCAL_RANK=1\nMV2_COMM_WORLD_LOCAL_SIZE="
      "2\n";
  EXPECT_EQ(MustPlan(Env(Hydra(1, 4, 1, 2) + master)).key, "hydra master=n1:1111");
  EXPECT_EQ(MustPlan(Env(Hydra(1, 4, 1, 2) + master + "I_MPI_HYDRA_UUID=a-b\n")).key, "hydra id=a-b");
  EXPECT_EQ(MustPlan(Env(mvapich2 + master)).key, "mvapich2 master=n1:1111");
  RendezvousOptions options;
  options.endpoint = Endpoint{"n1", 61000};
  EXPECT_EQ(MustPlan(Env(mvapich2), options).key, "mvapich2 endpoint=n1:61000");
}

// The job's nodes lead to the root, and a profile may set MASTER_ADDR to each node's own name.
TEST(MeetingKey, OfAMpiexecInSlurmIsThatOfItsStep) {
  const Environment rank = Fixture("slurm24.11-mpirun-mpich-in-sbatch/1");
  const std::string key = MustPlan(rank).key;
  EXPECT_THAT(key, testing::EndsWith(" step=0"));
  EXPECT_EQ(MustPlan(Changed(rank, {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "1111"}})).key, key);
  // Without the nodes of the job MASTER_ADDR leads there.
  EXPECT_EQ(MustPlan(Changed(rank, {{"MASTER_ADDR", "n1"},
                                    {"MASTER_PORT", "1111"},
                                    {"SLURM_JOB_NODELIST", std::nullopt},
                                    {"SLURM_NODELIST", std::nullopt}}))
                .key,
            key + " master=n1:1111");
}

TEST(MeetingKey, OfAMpiexecOnOneNodeIsThatOfItsProxy) {
  const Environment rank =
      Changed(Fixture("mpirun-mpich-alone/2"), {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "1"}});
  EXPECT_EQ(MustPlan(LiveAs(rank, 7, 300)).key, "hydra uid=7 proxy=300");
}

TEST(MeetingKey, TellsTwoJsrunsOfOneJobApart) {
  const std::string rank =
      "JSM_NAMESPACE_RANK=1\nJSM_NAMESPACE_SIZE=4\nJSM_NAMESPACE_LOCAL_RANK=1\nJSM_NAMESPACE_LOCAL_SIZE=2\n"
      "LSB_JOBID=7\nMASTER_ADDR=n1\nMASTER_PORT=1111\n";
  EXPECT_EQ(MustPlan(Env(rank)).key, "jsrun id=7 master=n1:1111");
  EXPECT_EQ(MustPlan(Env(rank + "PMIX_NAMESPACE=3\n")).key, "jsrun id=7 namespace=3");
}

TEST(FindRoot, OfAWorldOfOneOpensNothing) {
  RendezvousOptions options;
  options.endpoint = Endpoint{"n1", 61000};
  const Meeting meeting = MustPlan(Environment(), options);
  EXPECT_EQ(meeting.find_root, FindRoot::kSameNode);
  EXPECT_EQ(meeting.endpoint, std::nullopt);
}

TEST(FindRoot, IsTheEndpointThatWasSaid) {
  RendezvousOptions options;
  options.endpoint = Endpoint{"n1", 61000};
  const Meeting configured = MustPlan(Fixture("srun-block/5"), options);
  EXPECT_EQ(configured.find_root, FindRoot::kEndpoint);
  EXPECT_EQ(configured.endpoint, (Endpoint{"n1", 61000}));
  EXPECT_EQ(configured.placement.nodes.size(), 4u);
  resolve::DetectOptions flags;
  flags.explicit_tuple = {.rank = 0, .world_size = 2, .local_rank = {}, .endpoint = Endpoint{"n2", 62000}};
  const Meeting explicit_tuple = MustPlan(Environment(), options, flags);
  EXPECT_EQ(explicit_tuple.find_root, FindRoot::kEndpoint);
  EXPECT_EQ(explicit_tuple.endpoint, (Endpoint{"n2", 62000}));
  EXPECT_EQ(explicit_tuple.key, "explicit endpoint=n2:62000");
  // Each node has its own name for the interface.
  flags.explicit_tuple.endpoint = Endpoint{"fe80::1%ib0", 62000};
  EXPECT_EQ(MustPlan(Env({}), options, flags).key, "explicit endpoint=[fe80::1]:62000");
}

TEST(FindRoot, OfAStepIsItsFirstNodeInEveryLayout) {
  const Environment arbitrary = Changed(Fixture("srun-block/5"), {{"SLURM_DISTRIBUTION", "arbitrary"}});
  EXPECT_EQ(MustPlan(arbitrary).find_root, FindRoot::kFirstNode);
  EXPECT_TRUE(MustPlan(arbitrary).placement.node_of_rank.empty());
}

TEST(FindRoot, OfAForcedStrippedStepIsSearched) {
  const Environment stripped = Changed(Fixture("srun-block/5"), {{"SLURM_STEP_NODELIST", std::nullopt}});
  const Meeting meeting = MustPlan(stripped, {}, {.launcher = "slurm"});
  EXPECT_EQ(meeting.find_root, FindRoot::kSearch);
  EXPECT_EQ(meeting.placement.nodes.size(), 4u);
}

TEST(FindRoot, OfTorchOnLoopbackIsThisNode) {
  EXPECT_EQ(MustPlan(Env("RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nMASTER_ADDR=127.0.0.1\nMASTER_PORT=29500\n"))
                .find_root,
            FindRoot::kSameNode);
  const auto spread = Plan(Changed(Fixture("srun-torchrun-c10d/5"), {{"MASTER_ADDR", "localhost"}}));
  ASSERT_FALSE(spread);
  EXPECT_EQ(
      spread.error(),
      (Error{Code::kConfiguration,
             "MASTER_ADDR=localhost is this node itself, but only 3 of the 6 ranks are on it",
             "set MASTER_ADDR to the name of rank 0's node; on one node start one torchrun with all ranks"}));
}

// Pods: rank 0 alone has it, the others have rank 0's name.
TEST(FindRoot, OfTorchOnAnyAddressIsThisNodeOnlyIfAllRanksAreThere) {
  const std::string rank = "RANK=0\nWORLD_SIZE=4\nLOCAL_RANK=0\nMASTER_PORT=29500\n";
  for (const char* any : {"0.0.0.0", "::"}) {
    const std::string text = rank + "MASTER_ADDR=" + any + "\n";
    const auto unknown = Plan(Env(text));
    ASSERT_FALSE(unknown) << any;
    EXPECT_EQ(
        unknown.error(),
        (Error{
            Code::kConfiguration,
            fmt::format("MASTER_ADDR={} is the own node of every rank, and the ranks may be on several nodes",
                        any),
            "set MASTER_ADDR to the name of rank 0's node"}));
    EXPECT_EQ(MustPlan(Env(text + "LOCAL_WORLD_SIZE=4\n")).find_root, FindRoot::kSameNode) << any;
    const auto spread = Plan(Env(text + "LOCAL_WORLD_SIZE=1\n"));
    ASSERT_FALSE(spread) << any;
    EXPECT_EQ(spread.error().message,
              fmt::format("MASTER_ADDR={} is this node itself, but only 1 of the 4 ranks are on it", any));
  }
}

TEST(FindRoot, OfTorchrunIsSaidInItsAgentsStore) {
  const Environment rank = Fixture("srun-torchrun-c10d/5");
  const Meeting meeting = MustPlan(rank);
  EXPECT_EQ(meeting.find_root, FindRoot::kEndpointStore);
  EXPECT_EQ(meeting.torch_store, (Endpoint{"gpu001", 45401}));
  // Dynamic rendezvous before PyTorch 2.4 keeps its store to itself.
  for (const char* flag : {"False", "1", ""}) {
    const Meeting ladder = MustPlan(Changed(rank, {{"TORCHELASTIC_USE_AGENT_STORE", flag}}));
    EXPECT_EQ(ladder.find_root, FindRoot::kHost) << flag;
    EXPECT_EQ(ladder.host, "gpu001") << flag;
    EXPECT_EQ(ladder.torch_store, std::nullopt) << flag;
  }
  EXPECT_EQ(MustPlan(Fixture("torchrun-standalone/2")).find_root, FindRoot::kSameNode);
}

TEST(FindRoot, OfTorchrunMayBeTheLadderAllTheSame) {
  RendezvousOptions options;
  options.method = RendezvousMethod::kTcp;
  EXPECT_EQ(MustPlan(Fixture("srun-torchrun-c10d/5"), options).find_root, FindRoot::kHost);
  options.method = RendezvousMethod::kAuto;
  options.endpoint = Endpoint{"n1", 61000};
  EXPECT_EQ(MustPlan(Fixture("srun-torchrun-c10d/5"), options).find_root, FindRoot::kEndpoint);
}

TEST(FindRoot, InAStoreThatWasSaid) {
  RendezvousOptions options;
  options.method = RendezvousMethod::kTorchStore;
  options.endpoint = Endpoint{"n1", 29500};
  const Meeting step = MustPlan(Fixture("srun-block/5"), options);
  EXPECT_EQ(step.find_root, FindRoot::kEndpointStore);
  EXPECT_EQ(step.torch_store, (Endpoint{"n1", 29500}));
  EXPECT_EQ(step.endpoint, std::nullopt);
  EXPECT_EQ(step.placement.nodes.size(), 4u);
  EXPECT_EQ(MustPlan(Fixture("torchrun-standalone/2"), options).find_root, FindRoot::kSameNode);
  options.endpoint = std::nullopt;
  const auto nowhere = Plan(Fixture("srun-block/5"), options);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error(),
            (Error{Code::kConfiguration,
                   "rendezvous.method is torch-store, but the address of the store is unknown",
                   "set MASTER_ADDR and MASTER_PORT, or rendezvous.endpoint, to its address"}));
}

TEST(FindRoot, InADirectoryThatAllShare) {
  RendezvousOptions options;
  options.method = RendezvousMethod::kFile;
  options.directory = "/shared/me";
  const Meeting step = MustPlan(Fixture("srun-block/5"), options);
  EXPECT_EQ(step.find_root, FindRoot::kEndpointStore);
  EXPECT_EQ(step.directory, "/shared/me");
  EXPECT_EQ(step.torch_store, std::nullopt);
  EXPECT_EQ(step.placement.nodes.size(), 4u);
  EXPECT_EQ(step.key, MustPlan(Fixture("srun-block/5")).key);
  EXPECT_EQ(MustPlan(Fixture("torchrun-standalone/2"), options).find_root, FindRoot::kSameNode);
  // A launcher without the places of its ranks needs nothing else.
  const Environment rank =
      Env("OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1\nOMPI_COMM_WORLD_"
          "LOCAL_SIZE=2\n");
  EXPECT_EQ(MustPlan(rank, options).directory, "/shared/me");
}

TEST(FindRoot, InADirectoryTellsLaunchesOfFlagsApart) {
  resolve::DetectOptions flags;
  flags.explicit_tuple = {.rank = 0, .world_size = 2, .local_rank = {}, .endpoint = {}};
  RendezvousOptions options;
  options.method = RendezvousMethod::kFile;
  options.directory = "/shared/a";
  const Meeting a = MustPlan(Environment(), options, flags);
  EXPECT_EQ(a.find_root, FindRoot::kEndpointStore);
  options.directory = "/shared/b";
  EXPECT_NE(MustPlan(Environment(), options, flags).key, a.key);
}

TEST(FindRoot, InADirectoryNeedsOne) {
  RendezvousOptions options;
  options.method = RendezvousMethod::kFile;
  const auto refused = [&] {
    const auto meeting = Plan(Fixture("srun-block/5"), options);
    return meeting ? Error{} : meeting.error();
  };
  const std::string hint = "set rendezvous.directory to a directory that all nodes share";
  EXPECT_EQ(refused(), (Error{Code::kConfiguration,
                              "rendezvous.method is file, and rendezvous.directory is not set", hint}));
  options.directory = "meet";
  EXPECT_EQ(
      refused(),
      (Error{Code::kConfiguration,
             "rendezvous.method is file, and rendezvous.directory is \"meet\", not an absolute path", hint}));
}

RendezvousOptions By(RendezvousMethod method) {
  RendezvousOptions options;
  options.method = method;
  return options;
}

TEST(FindRoot, OnThePmiServerOfTheLauncher) {
  const Meeting step = MustPlan(Fixture("srun-pmi2/1"), By(RendezvousMethod::kPmi));
  EXPECT_EQ(step.find_root, FindRoot::kEndpointStore);
  EXPECT_EQ(step.pmi, (PmiAccess{13, PmiVersion::kTwo, 1, "7.0"}));
  EXPECT_EQ(step.key, MustPlan(Fixture("srun-pmi2/1")).key);
  EXPECT_EQ(MustPlan(Fixture("srun-pmi2/1")).find_root, FindRoot::kFirstNode);
  // The remains of a step mean nothing to Hydra's proxy.
  const Environment rank = Env(Hydra(1, 4, 1, 2) + "PMI_JOBID=7.0\n");
  EXPECT_EQ(MustPlan(rank, By(RendezvousMethod::kPmi)).pmi, (PmiAccess{9, PmiVersion::kOne, 1, ""}));
  EXPECT_EQ(MustPlan(Env(Hydra(1, 4, 1, 4)), By(RendezvousMethod::kPmi)).find_root, FindRoot::kSameNode);
}

TEST(FindRoot, OnThePmixServerOfTheLauncher) {
  const Meeting step = MustPlan(Fixture("srun-pmix/1"), By(RendezvousMethod::kPmix));
  EXPECT_EQ(step.find_root, FindRoot::kEndpointStore);
  EXPECT_TRUE(step.pmix);
  EXPECT_EQ(step.pmi, std::nullopt);
  EXPECT_EQ(MustPlan(Fixture("srun-pmix/1")).find_root, FindRoot::kFirstNode);
  const Meeting mpirun = MustPlan(Fixture("mpirun-ompi-in-salloc/1"), By(RendezvousMethod::kPmix));
  EXPECT_TRUE(mpirun.pmix);
  EXPECT_EQ(MustPlan(Fixture("mpirun-ompi-in-salloc/1")).find_root, FindRoot::kSearch);
}

// Its server has been asked already: there is nothing left to spare it.
TEST(FindRoot, OfABarePmixRankIsSaidToItsServer) {
  const Environment rank =
      Env("PMIX_RANK=1\nPMIX_NAMESPACE=slurm.pmix.4.0\nPMIX_SERVER_URI41=pmix-server.7368;tcp4://"
          "127.0.0.1:53313\n"
          "SLURM_JOB_NODELIST=n[1-2]\nMASTER_ADDR=n1\nMASTER_PORT=29500\n");
  resolve::DetectOptions asked;
  asked.pmix = PmixPlace{4, {}, "0,1", 2, 2};
  const Meeting meeting = MustPlan(rank, {}, asked);
  EXPECT_EQ(meeting.find_root, FindRoot::kEndpointStore);
  EXPECT_TRUE(meeting.pmix);
  EXPECT_EQ(meeting.key, "pmix id=slurm.pmix.4.0");
  EXPECT_EQ(meeting.node_mark, "pmix-server.7368;tcp4://127.0.0.1:53313");
  RendezvousOptions said;
  said.endpoint = Endpoint{"n1", 61000};
  EXPECT_EQ(MustPlan(rank, said, asked).find_root, FindRoot::kEndpoint);
  EXPECT_EQ(MustPlan(rank, By(RendezvousMethod::kTcp), asked).find_root, FindRoot::kSearch);
  asked.pmix = PmixPlace{4, {}, "0,1,2,3", 4, {}};
  EXPECT_EQ(MustPlan(rank, {}, asked).find_root, FindRoot::kSameNode);
}

TEST(FindRoot, OnALaunchersServerNeedsOne) {
  const auto refused = [](const Environment& environment, RendezvousMethod method) {
    const auto meeting = Plan(environment, By(method));
    return meeting ? Error{} : meeting.error();
  };
  EXPECT_EQ(
      refused(Fixture("srun-block/5"), RendezvousMethod::kPmi),
      (Error{Code::kConfiguration, "rendezvous.method is pmi, but there is no such server here: no PMI_FD",
             "start with MPICH's mpiexec or srun --mpi=pmi2, or use rendezvous.method: auto"}));
  EXPECT_EQ(refused(Fixture("srun-block/5"), RendezvousMethod::kPmix),
            (Error{Code::kConfiguration,
                   "rendezvous.method is pmix, but there is no such server here: no PMIX_SERVER_URI",
                   "start with Open MPI's mpirun or srun --mpi=pmix, or use rendezvous.method: auto"}));
  const Environment below =
      Changed(Fixture("srun-torchrun-c10d/5"), {{"PMI_FD", "9"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(
      refused(below, RendezvousMethod::kPmi),
      (Error{Code::kConfiguration,
             "rendezvous.method is pmi, but PMI_RANK=1 is not rank 5 of this torchrun launch: the server "
             "is another launcher's",
             "use rendezvous.method: auto"}));
}

// Only if the place of rank 0 is not known otherwise: an MPI program may want the server for itself.
TEST(FindRoot, OfMpirunWithoutSlurmIsSaidToItsServer) {
  const Environment openmpi = Env(Openmpi(1, 4, 1, 2) + "PMIX_SERVER_URI2=77.0;tcp4://127.0.0.1:54455\n");
  EXPECT_TRUE(MustPlan(openmpi).pmix);
  EXPECT_EQ(MustPlan(Env(Hydra(1, 4, 1, 2))).pmi, (PmiAccess{9, PmiVersion::kOne, 1, ""}));
  for (const Environment& rank : {openmpi, Env(Hydra(1, 4, 1, 2))}) {
    EXPECT_EQ(MustPlan(rank).find_root, FindRoot::kEndpointStore);
    const Meeting master = MustPlan(Changed(rank, {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}}));
    EXPECT_EQ(master.find_root, FindRoot::kHost);
    RendezvousOptions said;
    said.endpoint = Endpoint{"n1", 61000};
    EXPECT_EQ(MustPlan(rank, said).find_root, FindRoot::kEndpoint);
    EXPECT_FALSE(Plan(rank, By(RendezvousMethod::kTcp)));
    EXPECT_EQ(MustPlan(Changed(rank, {{"SLURM_JOB_NODELIST", ""}})).find_root, FindRoot::kEndpointStore);
  }
  // The starter of this process has closed the connection, or keeps none.
  EXPECT_FALSE(Plan(LiveAs(Env(Hydra(1, 4, 1, 2)), 1000)));
  EXPECT_EQ(MustPlan(LiveAs(Env(Hydra(1, 4, 1, 2)), 1000, 500)).node_mark, "proxy=500");
}

TEST(FindRoot, OfMpirunWithoutSlurmIsSaidByNobody) {
  const Environment rank =
      Env("OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1\nOMPI_COMM_WORLD_"
          "LOCAL_SIZE=2\n");
  const auto meeting = Plan(rank);
  ASSERT_FALSE(meeting);
  EXPECT_EQ(meeting.error().code, Code::kConfiguration);
  EXPECT_EQ(meeting.error().message,
            "ranks of this openmpi launch may be on several nodes, and the node of rank 0 is unknown");
  EXPECT_EQ(meeting.error().hint, "set rendezvous.endpoint to HOST:PORT, a free port on rank 0's node");
  EXPECT_EQ(MustPlan(Changed(rank, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})).find_root, FindRoot::kSameNode);
  const Meeting master = MustPlan(Changed(rank, {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}}));
  EXPECT_EQ(master.find_root, FindRoot::kHost);
  EXPECT_EQ(master.host, "n1");
}

TEST(FindRoot, OfABareTupleWithoutAMasterIsSaidByNobody) {
  const auto meeting = Plan(Env("RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\n"));
  ASSERT_FALSE(meeting);
  EXPECT_EQ(meeting.error().message,
            "ranks of this torch-env launch may be on several nodes, and the node of rank 0 is unknown");
}

TEST(FindRoot, OfFlagsWithoutAnEndpointIsSaidByNobody) {
  resolve::DetectOptions flags;
  flags.explicit_tuple = {.rank = 0, .world_size = 2, .local_rank = {}, .endpoint = {}};
  const auto meeting = Plan(Environment(), {}, flags);
  ASSERT_FALSE(meeting);
  EXPECT_EQ(meeting.error().code, Code::kConfiguration);
  EXPECT_EQ(meeting.error().message, "--rank and --world-size do not determine the node of rank 0");
}

TEST(PlanMeeting, IsNotForAProgramOfMusterRun) {
  const auto meeting =
      Plan(Env("MUSTER_RANK=1\nMUSTER_WORLD_SIZE=2\nMUSTER_CONTROL=@muster-1\n"
               "MUSTER_GROUP=0123456789abcdef0123456789abcdef\n"));
  ASSERT_FALSE(meeting);
  EXPECT_EQ(meeting.error().code, Code::kUsage);
  EXPECT_EQ(meeting.error().message,
            "this process already belongs to the group of a muster run (MUSTER_CONTROL=@muster-1)");
}

TEST(PortsOfOthers, IsJaxsCoordinator) {
  EXPECT_THAT(PortsOfOthers("1"), ElementsAre(61441));
  EXPECT_THAT(PortsOfOthers("4095"), ElementsAre(65535));
  EXPECT_THAT(PortsOfOthers("4096"), ElementsAre(61440));
  EXPECT_THAT(PortsOfOthers("6022877"), ElementsAre(61440 + 6022877 % 4096));
}

TEST(PortsOfOthers, WithoutANumberThereAreNone) {
  for (const char* id : {"", "x", "12x", "-1"}) EXPECT_THAT(PortsOfOthers(id), IsEmpty()) << id;
}

}  // namespace
}  // namespace muster::join
