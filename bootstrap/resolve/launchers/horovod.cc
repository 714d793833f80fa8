// horovodrun's own (Gloo) launcher; under its MPI launcher the ranks are Open MPI's. Its source:
// horovod/runner/gloo_run.py, horovod/runner/common/util/hosts.py.
//   HOROVOD_RANK HOROVOD_SIZE HOROVOD_LOCAL_RANK HOROVOD_LOCAL_SIZE, HOROVOD_HOSTNAME (this node)
//   HOROVOD_CROSS_RANK _SIZE   among the nodes that have this *local* rank: the node's index and their number
//   only for
//                              local rank 0, which every node has
//   HOROVOD_GLOO_RENDEZVOUS_ADDR _PORT   of the driver, one for each launch; without it a worker of no launch
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/rows.h"

namespace muster::resolve {
namespace {

constexpr TupleVariables kVariables{
    .rank = "HOROVOD_RANK",
    .world_size = "HOROVOD_SIZE",
    .local_rank = "HOROVOD_LOCAL_RANK",
    .local_world_size = "HOROVOD_LOCAL_SIZE",
};

Result<Candidate> Read(const Environment& environment) {
  TupleVariables variables = kVariables;
  if (environment.Get("HOROVOD_LOCAL_RANK") == "0") {
    variables.node_rank = "HOROVOD_CROSS_RANK";
    variables.num_nodes = "HOROVOD_CROSS_SIZE";
  }
  MUSTER_TRY(Candidate candidate, ReadTuple("horovod", environment, variables));
  ReadNode(environment, "HOROVOD_HOSTNAME", candidate);
  JobIdentity& job = candidate.tuple.job;
  job.id = fmt::format("{}:{}", *environment.Get("HOROVOD_GLOO_RENDEZVOUS_ADDR"),
                       environment.Get("HOROVOD_GLOO_RENDEZVOUS_PORT").value_or(""));
  candidate.sources.push_back({"job.id", "HOROVOD_GLOO_RENDEZVOUS_ADDR, HOROVOD_GLOO_RENDEZVOUS_PORT"});
  job.key = JobKey("horovod", job);
  return candidate;
}

Probed ProbeHorovod(const Environment& environment, const ProbeContext&) {
  if (HasNoPair(environment, kVariables)) return Absent{"no HOROVOD_RANK"};
  if (environment.Get("HOROVOD_GLOO_RENDEZVOUS_ADDR").value_or("").empty()) {
    return Absent{"HOROVOD_RANK is set without HOROVOD_GLOO_RENDEZVOUS_ADDR: left over from a horovodrun",
                  true};
  }
  return ToProbed(Read(environment));
}

constexpr std::string_view kOthers[] = {"HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_HOSTNAME",
                                        "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"};

constexpr OuterVariable kPerRank[] = {
    {"HOROVOD_RANK", Becomes::kNothing, "Horovod"},
    {"HOROVOD_SIZE", Becomes::kNothing, "Horovod"},
    {"HOROVOD_LOCAL_RANK", Becomes::kNothing, "Horovod"},
    {"HOROVOD_LOCAL_SIZE", Becomes::kNothing, "Horovod"},
    {"HOROVOD_CROSS_RANK", Becomes::kNothing, "Horovod"},
    {"HOROVOD_CROSS_SIZE", Becomes::kNothing, "Horovod"},
    {"HOROVOD_GLOO_RENDEZVOUS_*", Becomes::kNothing, "Horovod: a rendezvous that waits for one process"},
};

}  // namespace

constinit const Launcher kHorovodLauncher{
    .name = "horovod",
    .probe = ProbeHorovod,
    .tested = "Horovod (Gloo; `tests/run --long`)",
    .tuple = kVariables,
    .others = kOthers,
    .note =
        "`HOROVOD_CROSS_RANK` and `_SIZE` for local rank 0 only: they count the nodes with this local rank",
    .per_rank = kPerRank,
    .rare = true,
};

}  // namespace muster::resolve
