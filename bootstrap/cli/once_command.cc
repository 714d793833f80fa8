// muster once: one program for all ranks, or one on each node, before a run.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/cli/supervised.h"

namespace muster::cli {
namespace {

constexpr const char* kHelp =
    "Run CMD in one process of this launch (rank 0), or with --per-node in one on each node, and end\n"
    "everywhere when it has ended there, with its exit status: to stage data before `muster run`. CMD is\n"
    "told nothing of the others: RANK is 0 and WORLD_SIZE 1.";
constexpr const char* kFooter =
    "Examples:\n"
    "  srun muster once -- python download.py\n"
    "  srun sh -c 'muster once --per-node -- tar -C /tmp -xf data.tar && muster run -- python evaluate.py'";

}  // namespace

void AddOnceCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("once", "run a program once, or once on each node, and wait for it");
  command->description(kHelp);
  command->footer(kFooter);
  const auto flags = AddConfigFlags(*command);
  AddLaunchFlags(*command, flags);
  const auto wanted = std::make_shared<Supervised>();
  const auto per_node = std::make_shared<bool>(false);
  command->add_flag("--per-node", *per_node, "in the first process of each node");
  command->add_option("CMD", wanted->command, "the program and its arguments, after --")->required();
  command->positionals_at_end();
  command->callback([flags, wanted, per_node, &run] {
    run = [flags, wanted, per_node] {
      wanted->who = *per_node ? run::WhoRuns::kFirstOfEachNode : run::WhoRuns::kFirstRank;
      const Result<int> status = RunSupervised(*flags, *wanted);
      return status ? *status : ReportError(status.error());
    };
  });
}

}  // namespace muster::cli
