#include "tests/bootstrap/resolve/launches.h"

#include <gtest/gtest.h>

namespace muster::resolve {

std::string VerdictOn(std::string_view launcher, const std::vector<Considered>& considered) {
  for (const Considered& one : considered) {
    if (one.launcher == launcher) return one.verdict;
  }
  return "winner";
}

Resolution MustResolve(const Environment& environment, const DetectOptions& options) {
  auto resolution = Resolve(environment, options);
  if (!resolution) {
    ADD_FAILURE() << ToString(resolution.error().error);
    return {};
  }
  return *std::move(resolution);
}

Refusal MustRefuse(const Environment& environment, const DetectOptions& options) {
  auto resolution = Resolve(environment, options);
  if (resolution) {
    ADD_FAILURE() << "resolved as " << resolution->tuple.launcher << " rank " << resolution->tuple.rank;
    return {};
  }
  return std::move(resolution).error();
}

std::string OneTaskANode(int tasks, int rank) {
  return fmt::format(
      "SLURM_JOB_ID=9\nSLURM_STEP_ID=1\nSLURM_JOB_NODELIST=n[1-{0}]\nSLURM_STEP_NODELIST=n[1-{0}]\n"
      "SLURM_STEP_NUM_NODES={0}\nSLURM_STEP_NUM_TASKS={0}\nSLURM_NTASKS={0}\n"
      "SLURM_STEP_TASKS_PER_NODE=1(x{0})\nSLURM_TASKS_PER_NODE=1(x{0})\nSLURM_PROCID={1}\nSLURM_LOCALID=0\n"
      "SLURM_NODEID={1}\nSLURM_GTIDS={1}\nSLURMD_NODENAME=n{2}\nSLURM_JOB_NUM_NODES={0}\n",
      tasks, rank, rank + 1);
}

std::string Torchrun(int rank, int size, int local, int local_size, int node, int nodes) {
  return fmt::format(
      "TORCHELASTIC_RUN_ID=r\nRANK={}\nWORLD_SIZE={}\nLOCAL_RANK={}\nLOCAL_WORLD_SIZE={}\nGROUP_RANK={}\n"
      "GROUP_WORLD_SIZE={}\nMASTER_ADDR=n1\nMASTER_PORT=29500\n",
      rank, size, local, local_size, node, nodes);
}

std::string Openmpi(int rank, int size, int local, int local_size) {
  return fmt::format(
      "OMPI_COMM_WORLD_RANK={0}\nOMPI_COMM_WORLD_SIZE={1}\nOMPI_COMM_WORLD_LOCAL_RANK={2}\n"
      "OMPI_COMM_WORLD_LOCAL_SIZE={3}\nOMPI_MCA_ess_base_jobid=77\nPMIX_RANK={0}\nPMIX_NAMESPACE=77\n",
      rank, size, local, local_size);
}

std::string Hydra(int rank, int size, int local, int local_size) {
  return fmt::format("PMI_RANK={}\nPMI_SIZE={}\nMPI_LOCALRANKID={}\nMPI_LOCALNRANKS={}\nPMI_FD=9\n", rank,
                     size, local, local_size);
}

std::string Bare(int rank, int size, int local) {
  return fmt::format("RANK={}\nWORLD_SIZE={}\nLOCAL_RANK={}\nMASTER_ADDR=n1\nMASTER_PORT=29500\n", rank, size,
                     local);
}

std::string Muster(int rank, int size, int local, int local_size, int node, int nodes) {
  return fmt::format(
      "MUSTER_RANK={}\nMUSTER_WORLD_SIZE={}\nMUSTER_LOCAL_RANK={}\nMUSTER_LOCAL_WORLD_SIZE={}\n"
      "MUSTER_NODE_RANK={}\nMUSTER_NUM_NODES={}\nMUSTER_NODE=n{}\n"
      "MUSTER_GROUP=0123456789abcdef0123456789abcdef\nMUSTER_CONTROL=@muster-1\nMUSTER_JOB_KEY=slurm:9.1:0\n"
      "MUSTER_SUPERVISOR_PID=500\n",
      rank, size, local, local_size, node, nodes, node + 1);
}

std::string BatchScript() {
  return "SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_NUM_NODES=2\nSLURM_TASKS_PER_NODE=2(x2)\n"
         "SLURM_NTASKS=4\nSLURM_PROCID=0\nSLURM_LOCALID=0\nSLURM_NODEID=0\nSLURM_GTIDS=0\n"
         "SLURMD_NODENAME=n1\nSLURM_TASK_PID=400\nENVIRONMENT=BATCH\n";
}

std::string OneTaskScript() {
  return "SLURM_JOB_ID=10\nSLURM_JOB_NODELIST=n1\nSLURM_JOB_NUM_NODES=1\nSLURM_TASKS_PER_NODE=1\n"
         "SLURM_NTASKS=1\nSLURM_PROCID=0\nSLURM_LOCALID=0\nSLURM_NODEID=0\nSLURM_GTIDS=0\n"
         "SLURMD_NODENAME=n1\nSLURM_TASK_PID=400\n";
}

std::string TupleText(const RankTuple& tuple) {
  std::string text = fmt::format("rank={} world_size={}", tuple.rank, tuple.world_size);
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) text += fmt::format(" {}={}", name, *value);
  };
  add("local_rank", tuple.local_rank);
  add("local_world_size", tuple.local_world_size);
  add("node_rank", tuple.node_rank);
  add("num_nodes", tuple.num_nodes);
  add("node", tuple.node);
  text += " job=" + tuple.job.key;
  if (tuple.master) text += " master=" + ToString(*tuple.master);
  return text;
}

}  // namespace muster::resolve
