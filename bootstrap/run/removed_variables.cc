// What a program must not inherit, as visible data. A test holds both lists.
#include <array>

#include "bootstrap/run/program_environment.h"

namespace muster {
namespace {

constexpr auto kAlways = std::to_array<RemovedVariable>({
    {"MUSTER_LAUNCHER", "chose how muster was started; the program was started by muster"},
    {"MUSTER_SECRET", "a secret; the program gets what it needs through the control socket"},
    {"TORCHELASTIC_USE_AGENT_STORE",
     "says that an outer torchrun listens on MASTER_PORT, which is muster's now"},
});

// One supervisor is one process to the launcher that started it: what that launcher says of this process is
// not true of the several ranks under it. What it says of the job, the step, the node or the CPUs still is
// and stays. TORCHELASTIC_RUN_ID stays with one rank per supervisor (torchrun's worker is that rank) and goes
// here (it is none of them).
constexpr auto kForSeveral = std::to_array<RemovedVariable>({
    {"SLURM_PROCID", "Slurm: rank of the task"},
    {"SLURM_LOCALID", "Slurm: local rank of the task"},
    {"SLURM_GTIDS", "Slurm: ranks on this node"},
    {"SLURM_TASK_PID", "Slurm: process of the task"},
    {"SLURM_NTASKS", "Slurm: number of tasks"},
    {"SLURM_NPROCS", "Slurm: number of tasks"},
    {"SLURM_NTASKS_PER_NODE", "Slurm: tasks on a node"},
    {"SLURM_TASKS_PER_NODE", "Slurm: tasks on each node"},
    {"SLURM_STEP_NUM_TASKS", "Slurm: number of tasks"},
    {"SLURM_STEP_TASKS_PER_NODE", "Slurm: tasks on each node"},
    {"SLURM_MPI_TYPE", "Slurm: an MPI server that knows one process, not these"},
    {"SLURM_PMIX_MAPPING_SERV", "Slurm: which PMIx rank is where"},
    {"SLURM_PMIXP_*", "Slurm: its PMIx server"},
    {"PMI_RANK", "PMI"},
    {"PMI_SIZE", "PMI"},
    {"PMI_FD", "PMI: one connection cannot serve several ranks"},
    {"PMI_PORT", "PMI: server"},
    {"PMI_ID", "PMI: process"},
    {"PMI_JOBID", "PMI: server's job"},
    {"PMI_SPAWNED", "PMI"},
    {"PMI_LOCAL_RANK", "PMI"},
    {"PMI_LOCAL_SIZE", "PMI"},
    {"PMI_CONTROL_PORT", "PMI: server"},
    {"PMI_SHARED_SECRET", "PMI: server"},
    {"PMIX_RANK", "PMIx"},
    {"PMIX_NAMESPACE", "PMIx: server's job"},
    {"PMIX_ID", "PMIx: process"},
    {"PMIX_SERVER_*", "PMIx: a server that knows one process, not these"},
    {"PMIX_DSTORE_*", "PMIx: server's shared memory"},
    {"HYDI_CONTROL_FD", "Hydra: its proxy"},
    {"MPI_LOCALRANKID", "Hydra"},
    {"MPI_LOCALNRANKS", "Hydra"},
    {"OMPI_COMM_WORLD_*", "Open MPI: rank and size"},
    {"OMPI_FIRST_RANKS", "Open MPI"},
    {"OMPI_UNIVERSE_SIZE", "Open MPI"},
    {"OMPI_APP_CTX_NUM_PROCS", "Open MPI"},
    {"OMPI_NUM_APP_CTX", "Open MPI"},
    {"OMPI_FILE_LOCATION", "Open MPI: session of the process"},
    {"OMPI_MCA_ess", "Open MPI 4: expect a PMIx server"},
    {"OMPI_MCA_ess_*", "Open MPI 4: daemon"},
    {"OMPI_MCA_orte_*", "Open MPI 4: daemon"},
    {"OMPI_MCA_pmix", "Open MPI 4: the PMIx server's kind"},
    {"PRTE_LAUNCHED", "Open MPI 5: expect a PMIx server"},
    {"MV2_COMM_WORLD_*", "MVAPICH2: rank and size"},
    {"JSM_NAMESPACE_*", "jsrun: rank and size"},
    {"PALS_RANKID", "PALS"},
    {"PALS_LOCAL_RANKID", "PALS"},
    {"PALS_LOCAL_SIZE", "PALS"},
    {"FLUX_TASK_RANK", "Flux"},
    {"FLUX_TASK_LOCAL_ID", "Flux"},
    {"FLUX_JOB_SIZE", "Flux: number of tasks"},
    {"HOROVOD_RANK", "Horovod"},
    {"HOROVOD_SIZE", "Horovod"},
    {"HOROVOD_LOCAL_RANK", "Horovod"},
    {"HOROVOD_LOCAL_SIZE", "Horovod"},
    {"HOROVOD_CROSS_RANK", "Horovod"},
    {"HOROVOD_CROSS_SIZE", "Horovod"},
    {"HOROVOD_GLOO_RENDEZVOUS_*", "Horovod: a rendezvous that waits for one process"},
    {"ROLE_RANK", "torchrun"},
    {"ROLE_WORLD_SIZE", "torchrun"},
    {"ROLE_NAME", "torchrun"},
    {"TORCHELASTIC_*", "torchrun: its agent, its restarts, one error file for one process"},
    {"LOCAL_SIZE", "DeepSpeed"},
    {"CROSS_RANK", "DeepSpeed"},
    {"CROSS_SIZE", "DeepSpeed"},
    {"SUBMITIT_LOCAL_GLOBALID", "submitit"},
    {"SUBMITIT_LOCAL_LOCALID", "submitit"},
    {"SUBMITIT_LOCAL_NTASKS", "submitit"},
    {"JAX_PROCESS_ID", "Kubeflow: rank for JAX"},
    {"JAX_NUM_PROCESSES", "Kubeflow: size for JAX"},
});

}  // namespace

std::span<const RemovedVariable> RemovedAlways() { return kAlways; }

std::span<const RemovedVariable> LyingForSeveral() { return kForSeveral; }

}  // namespace muster
