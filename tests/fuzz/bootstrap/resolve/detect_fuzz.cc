// The whole of resolving, from variables to a tuple, the meeting and the printed answer.
//
// An input is NAME=VALUE lines, so that the captured environments are seeds. Other lines are skipped:
// environment_fuzz.cc covers the refusals of FromText. Names that begin with FUZZ_ are no variables: they set
// the live process and the options.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "bootstrap/join/meeting.h"
#include "bootstrap/resolve/detect.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resolve/resolve_report.h"
#include "comm/base/parse.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

Environment::Variables VariablesOf(std::string_view text) {
  Environment::Variables variables;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos || line.find('\0') != std::string_view::npos)
      continue;
    variables[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return variables;
}

// The parts of the input beside the variables.
class Extras {
 public:
  explicit Extras(const Environment::Variables& variables) : variables_(variables) {}

  Environment Surround(Environment environment) const {
    if (!Number("FUZZ_PID")) return environment;
    Environment::Process process{
        .pid = *Number("FUZZ_PID"), .parent = Number("FUZZ_PARENT").value_or(1), .uid = 1000};
    process.host_name = Text("FUZZ_HOST").value_or("");
    process.slurm_step = Text("FUZZ_STEP").value_or("");
    process.pmi_server = Number("FUZZ_PMI_SERVER").value_or(0);
    // The outer process had the same variables except for a part of them.
    if (const auto outer = Text("FUZZ_TASK_HAD")) process.slurm_task = Outer(environment, *outer);
    if (const auto outer = Text("FUZZ_SUPERVISOR_HAD")) process.supervisor = Outer(environment, *outer);
    return environment.AsProcess(std::move(process));
  }

  resolve::DetectOptions Options() const {
    resolve::DetectOptions options;
    options.launcher = Text("FUZZ_LAUNCHER").value_or("auto");
    options.explicit_tuple = {Number("FUZZ_RANK"), Number("FUZZ_WORLD"), Number("FUZZ_LOCAL"), Where()};
    const bool alive = Text("FUZZ_DEAD") == std::nullopt;
    options.control_alive = [alive](const std::string&) { return alive; };
    if (Text("FUZZ_PMIX")) {
      options.pmix =
          PmixPlace{Unsigned("FUZZ_PMIX_SIZE"), Unsigned("FUZZ_PMIX_LOCAL"), Text("FUZZ_PMIX_PEERS"),
                    Unsigned("FUZZ_PMIX_LOCAL_SIZE"), Unsigned("FUZZ_PMIX_NODES")};
    }
    return options;
  }

  std::optional<Endpoint> Where() const {
    const auto text = Text("FUZZ_ENDPOINT");
    if (!text) return std::nullopt;
    const auto endpoint = ParseEndpoint(*text);
    return endpoint ? std::optional(*endpoint) : std::nullopt;
  }

 private:
  std::optional<std::string> Text(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<int> Number(std::string_view name) const {
    const auto text = Text(name);
    return text ? ParseInteger<int>(*text) : std::nullopt;
  }
  std::optional<uint32_t> Unsigned(std::string_view name) const {
    const auto text = Text(name);
    return text ? ParseInteger<uint32_t>(*text) : std::nullopt;
  }
  static std::shared_ptr<const Environment> Outer(const Environment& inner, std::string_view prefix) {
    Environment::Variables variables;
    for (const auto& [name, value] : inner.All()) {
      if (name.starts_with(prefix)) variables[name] = value;
    }
    return std::make_shared<const Environment>(Environment::FromVariables(std::move(variables)));
  }

  const Environment::Variables& variables_;
};

void CheckTuple(const RankTuple& tuple) {
  Require(resolve::FindLauncher(tuple.launcher) != nullptr, "\"{}\" is a launcher", tuple.launcher);
  Require(0 <= tuple.rank && tuple.rank < tuple.world_size, "rank {} is inside {}", tuple.rank,
          tuple.world_size);
  const auto inside = [&](const std::optional<int>& index, const std::optional<int>& count,
                          const char* what) {
    Require(!index || (0 <= *index && *index < count.value_or(tuple.world_size)), "{} {} is inside {}", what,
            index.value_or(-1), count.value_or(tuple.world_size));
    Require(!count || (1 <= *count && *count <= tuple.world_size), "{} count {} is inside {}", what,
            count.value_or(-1), tuple.world_size);
  };
  inside(tuple.local_rank, tuple.local_world_size, "local rank");
  inside(tuple.node_rank, tuple.num_nodes, "node rank");
  Require(!tuple.node || !tuple.node->empty(), "the node has a name");
  Require(!tuple.job.key.empty(), "the job has a key");
}

void CheckError(const Error& error) {
  const bool code = error.code == Code::kNotLaunched || error.code == Code::kBadEnvironment ||
                    error.code == Code::kUsage || error.code == Code::kConfiguration;
  Require(code, "\"{}\" is the environment's fault, not {}", error.message, CodeName(error.code));
  Require(!error.message.empty(), "an error says something");
  if (error.code != Code::kBadEnvironment) return;
  const auto upper = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  size_t run = 0;
  for (const char c : error.message) {
    run = upper(c) ? run + 1 : 0;
    if (run == 4) return;
  }
  Require(false, "\"{}\" names a variable", error.message);
}

void CheckMeeting(const Meeting& meeting, const RankTuple& tuple) {
  Require(!meeting.key.empty() && !meeting.job_key.empty(), "a meeting has keys");
  const Placement& placement = meeting.placement;
  Require(meeting.find_root != FindRoot::kFirstNode || !placement.nodes.empty(), "there is a first node");
  Require(meeting.find_root != FindRoot::kSearch || placement.nodes.size() > 1, "there are nodes to search");
  Require(meeting.find_root != FindRoot::kHost || !meeting.host.empty(), "there is a host");
  Require(meeting.find_root != FindRoot::kEndpoint || meeting.endpoint, "there is an endpoint");
  const int kvs_list = (meeting.torch_store ? 1 : 0) + (meeting.directory ? 1 : 0) + (meeting.pmi ? 1 : 0) +
                       (meeting.pmix ? 1 : 0);
  Require(kvs_list == (meeting.find_root == FindRoot::kEndpointStore ? 1 : 0),
          "the root's word is in one place, not {}", kvs_list);
  Require(placement.node_of_rank.empty() ||
              placement.node_of_rank.size() == static_cast<size_t>(tuple.world_size),
          "{} ranks of {} are placed", placement.node_of_rank.size(), tuple.world_size);
  for (const int node : placement.node_of_rank) {
    Require(0 <= node && static_cast<size_t>(node) < placement.nodes.size(), "node {} is there", node);
  }
}

void FuzzOne(ByteView input) {
  const Environment::Variables variables = VariablesOf(AsText(input));
  const Extras extras(variables);
  const Environment environment = extras.Surround(Environment::FromVariables(variables));
  const resolve::DetectOptions options = extras.Options();
  const auto resolution = resolve::Resolve(environment, options);
  Require(resolution == resolve::Resolve(environment, options), "twice the same");
  if (!resolution) {
    CheckError(resolution.error().error);
    Require(!resolution.error().ask_pmix || !options.pmix, "a server is asked once");
    Require(nlohmann::json::accept(ResolveJson(resolution.error())), "the refusal is JSON");
    ResolveText(resolution.error());
    return;
  }
  CheckTuple(resolution->tuple);
  Require(resolution->considered.size() + 1 == resolve::Launchers().size(),
          "every other launcher is considered");
  Require(nlohmann::json::accept(ResolveJson(*resolution)), "the answer is JSON");
  ResolveText(*resolution);
  ResolveExport(*resolution);
  const auto meeting = join::PlanMeeting(*resolution, environment, RendezvousOptions{}, extras.Where());
  if (meeting) CheckMeeting(*meeting, resolution->tuple);
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* text :
       {"",
        "RANK=1\nWORLD_SIZE=2\nLOCAL_RANK=1\nMASTER_ADDR=gpu01\nMASTER_PORT=29500\nFUZZ_PID=7\nFUZZ_HOST="
        "gpu02\n",
        "MUSTER_RANK=1\nMUSTER_WORLD_SIZE=4\nMUSTER_LOCAL_RANK=1\nMUSTER_LOCAL_WORLD_SIZE=2\nMUSTER_NODE_"
        "RANK=0\n"
        "MUSTER_NUM_NODES=2\nMUSTER_NODE=gpu01\nMUSTER_GROUP=0123456789abcdef0123456789abcdef\n"
        "MUSTER_CONTROL=muster-x\nMUSTER_JOB_KEY=slurm:4.0:0\nMUSTER_SUPERVISOR_PID=7\nFUZZ_PID=8\nFUZZ_"
        "PARENT=7\n"
        "RANK=1\nWORLD_SIZE=4\n",
        "FUZZ_RANK=0\nFUZZ_WORLD=2\nFUZZ_LOCAL=0\nFUZZ_ENDPOINT=gpu01:61000\n",
        "FUZZ_LAUNCHER=none\nRANK=0\n", "PMIX_RANK=0\nPMIX_NAMESPACE=slurm.pmix.7.0\n",
        "PMIX_RANK=3\nPMIX_NAMESPACE=slurm.pmix.7.0\nPMIX_SERVER_URI41=pmix-server.9;tcp4://127.0.0.1:9\n"
        "FUZZ_PMIX=1\nFUZZ_PMIX_SIZE=4\nFUZZ_PMIX_PEERS=2,3\nFUZZ_PMIX_LOCAL_SIZE=2\nFUZZ_PMIX_NODES=2\n"
        "FUZZ_LAUNCHER=pmix\nFUZZ_PID=7\nFUZZ_HOST=gpu02\n",
        "PMI_RANK=3\nPMI_SIZE=8\nPMI_JOBID=7.0\n"}) {
    seeds.push_back(ToBytes(text));
  }
  return seeds;
}

std::vector<std::string> Words() {
  std::vector<std::string> words;
  const auto add = [&](std::string_view name) { words.push_back(fmt::format("\n{}=", name)); };
  for (const resolve::Launcher* launcher : resolve::Launchers()) {
    for (const std::string_view name : resolve::VariablesOf(*launcher)) add(name);
  }
  for (const char* name : {"PMIX_SERVER_URI41",
                           "SLURM_NTASKS",
                           "SLURM_STEP_TASKS_PER_NODE",
                           "SLURM_STEPID",
                           "SLURM_JOB_NODELIST",
                           "SLURM_HET_SIZE",
                           "SLURM_DISTRIBUTION",
                           "SLURM_DIST_PLANESIZE",
                           "SLURM_TASKS_PER_NODE",
                           "FUZZ_PID",
                           "FUZZ_PARENT",
                           "FUZZ_STEP",
                           "FUZZ_HOST",
                           "FUZZ_TASK_HAD",
                           "FUZZ_SUPERVISOR_HAD",
                           "FUZZ_DEAD",
                           "FUZZ_LAUNCHER",
                           "FUZZ_RANK",
                           "FUZZ_WORLD",
                           "FUZZ_LOCAL",
                           "FUZZ_PMIX",
                           "FUZZ_PMIX_SIZE",
                           "FUZZ_PMIX_LOCAL",
                           "FUZZ_PMIX_PEERS",
                           "FUZZ_PMIX_LOCAL_SIZE",
                           "FUZZ_PMIX_NODES",
                           "FUZZ_ENDPOINT"})
    add(name);
  for (const char* value :
       {"\n", "0", "1", "2", "-1", "4294967294", "2147483647", "2(x3),1", "0,3,4", "gpu[01-03]", "cyclic",
        "plane=2", "block:cyclic,pack", "slurm", "none", "7.0", "gpu01:61000", "localhost"}) {
    words.emplace_back(value);
  }
  return words;
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz
