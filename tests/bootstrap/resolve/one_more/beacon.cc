// A made-up launcher: the one file that a new launcher needs.
//   BEACON_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE _NODE_RANK _NUM_NODES
//   BEACON_SESSION   the launch;  BEACON_LAUNCH   random for each launch;  BEACON_HOST   this node
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

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
    .tested = "Beacon's start",
    .tuple = {.rank = "BEACON_RANK",
              .world_size = "BEACON_SIZE",
              .local_rank = "BEACON_LOCAL_RANK",
              .local_world_size = "BEACON_LOCAL_SIZE",
              .node_rank = "BEACON_NODE_RANK",
              .num_nodes = "BEACON_NUM_NODES"},
    .job_id = "BEACON_SESSION",
    .node = "BEACON_HOST",
    .note = "made up",
    .per_rank = kPerRank,
    .removed = kRemoved,
    .key = {"beacon", "BEACON_LAUNCH"},
};

}  // namespace muster::resolve
