#include "bootstrap/cli/usage/habit_table.h"

#include <array>

namespace muster::cli {
namespace {

using Reading = Habit::Reading;

constexpr Reading Same(std::string_view option) { return {Meaning::kSame, option}; }
constexpr Reading Instead(std::string_view remedy) { return {Meaning::kInstead, remedy}; }
constexpr Reading kOwn = {};
constexpr Reading kTrueAnyway = {Meaning::kHolds, {}};
constexpr Reading kModule = {Meaning::kModule, {}};
constexpr Reading kAddress = {Meaning::kAddress, {}};
constexpr Reading kPort = {Meaning::kPort, {}};

constexpr Reading kRanksOfLauncher = Instead(
    "let a launcher start the ranks: srun -n {} muster run -- CMD; on this machine: muster launch -n {} -- "
    "CMD");
constexpr Reading kNodesOfLauncher = Instead(
    "let the launcher start one process a node: srun -N {} --ntasks-per-node=1 muster run --nproc-per-node N "
    "-- CMD; without a scheduler: muster launch --nnodes {} --node-rank R --endpoint HOST:PORT -n N -- CMD");
// Of `muster map` and `muster check`, which run in every rank.
constexpr Reading kEachRank = Instead(
    "let a launcher start each rank: srun -n {} muster ...; on this machine: muster launch -n {} -- muster "
    "...");
constexpr Reading kEachNode = Instead("let the launcher start ranks on the nodes: srun -N {} muster ...");
constexpr Reading kNodeOfLauncher =
    Instead("leave it out: the launcher sets it; without a launcher: muster launch --node-rank {}");
constexpr Reading kHostsOfLauncher =
    Instead("let the launcher choose the nodes; without one: muster launch --hosts FILE -n N -- CMD");
constexpr Reading kHostNames = Instead("write the names to a file, one a line, and give --hosts FILE");
constexpr Reading kAlone = Instead("write muster launch -n N -- CMD for ranks on this machine");
constexpr Reading kNoBackend = Instead("leave it out: muster needs no rendezvous backend and no id");
constexpr Reading kWait = Instead("write --set timeouts.rendezvous=TIME to limit the wait for all ranks");
constexpr Reading kLines =
    Instead("write --label to begin each line with its rank, --log-dir DIR to keep the output of each rank");
constexpr Reading kLeaveOut = Instead("leave it out: muster has no equivalent");
constexpr Reading kOfSrun = Instead("an option of srun: write it before muster: srun ... muster run -- CMD");
constexpr Reading kOfProgram =
    Instead("an option of Accelerate's or DeepSpeed's engine: give it to the program");
constexpr Reading kInherited = Instead("leave it out: the programs inherit the environment of muster");
constexpr Reading kPlacement =
    Instead("leave it out: the launcher outside of muster binds processes to cores");
constexpr Reading kChosenHosts = Instead("write the machines to be used into the file of --hosts");
constexpr Reading kAddressHere =
    Instead("write --set rendezvous.interface=NAME to choose the network interface");
constexpr Reading kFolder = Instead("change the directory first: cd {}");
// The environment of muster reaches every program; TranslateHabits refuses a value.
constexpr Reading kExport = kTrueAnyway;

constexpr auto kHabits = std::to_array<Habit>({
    // torchrun
    {"nnodes", true, kNodesOfLauncher, kOwn, kEachNode},
    {"node-rank", true, kNodeOfLauncher, kOwn},
    {"rdzv-endpoint", true, Same("--endpoint"), Same("--endpoint")},
    {"rdzv-backend", true, kNoBackend, kNoBackend},
    {"rdzv-id", true, kNoBackend, kNoBackend},
    {"rdzv-conf", true, kWait, kWait},
    {"standalone", false, kAlone, kTrueAnyway},
    {"m", false, kModule, kModule},
    {"module", false, kModule, kModule},
    {"no-python", false, kTrueAnyway, kTrueAnyway},
    {"master-addr", true, kAddress, kAddress},
    {"master-port", true, kPort, kPort},
    {"tee", true, kLines, kLines},
    {"t", true, kLines, kLines},
    {"redirects", true, kLines, kLines},
    {"r", true, kLines, kLines},
    {"monitor-interval", true, kLeaveOut, kLeaveOut},
    {"start-method", true, kLeaveOut, kLeaveOut},
    {"role", true, kLeaveOut, kLeaveOut},
    {"local-addr", true, kAddressHere, kAddressHere},
    // mpirun, mpiexec
    {"np", true, kRanksOfLauncher, Same("-n"), kEachRank},
    {"n", true, kRanksOfLauncher, kOwn, kEachRank},
    {"npernode", true, Same("--nproc-per-node"), Same("-n")},
    {"ppn", true, Same("--nproc-per-node"), Same("-n")},
    {"hostfile", true, kHostsOfLauncher, Same("--hosts")},
    {"machinefile", true, kHostsOfLauncher, Same("--hosts")},
    {"host", true, kHostsOfLauncher, kHostNames},
    {"H", true, kHostsOfLauncher, kHostNames},
    {"x", true, kExport, kExport},
    {"tag-output", false, Same("--label"), Same("--label")},
    {"oversubscribe", false, kTrueAnyway, kTrueAnyway},
    {"allow-run-as-root", false, kTrueAnyway, kTrueAnyway},
    {"wdir", true, kFolder, kFolder},
    {"output-filename", true, Same("--log-dir"), Same("--log-dir")},
    {"l", false, Same("--label"), Same("--label")},
    {"map-by", true, kPlacement, kPlacement},
    {"bind-to", true, kPlacement, kPlacement},
    {"mca", true, kLeaveOut, kLeaveOut},
    {"genv", true, kLeaveOut, kLeaveOut},
    // srun
    {"ntasks", true, kRanksOfLauncher, Instead("write -n N: the ranks on each machine"), kEachRank},
    {"ntasks-per-node", true, Same("--nproc-per-node"), Same("-n")},
    {"nodes", true, kNodesOfLauncher, Same("--nnodes"), kEachNode},
    {"N", true, kNodesOfLauncher, Same("--nnodes"), kEachNode},
    {"export", true, kOfSrun, kInherited},
    {"cpus-per-task", true, kOfSrun, kPlacement},
    {"cpu-bind", true, kOfSrun, kPlacement},
    {"gpus-per-node", true, kOfSrun, Same("-n")},
    {"gpus-per-task", true, kOfSrun, kLeaveOut},
    {"mpi", true, kOfSrun, kLeaveOut},
    {"job-name", true, kOfSrun, kLeaveOut},
    {"J", true, kOfSrun, kLeaveOut},
    {"partition", true, kOfSrun, kLeaveOut},
    {"p", true, kOfSrun, kLeaveOut},
    // Accelerate, DeepSpeed
    {"num-processes", true, kRanksOfLauncher, Instead("write -n N: the ranks on each machine"), kEachRank},
    {"num-gpus", true, Same("--nproc-per-node"), Same("-n")},
    {"num-machines", true, kNodesOfLauncher, Same("--nnodes")},
    {"num-nodes", true, kNodesOfLauncher, Same("--nnodes")},
    {"machine-rank", true, kNodeOfLauncher, Same("--node-rank")},
    {"main-process-ip", true, kAddress, kAddress},
    {"main-process-port", true, kPort, kPort},
    {"mixed-precision", true, kOfProgram, kOfProgram},
    {"use-fsdp", false, kOfProgram, kOfProgram},
    {"cpu", false, kOfProgram, kOfProgram},
    {"include", true, kHostsOfLauncher, kChosenHosts},
    {"exclude", true, kHostsOfLauncher, kChosenHosts},
    {"no-ssh", false, kTrueAnyway, kTrueAnyway},
});

}  // namespace

std::span<const Habit> Habits() { return kHabits; }

}  // namespace muster::cli
