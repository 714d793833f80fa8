// muster run: form the group, run CMD supervised in its environment. muster once: one program for all ranks, or one on
// each node, before a run.

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/run/planner.h"

namespace muster::cli {
namespace {

constexpr CommandText kRunText = {
    .details =
        R"(The ranks are those of a launcher: srun, mpirun, torchrun and others. muster forms one group of them, then runs CMD
(else run.command of the configuration) as each rank. CMD receives the variables that torchrun sets: RANK, WORLD_SIZE,
LOCAL_RANK, MASTER_ADDR, MASTER_PORT and others, and a store for PyTorch that muster serves for this group alone.

The first rank that fails ends all ranks. It is reported by rank and node, and its exit status is that of all ranks.)",
    .examples = R"(srun -N4 -n16 muster run -- python evaluate.py --task digits
srun -N4 --ntasks-per-node=1 muster run --nproc-per-node 8 -- python train.py   # one task a node starts 8 ranks
srun -N4 -n16 muster run --label --log-dir logs/$SLURM_JOB_ID -- python train.py
srun muster run -c configs/eval.yaml -- python evaluate.py
srun muster run --report run.html -- python evaluate.py)",
};

constexpr CommandText kOnceText = {
    .details =
        R"(CMD runs in one process of this launch, rank 0, or with --per-node in one process on each node. All other processes wait
for it and exit with its exit status: to stage data before `muster run`. CMD has a world of its own: RANK is 0 and
WORLD_SIZE is 1.)",
    .examples = R"(srun muster once -- python download.py
srun sh -c 'muster once --per-node -- tar -C /tmp -xf data.tar && muster run -- python evaluate.py')",
};

Result<int> RunSupervised(const SharedFlags& flags, const run::Supervised& wanted) {
  MUSTER_TRY(join::StartOptions asked, StartOptionsFrom(flags));
  return run::RunSupervised(std::move(asked), wanted);
}

}  // namespace

CommandText AddRunCommand(Options& options, Run& run) {
  const auto flags = AddConfigFlags(options);
  AddOutputFlags(options, flags);
  AddLaunchFlags(options, flags);
  AddReportFlag(options, flags);
  const auto wanted = std::make_shared<run::Supervised>();
  options.Under(kProgram);
  options.Text(
      "--nproc-per-node", [wanted](const std::string& text) { wanted->ranks_per_node = text; },
      "N|gpu|cpu|auto", "start N ranks of CMD here, if the launcher starts one process on each node");
  AddRestartFlag(options, {wanted, &wanted->max_restarts});
  AddDryRunFlags(options, {wanted, &wanted->dry_run}, {wanted, &wanted->json});
  options.Program({wanted, &wanted->command});
  run = [flags, wanted] { return StatusOf(RunSupervised(*flags, *wanted)); };
  return kRunText;
}

CommandText AddOnceCommand(Options& options, Run& run) {
  const auto flags = AddConfigFlags(options);
  AddLaunchFlags(options, flags);
  const auto wanted = std::make_shared<run::Supervised>();
  options.Under(kProgram);
  const auto per_node = std::make_shared<bool>(false);
  options.Flag("--per-node", *per_node, "run CMD in the first process of each node");
  options.Program({wanted, &wanted->command}).Required();
  run = [flags, wanted, per_node] {
    wanted->who = *per_node ? run::WhoRuns::kFirstOfEachNode : run::WhoRuns::kFirstRank;
    return StatusOf(RunSupervised(*flags, *wanted));
  };
  return kOnceText;
}

}  // namespace muster::cli
