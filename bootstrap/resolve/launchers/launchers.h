// The launchers muster knows, in the order in which they are believed where several describe the same world.
// Adding one is one file with its probe and one line in launchers.inc; a launcher that nobody ever ran
// here has the trait `documented`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"

namespace muster::resolve {

struct Launcher {
  std::string_view name;
  Probed (*probe)(const Environment&, const ProbeContext&);

  // What its word is worth beside its tuple.
  struct Traits {
    bool documented = false;     // from its documentation or source; never run here
    bool has_signature = true;   // its variables bear a mark of its own, so that their presence dates them
    bool names_master = false;   // MASTER_ADDR and MASTER_PORT beside its tuple are of its world: meet there
    bool seen_in_steps = false;  // srun's plugins set them, too: beside a Slurm task they are Slurm's
    bool orders_nodes = false;   // numbers its nodes its own way, whatever carries it
    bool rare = false;           // where it left nothing, hardly anybody expects it to
    bool daemons_by_srun = false;  // starts its daemons with srun, one on each node
  };
  Traits traits = {};
};

std::span<const Launcher> Launchers();

// Null: no launcher is called so.
const Launcher* FindLauncher(std::string_view name);

// Those of no launcher where none is called so.
Launcher::Traits TraitsOf(std::string_view name);

// "explicit, muster, torchrun, ..., none"
std::string LauncherNames();

}  // namespace muster::resolve
