// muster run: form the group, run CMD supervised in its environment.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/cli/supervised.h"

namespace muster::cli {
namespace {

constexpr const char* kHelp =
    "Form the group of this launch, then run CMD (else run.command of the configuration) as this rank,\n"
    "with what torchrun sets (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, ...) and a store for\n"
    "PyTorch that muster serves, for this group alone (run.store). The first rank that fails ends them all "
    "and\n"
    "is reported by rank and node; its exit status is everybody's.";
constexpr const char* kFooter =
    "Examples:\n"
    "  srun -N4 -n16 muster run -- python evaluate.py --task digits\n"
    "  srun -N4 -n16 muster run --label --log-dir logs/$SLURM_JOB_ID -- python train.py\n"
    "  srun muster run --report run.html -- python evaluate.py\n"
    "  srun muster run -c configs/eval-digits.yaml\n"
    "  srun -N4 --ntasks-per-node=1 muster run --nproc-per-node 8 -- python train.py";

}  // namespace

void AddRunCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("run", "form the group and run a program in it");
  command->description(kHelp);
  command->footer(kFooter);
  const auto flags = AddConfigFlags(*command);
  AddOutputFlags(*command, flags);
  AddLaunchFlags(*command, flags);
  AddReportFlag(*command, flags);
  const auto wanted = std::make_shared<Supervised>();
  command
      ->add_option("--nproc-per-node", wanted->ranks_per_node,
                   "start so many ranks of CMD here; for launches of one process on each node")
      ->type_name("N|gpu|cpu|auto");
  AddRestartFlag(*command, {wanted, &wanted->max_restarts});
  command->add_option("CMD", wanted->command, "the program and its arguments, after --");
  command->positionals_at_end();
  command->callback([flags, wanted, &run] {
    run = [flags, wanted] {
      const Result<int> status = RunSupervised(*flags, *wanted);
      return status ? *status : ReportError(status.error());
    };
  });
}

}  // namespace muster::cli
