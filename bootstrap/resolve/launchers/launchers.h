// The launchers that muster supports. Each has one row, in the file of its name beside its probe. The order
// is launchers.inc: if several launchers describe the same world, the first of them gives the tuple. The
// schema, the documentation, the removal of variables and the rendezvous all read these rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/environment/candidate.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/environment/outer_variables.h"
#include "bootstrap/environment/tuple_reader.h"
#include "comm/base/error.h"

namespace muster::resolve {

// The rendezvous of a launch's ranks. The texts for users are in page.cc.
enum class Meets : uint8_t {
  kJob,  // one node: Unix socket; Slurm job: port ladder on each node; else MASTER_ADDR, rendezvous.endpoint
  kJobThenPmi,   // as kJob; then the PMI-1 server that the launcher keeps for its ranks
  kJobThenPmix,  // as kJob; then the PMIx server that the launcher keeps for its ranks
  kPmix,         // the PMIx server
  kMaster,       // port ladder on MASTER_ADDR: MASTER_ADDR and MASTER_PORT beside its tuple are of its world
  kStep,         // port ladder on the first node of the Slurm step
  kEndpoint,     // --endpoint
  kSupervisor,   // the group of the supervisor
  kNowhere,      // no other rank
};

// Properties of single rows.
enum class LauncherRole : uint8_t {
  kLauncher,    // nothing
  kFlags,       // the user's flags win over every variable
  kSupervisor,  // the supervisor of `muster run`: a program adopts its group
  kSlurm,       // the step's tasks: an allocation without its tuple is refused
  kBareTuple,   // RANK and the rest, also set by hand; MASTER_ADDR is borrowed in its name
  kAlone,       // no launcher: a world of one
};

// A variable of one launch alone, beside the job's id, with its form in the meeting's key.
struct KeyVariable {
  std::string_view label;
  std::string_view variable;
};

struct Launcher {
  std::string_view name;  // everywhere: launcher:, MUSTER_LAUNCHER, --launcher, resolve
  Probed (*probe)(const Environment&, const ProbeContext&) = nullptr;  // null: the launcher is only its row
  std::string_view tested = {};      // launchers with these variables that the tests run; empty: none
  std::string_view documented = {};  // launchers with these variables, from documentation; never run here
  TupleVariables tuple = {};         // the variables of its tuple
  std::string_view job_id = {};      // as in LauncherRow
  std::string_view node = {};
  std::span<const std::string_view> others = {};  // what else its probe reads, beside a master's address
  std::string_view note = {};                     // about these variables, for users
  std::string_view nonce = {};                    // a variable that has another value in each launch
  LauncherRole role = LauncherRole::kLauncher;

  // ---- what programs below it inherit. The job, the step, the node and the CPUs are true of each rank and stay.
  // Of an MPI launcher the local rank alone is rewritten, because scripts choose a device by it: the rank and
  // the size mean its server's MPI_COMM_WORLD.
  std::span<const OuterVariable> per_rank = {};   // the value of its variables under a supervisor of several
                                                  // ranks
  std::span<const RemovedVariable> removed = {};  // never inherited by a program under a supervisor

  // ---- its rendezvous
  Meets meets = Meets::kJob;
  KeyVariable key = {};
  std::string_view store_variable = {};  // "True": a store of PyTorch listens on MASTER_PORT
  bool names_no_launch = false;          // the Slurm step and the PMI proxy distinguish its launches
  bool shares_job_id = false;            // its job's id is that of the batch job: several launches have it
  bool restarts_by_node = false;  // its restarts are counted by each node: they may differ in one launch

  // ---- beside other launchers
  bool has_signature = true;   // has variables that no other launcher sets, so that their presence dates them
  bool inherited = false;      // ranks of a launcher further inside inherit its variables
  bool seen_in_steps = false;  // srun's plugins set its variables, too: beside a Slurm task they are Slurm's
  bool orders_nodes = false;   // numbers its nodes in its own order, under any outer launcher
  bool daemons_by_srun = false;      // starts its daemons with srun, one on each node
  bool spreads_environment = false;  // its ranks inherit the environment of the node on which it was started
  bool rare = false;                 // its absence is no news

  LauncherRow row() const { return {name, tuple, job_id, node}; }
  Probed Probe(const Environment& environment, const ProbeContext& context) const {
    return probe == nullptr ? ProbeRow(environment, row()) : probe(environment, context);
  }
  // Never run here: from documentation or source.
  bool IsDocumented() const { return tested.empty(); }
  bool NamesMaster() const { return meets == Meets::kMaster; }
};

// The variables that its probe reads, those of its tuple first.
std::vector<std::string_view> VariablesOf(const Launcher& launcher);

// The rows in their order. A view: the rows live as long as the program.
class LauncherTable {
 public:
  constexpr explicit LauncherTable(std::span<const Launcher* const> rows) : rows_(rows) {}

  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  size_t size() const { return rows_.size(); }

  // Null: no launcher has this name.
  const Launcher* Find(std::string_view name) const;
  // A row without a name or a trait if no launcher has this name.
  const Launcher& Of(std::string_view name) const;
  // The one row of this role.
  const Launcher& With(LauncherRole role) const;
  // "explicit, muster, torchrun, ..., none"
  std::string Names() const;
  // "auto" and the names of the rows are valid. Error: kConfiguration, with the nearest name.
  Status CheckName(std::string_view name) const;

 private:
  std::span<const Launcher* const> rows_;
};

// The product's launchers.
LauncherTable Launchers();

const Launcher* FindLauncher(std::string_view name);

// Of a launcher of the product.
bool HasRole(std::string_view name, LauncherRole role);

}  // namespace muster::resolve
