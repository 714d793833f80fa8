// A made-up launcher: the one file that a new launcher needs.
//   BEACON_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE _NODE_RANK _NUM_NODES
//   BEACON_SESSION   the launch;  BEACON_LAUNCH   random for each launch;  BEACON_HOST   this node
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

constexpr LauncherRow kRow{
    .name = "beacon",
    .variables = {.rank = "BEACON_RANK",
                  .world_size = "BEACON_SIZE",
                  .local_rank = "BEACON_LOCAL_RANK",
                  .local_world_size = "BEACON_LOCAL_SIZE",
                  .node_rank = "BEACON_NODE_RANK",
                  .num_nodes = "BEACON_NUM_NODES"},
    .job_id = "BEACON_SESSION",
    .node = "BEACON_HOST",
};

Probed ProbeBeacon(const Environment& environment, const ProbeContext&) {
  return ProbeRow(environment, kRow);
}

constexpr std::string_view kOthers[] = {"BEACON_SESSION", "BEACON_HOST"};

constexpr OuterVariable kPerRank[] = {
    {"BEACON_LOCAL_RANK", Becomes::kLocalRank, "Beacon: local rank"},
    {"BEACON_LOCAL_SIZE", Becomes::kLocalSize, "Beacon: ranks on this node"},
    {"BEACON_RANK", Becomes::kNothing, "Beacon: rank"},
    {"BEACON_SIZE", Becomes::kNothing, "Beacon: number of ranks"},
    {"BEACON_SOCKET", Becomes::kNothing, "Beacon: one connection cannot serve several ranks"},
};

constexpr RemovedVariable kRemoved[] = {
    {"BEACON_TOKEN", "a secret of its daemon"},
};

}  // namespace

extern const Launcher kBeaconLauncher;
constinit const Launcher kBeaconLauncher{
    .name = "beacon",
    .probe = ProbeBeacon,
    .tested = "Beacon's start",
    .tuple = kRow.variables,
    .others = kOthers,
    .note = "made up",
    .per_rank = kPerRank,
    .removed = kRemoved,
    .key = {"beacon", "BEACON_LAUNCH"},
};

}  // namespace muster::resolve
