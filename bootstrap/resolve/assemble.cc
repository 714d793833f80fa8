#include "bootstrap/resolve/assemble.h"

#include <algorithm>
#include <array>

#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {
namespace {

// In the order of resolve --json.
constexpr std::array<std::string_view, 12> kFields{
    "rank", "world_size", "local_rank", "local_world_size", "node_rank",   "num_nodes",
    "node", "job.key",    "job.id",     "job.step",         "job.restart", "master"};

const FieldSource* SourceOf(const Candidate& candidate, std::string_view field) {
  for (const FieldSource& source : candidate.sources) {
    if (source.field == field) return &source;
  }
  return nullptr;
}

class Assembler {
 public:
  Assembler(const Candidate& winner, const Surroundings& surroundings, const Environment& environment,
            const LauncherTable& launchers)
      : winner_(winner),
        surroundings_(surroundings),
        environment_(environment),
        launchers_(launchers),
        launcher_(launchers.Of(winner.tuple.launcher)) {
    resolution_.tuple = winner.tuple;
    resolution_.sources = winner.sources;
    resolution_.warnings = winner.warnings;
    for (const Candidate* carrier : surroundings.carriers) resolution_.carriers.push_back(carrier->tuple);
  }

  Resolution Run() {
    for (const Candidate* other : surroundings_.same) BorrowFrom(*other);
    BorrowJob();
    FillNode();
    FillMaster();
    DeriveBlocks();
    DeriveNodes();
    SortSources();
    return std::move(resolution_);
  }

 private:
  std::string_view NameOf(LauncherRole role) const { return launchers_.With(role).name; }

  template <typename T>
  void Borrow(const Candidate& other, std::string_view field, std::optional<T> RankTuple::*member) {
    std::optional<T>& mine = resolution_.tuple.*member;
    if (mine || !(other.tuple.*member)) return;
    mine = other.tuple.*member;
    const FieldSource* source = SourceOf(other, field);
    resolution_.sources.push_back({std::string(field), source ? source->variable : "", other.tuple.launcher});
  }

  void Derive(std::string_view field, std::optional<int>& mine, int value, std::string how) {
    if (mine) return;
    mine = value;
    resolution_.sources.push_back({std::string(field), std::move(how)});
  }

  void BorrowFrom(const Candidate& other) {
    const RankTuple& tuple = resolution_.tuple;
    if (tuple.local_rank && other.tuple.local_rank && *tuple.local_rank != *other.tuple.local_rank) {
      const FieldSource* theirs = SourceOf(other, "local_rank");
      const FieldSource* ours = SourceOf(winner_, "local_rank");
      resolution_.warnings.push_back(fmt::format("{}={} is ignored: {} gives local rank {}{}",
                                                 theirs ? theirs->variable : other.tuple.launcher,
                                                 *other.tuple.local_rank, tuple.launcher, *tuple.local_rank,
                                                 ours ? fmt::format(" ({})", ours->variable) : ""));
    } else {
      Borrow(other, "local_rank", &RankTuple::local_rank);
      Borrow(other, "local_world_size", &RankTuple::local_world_size);
    }
    // Half of a pair from each of two launchers would be a tuple of neither.
    if (!tuple.node_rank || !tuple.num_nodes || tuple.num_nodes == other.tuple.num_nodes) {
      Borrow(other, "node_rank", &RankTuple::node_rank);
      Borrow(other, "num_nodes", &RankTuple::num_nodes);
    }
    Borrow(other, "node", &RankTuple::node);
    Borrow(other, "master", &RankTuple::master);
  }

  // The supervisor passed on the job's name; a launcher with the same name has its parts.
  void BorrowJob() {
    JobIdentity& job = resolution_.tuple.job;
    if (!job.id.empty()) return;
    for (const auto* others : {&surroundings_.same, &surroundings_.carriers}) {
      for (const Candidate* other : *others) {
        if (other->tuple.job.key != job.key || other->tuple.job.id.empty()) continue;
        job = other->tuple.job;
        for (const char* field : {"job.id", "job.step", "job.restart"}) {
          if (const FieldSource* source = SourceOf(*other, field)) {
            resolution_.sources.push_back({field, source->variable, other->tuple.launcher});
          }
        }
        return;
      }
    }
  }

  // An outer launcher runs on this node too, so its name for the node is right. The exception is a launcher
  // that spreads the environment of the node where it was started.
  void FillNode() {
    RankTuple& tuple = resolution_.tuple;
    if (tuple.node) return;
    const bool inherited_name_is_ours = !launcher_.spreads_environment && surroundings_.node_name_is_ours;
    const auto slurm_name = environment_.Get("SLURMD_NODENAME");
    if (inherited_name_is_ours && slurm_name && !slurm_name->empty()) {
      tuple.node = std::string(*slurm_name);
      resolution_.sources.push_back(
          {"node", "SLURMD_NODENAME",
           std::string(launcher_.role == LauncherRole::kSlurm ? "" : NameOf(LauncherRole::kSlurm))});
      return;
    }
    tuple.node = environment_.host_name();
    if (tuple.node) resolution_.sources.push_back({"node", "(host name)"});
  }

  void FillMaster() {
    RankTuple& tuple = resolution_.tuple;
    const bool meets_elsewhere =
        launcher_.role == LauncherRole::kAlone || launcher_.role == LauncherRole::kFlags;
    if (tuple.master || meets_elsewhere || !surroundings_.master_is_ours) return;
    const auto master = ReadMaster(environment_);
    if (launcher_.NamesMaster() && environment_.Has("MASTER_ADDR") && !environment_.Has("MASTER_PORT")) {
      resolution_.warnings.push_back(
          fmt::format("MASTER_ADDR={} is ignored, because MASTER_PORT is not set: set both",
                      *environment_.Get("MASTER_ADDR")));
    } else if (!master) {
      resolution_.warnings.push_back(master.error().message);
    } else if (*master) {
      tuple.master = *master;
      resolution_.sources.push_back(
          {"master", "MASTER_ADDR, MASTER_PORT", std::string(NameOf(LauncherRole::kBareTuple))});
    }
  }

  // mp.spawn in one srun task a node: each task started as many ranks as the world holds tasks' worth.
  void DeriveBlocks() {
    RankTuple& tuple = resolution_.tuple;
    if (launcher_.has_signature || !launcher_.NamesMaster() || tuple.num_nodes) return;
    for (const RankTuple& carrier : resolution_.carriers) {
      if (carrier.launcher != NameOf(LauncherRole::kSlurm) || carrier.num_nodes != carrier.world_size ||
          carrier.world_size == 1)
        continue;
      if (tuple.world_size % carrier.world_size != 0) continue;
      Derive("local_world_size", tuple.local_world_size, tuple.world_size / carrier.world_size,
             "WORLD_SIZE / SLURM_STEP_NUM_TASKS (one task a node)");
    }
  }

  void DeriveNodes() {
    RankTuple& tuple = resolution_.tuple;
    if (tuple.world_size == 1) {
      Derive("local_rank", tuple.local_rank, 0, "(world of one)");
      Derive("local_world_size", tuple.local_world_size, 1, "(world of one)");
    }
    if (tuple.num_nodes == 1) {
      Derive("local_world_size", tuple.local_world_size, tuple.world_size, "(all ranks are on one node)");
    }
    if (tuple.local_world_size == tuple.world_size)
      Derive("num_nodes", tuple.num_nodes, 1, "(all ranks are on one node)");
    if (tuple.num_nodes == 1) Derive("node_rank", tuple.node_rank, 0, "(all ranks are on one node)");
  }

  void SortSources() {
    const auto position = [](const FieldSource& source) {
      return std::find(kFields.begin(), kFields.end(), source.field) - kFields.begin();
    };
    std::stable_sort(resolution_.sources.begin(), resolution_.sources.end(),
                     [&](const FieldSource& a, const FieldSource& b) { return position(a) < position(b); });
  }

  const Candidate& winner_;
  const Surroundings& surroundings_;
  const Environment& environment_;
  const LauncherTable& launchers_;
  const Launcher& launcher_;
  Resolution resolution_;
};

}  // namespace

Resolution Assemble(const Candidate& winner, const Surroundings& surroundings, const Environment& environment,
                    const LauncherTable& launchers) {
  return Assembler(winner, surroundings, environment, launchers).Run();
}

std::string Force(std::string_view name) {
  return fmt::format("MUSTER_LAUNCHER={0} (also --launcher {0}, or launcher: {0} in the configuration)",
                     name);
}

std::string RankVariable(const Candidate& candidate) {
  const FieldSource* source = SourceOf(candidate, "rank");
  return source != nullptr ? source->variable : "";
}

std::string Describe(const Candidate& candidate) {
  const RankTuple& tuple = candidate.tuple;
  std::string text = fmt::format("rank {} of {}", tuple.rank, tuple.world_size);
  const FieldSource* rank = SourceOf(candidate, "rank");
  const FieldSource* size = SourceOf(candidate, "world_size");
  if (rank && size)
    text += fmt::format(" ({}={}, {}={})", rank->variable, tuple.rank, size->variable, tuple.world_size);
  return text;
}

}  // namespace muster::resolve
