#include "bootstrap/join/meeting.h"

#include <algorithm>

#include "bootstrap/environment/launcher_kvs_access.h"
#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resolve/slurm/placement.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "comm/base/parse.h"

namespace muster::join {
namespace {

// "fe80::1" of "fe80::1%eth0": another node has another name for the interface of a link-local address.
std::string OnEveryNode(Endpoint endpoint) {
  endpoint.host.resize(std::min(endpoint.host.find('%'), endpoint.host.size()));
  return ToString(endpoint);
}

class Planner {
 public:
  Planner(const resolve::Resolution& resolution, const Environment& environment,
          const RendezvousOptions& options, std::optional<Endpoint> endpoint,
          const resolve::LauncherTable& launchers)
      : resolution_(resolution),
        launchers_(launchers),
        launcher_(launchers.Of(resolution.tuple.launcher)),
        tuple_(resolution.tuple),
        environment_(environment),
        method_(options.method),
        directory_(options.directory),
        endpoint_(std::move(endpoint)) {}

  Result<Meeting> Run() {
    Meeting meeting;
    meeting.key = Key();
    meeting.job_key = JobKeyText(meeting.key);
    meeting.restart_is_shared = RestartIsShared();
    // Only the parts of the key: they are the same on every rank.
    if (InStep()) meeting.ports_of_others = PortsOfOthers(tuple_.job.id);
    if (launcher_.meets == resolve::Meets::kPmix)
      meeting.node_mark = FindPmixServer(environment_).value_or("");
    MUSTER_CHECK(FindTheRoot(meeting));
    return meeting;
  }

 private:
  bool InStep() const { return launcher_.meets == resolve::Meets::kStep; }
  bool HasMaster() const { return launcher_.NamesMaster(); }
  bool HasFlags() const { return launcher_.meets == resolve::Meets::kEndpoint; }

  // The process on this node that serves PMI to the launcher's ranks; 0: unknown, or none of this launcher.
  pid_t PmiProxy() const {
    const bool keeps_pmi = launcher_.meets == resolve::Meets::kJobThenPmi;
    return keeps_pmi && environment_.live() ? environment_.process()->pmi_server : 0;
  }

  bool OnOneNode() const { return tuple_.local_world_size == tuple_.world_size || tuple_.num_nodes == 1; }

  // ---- what all processes of the launch surely share ----

  std::string Key() const {
    std::string key = tuple_.launcher;
    const auto add = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) key += fmt::format(" {}={}", name, value);
    };
    add("uid", Uid());
    if (InStep()) AddSlurm(add);
    if (!InStep()) add("id", tuple_.job.id);
    if (!launcher_.key.variable.empty())
      add(launcher_.key.label, environment_.Get(launcher_.key.variable).value_or(""));
    if (launcher_.names_no_launch) AddSlurmOfMpiexec(add);
    const bool unnamed = HasMaster() || !NamesTheLaunch();
    const bool by_master = unnamed && tuple_.master && !SlurmNamesMpiexec();
    if (by_master) add("master", OnEveryNode(*tuple_.master));
    if (HasMaster()) AddSlurmOfBlocks(add);
    if (endpoint_ && (HasFlags() || (unnamed && !by_master))) add("endpoint", OnEveryNode(*endpoint_));
    // Nothing else distinguishes two launches of one user.
    if (HasFlags() && method_ == RendezvousMethod::kFile) add("directory", directory_.value_or(""));
    return key;
  }

  // Else two launches of one user differ in the address of rank 0 alone.
  bool NamesTheLaunch() const {
    if (InStep() || environment_.Has(launcher_.key.variable)) return true;
    return !tuple_.job.id.empty() && !launcher_.shares_job_id;
  }

  // The process that serves PMI to all ranks; 0: unknown, or several.
  pid_t OnlyProxy() const {
    return OnOneNode() && environment_.live() ? environment_.process()->pmi_server : 0;
  }

  // Its step or proxy distinguishes it, and MASTER_ADDR, which may differ between its nodes, does not lead to the root.
  bool SlurmNamesMpiexec() const {
    if (!launcher_.names_no_launch) return false;
    if (OnlyProxy() > 0) return true;
    const auto step = resolve::SlurmStepId(environment_);
    return step && *step && !OnOneNode() && resolve::SlurmJobNodelist(environment_);
  }

  std::string Uid() const {
    if (environment_.live()) return std::to_string(environment_.process()->uid);
    return std::string(environment_.Get("SLURM_JOB_UID").value_or(""));
  }

  template <typename Add>
  void AddSlurm(const Add& add) const {
    add("cluster", environment_.Get("SLURM_CLUSTER_NAME").value_or(""));
    add("job", tuple_.job.id);
    add("step", tuple_.job.step);
    if (!resolve::IsHeterogeneous(environment_)) return;
    // Steps of two components can bear one number under the leader's job id; their nodes differ.
    add("het", environment_.Get("SLURM_HET_SIZE").value_or(environment_.Get("SLURM_PACK_SIZE").value_or("")));
    add("nodes", environment_.Get("SLURM_STEP_NODELIST").value_or(""));
  }

  // An mpiexec that names its launch nowhere. All its proxies are of one Slurm step, and on one node all
  // ranks hang on one proxy.
  template <typename Add>
  void AddSlurmOfMpiexec(const Add& add) const {
    add("cluster", environment_.Get("SLURM_CLUSTER_NAME").value_or(""));
    add("job", resolve::SlurmJobId(environment_).value_or(""));
    const auto step = resolve::SlurmStepId(environment_);
    if (step && *step) add("step", std::to_string(**step));
    if (OnlyProxy() > 0) add("proxy", std::to_string(OnlyProxy()));
  }

  // A step whose tasks started blocks of ranks holds them all. Not so torchrun: its agents may come from
  // several steps.
  template <typename Add>
  void AddSlurmOfBlocks(const Add& add) const {
    if (launcher_.has_signature) return;
    // On one node all ranks have the job of that node, under any launcher.
    if (OnOneNode() || IsLoopback(tuple_.master ? tuple_.master->host : "")) {
      add("cluster", environment_.Get("SLURM_CLUSTER_NAME").value_or(""));
      add("job", resolve::SlurmJobId(environment_).value_or(""));
      return;
    }
    for (const RankTuple& carrier : resolution_.carriers) {
      if (launchers_.Of(carrier.launcher).meets != resolve::Meets::kStep || carrier.world_size == 1) continue;
      add("cluster", environment_.Get("SLURM_CLUSTER_NAME").value_or(""));
      add("job", carrier.job.id);
      add("step", carrier.job.step);
    }
  }

  bool RestartIsShared() const { return !launcher_.restarts_by_node || OnOneNode(); }

  std::string JobKeyText(const std::string& key) const {
    std::string text = fmt::format("{} size={}", key, tuple_.world_size);
    if (RestartIsShared()) text += fmt::format(" restart={}", tuple_.job.restart);
    const auto start = environment_.Get("SLURM_JOB_START_TIME");
    // The components of a heterogeneous job may have started a second apart.
    if (InStep() && start && !resolve::IsHeterogeneous(environment_))
      text += fmt::format(" start={}", *start);
    return text;
  }

  // ---- the root's address ----

  Status FindTheRoot(Meeting& meeting) const {
    if (InStep() && environment_.Has("SLURM_STEP_NODELIST")) {
      MUSTER_TRY(meeting.placement, resolve::PlacementOfSlurmStep(environment_));
    }
    meeting.find_root = FindRoot::kSameNode;
    if (tuple_.world_size == 1) return {};
    if (method_ == RendezvousMethod::kTorchStore) return FindByStore(meeting);
    if (method_ == RendezvousMethod::kFile) return FindByFile(meeting);
    if (method_ == RendezvousMethod::kPmi) return FindByPmi(meeting);
    if (method_ == RendezvousMethod::kPmix) return FindByPmix(meeting);
    if (endpoint_) {
      meeting.find_root = FindRoot::kEndpoint;
      meeting.endpoint = endpoint_;
      return {};
    }
    return FindByWay(meeting);
  }

  // The launcher's own way.
  Status FindByWay(Meeting& meeting) const {
    switch (launcher_.meets) {
      case resolve::Meets::kStep:
        return FindInStep(meeting);
      case resolve::Meets::kMaster:
        return FindAtMaster(meeting);
      case resolve::Meets::kEndpoint:
        return NoEndpoint();
      case resolve::Meets::kPmix:
        return method_ == RendezvousMethod::kAuto ? FindByPmix(meeting) : FindInJob(meeting);
      case resolve::Meets::kJob:
      case resolve::Meets::kJobThenPmi:
      case resolve::Meets::kJobThenPmix:
      case resolve::Meets::kSupervisor:
      case resolve::Meets::kNowhere:
        break;
    }
    return FindInJob(meeting);
  }

  Status NoEndpoint() const {
    if (OnOneNode()) return {};
    return WithHint(Fail(Code::kConfiguration, "--rank and --world-size do not determine the node of rank 0"),
                    "add --endpoint HOST:PORT, a free port on rank 0's node, the same on every rank");
  }

  Status FindInStep(Meeting& meeting) const {
    if (meeting.placement.nodes.size() == 1) return {};
    if (!meeting.placement.nodes.empty()) {
      meeting.find_root = FindRoot::kFirstNode;
      return {};
    }
    return SearchTheJob(meeting);
  }

  // Only on request: the store may belong to another user or job.
  Status FindByStore(Meeting& meeting) const {
    if (OnOneNode()) return {};
    meeting.find_root = FindRoot::kEndpointStore;
    meeting.torch_store = endpoint_ ? endpoint_ : tuple_.master;
    if (meeting.torch_store) return {};
    return WithHint(Fail(Code::kConfiguration,
                         "rendezvous.method is torch-store, but the address of the store is unknown"),
                    "set MASTER_ADDR and MASTER_PORT, or rendezvous.endpoint, to its address");
  }

  // Ranks start in different directories: only an absolute path means the same to all.
  Status FindByFile(Meeting& meeting) const {
    if (OnOneNode()) return {};
    meeting.find_root = FindRoot::kEndpointStore;
    meeting.directory = directory_;
    if (directory_ && directory_->starts_with('/')) return {};
    return WithHint(
        Fail(Code::kConfiguration, "rendezvous.method is file, and rendezvous.directory {}",
             directory_ ? fmt::format("is \"{}\", not an absolute path", *directory_) : "is not set"),
        "set rendezvous.directory to a directory that all nodes share");
  }

  Status FindByPmi(Meeting& meeting) const {
    if (OnOneNode()) return {};
    MUSTER_TRY(meeting.pmi, FindPmi(environment_, tuple_, launcher_.meets == resolve::Meets::kJobThenPmi));
    meeting.find_root = FindRoot::kEndpointStore;
    // Two mpiexecs outside Slurm have one key, and servers of their own.
    if (PmiProxy() > 0) meeting.node_mark = fmt::format("proxy={}", PmiProxy());
    return {};
  }

  Status FindByPmix(Meeting& meeting) const {
    if (OnOneNode()) return {};
    MUSTER_CHECK(CheckPmix(environment_, tuple_));
    meeting.find_root = FindRoot::kEndpointStore;
    meeting.pmix = true;
    return {};
  }

  // The agent listens on MASTER_PORT as long as its workers run, and sets a variable for that.
  bool AgentHasStore() const {
    return !launcher_.store_variable.empty() && environment_.Get(launcher_.store_variable) == "True";
  }

  Status FindAtMaster(Meeting& meeting) const {
    if (OnOneNode()) return {};
    if (!tuple_.master) return NoEndpointError();
    const bool unknown = !tuple_.local_world_size && !tuple_.num_nodes;
    if (unknown && IsAnyAddress(tuple_.master->host)) {
      return WithHint(
          Fail(Code::kConfiguration,
               "MASTER_ADDR={} is the own node of every rank, and the ranks may be on several nodes",
               tuple_.master->host),
          "set MASTER_ADDR to the name of rank 0's node");
    }
    if (IsLoopback(tuple_.master->host) || IsAnyAddress(tuple_.master->host)) {
      // Loopback can mean one machine only; PyTorch itself could not connect there otherwise.
      if (unknown) return {};
      return WithHint(
          Fail(Code::kConfiguration,
               "MASTER_ADDR={} is this node itself, but only {} of the {} ranks are on it",
               tuple_.master->host,
               tuple_.local_world_size ? std::to_string(*tuple_.local_world_size) : "some",
               tuple_.world_size),
          "set MASTER_ADDR to the name of rank 0's node; on one node start one torchrun with all ranks");
    }
    if (method_ == RendezvousMethod::kAuto && AgentHasStore()) {
      meeting.find_root = FindRoot::kEndpointStore;
      meeting.torch_store = tuple_.master;
      return {};
    }
    meeting.find_root = FindRoot::kHost;
    meeting.host = tuple_.master->host;
    return {};
  }

  Status FindInJob(Meeting& meeting) const {
    if (OnOneNode()) return {};
    if (resolve::SlurmJobNodelist(environment_)) return SearchTheJob(meeting);
    if (!tuple_.master && method_ == RendezvousMethod::kAuto && FindByLauncher(meeting)) return {};
    return FindAtMaster(meeting);
  }

  // The last choice: an MPI program may need the server for itself (README.md).
  Status FindByLauncher(Meeting& meeting) const {
    const bool cut_off = environment_.live() && PmiProxy() == 0;
    if (launcher_.meets == resolve::Meets::kJobThenPmi && !cut_off) return FindByPmi(meeting);
    if (launcher_.meets == resolve::Meets::kJobThenPmix) return FindByPmix(meeting);
    return NoEndpointError();
  }

  Status SearchTheJob(Meeting& meeting) const {
    MUSTER_TRY(meeting.placement, resolve::NodesOfSlurmJob(environment_));
    if (meeting.placement.nodes.empty()) return NoEndpointError();
    meeting.find_root = meeting.placement.nodes.size() == 1 ? FindRoot::kSameNode : FindRoot::kSearch;
    return {};
  }

  tl::unexpected<Error> NoEndpointError() const {
    return WithHint(Fail(Code::kConfiguration,
                         "ranks of this {} launch may be on several nodes, and the node of rank 0 is unknown",
                         tuple_.launcher),
                    "set rendezvous.endpoint to HOST:PORT, a free port on rank 0's node");
  }

  const resolve::Resolution& resolution_;
  const resolve::LauncherTable& launchers_;
  const resolve::Launcher& launcher_;
  const RankTuple& tuple_;
  const Environment& environment_;
  RendezvousMethod method_;
  std::optional<std::string> directory_;
  std::optional<Endpoint> endpoint_;
};

constexpr uint64_t kJaxPorts = 1U << 12;
constexpr uint64_t kFirstJaxPort = 65535 - kJaxPorts + 1;

}  // namespace

Result<Meeting> PlanMeeting(const resolve::Resolution& resolution, const Environment& environment,
                            const RendezvousOptions& options,
                            const std::optional<Endpoint>& explicit_endpoint,
                            const resolve::LauncherTable& launchers) {
  if (launchers.Of(resolution.tuple.launcher).meets == resolve::Meets::kSupervisor) {
    return WithHint(
        Fail(Code::kUsage, "this process already belongs to the group of a muster run (MUSTER_CONTROL={})",
             environment.Get("MUSTER_CONTROL").value_or("")),
        "leave out this muster: the program is already a rank of that group; for a group of its own: muster "
        "launch");
  }
  return Planner(resolution, environment, options, explicit_endpoint ? explicit_endpoint : options.endpoint,
                 launchers)
      .Run();
}

std::vector<uint16_t> PortsOfOthers(std::string_view slurm_job_id) {
  const auto job = ParseInteger<uint64_t>(slurm_job_id);
  if (!job) return {};
  return {static_cast<uint16_t>(kFirstJaxPort + *job % kJaxPorts)};
}

}  // namespace muster::join
