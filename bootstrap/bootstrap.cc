#include "bootstrap/bootstrap.h"

#include <unistd.h>

#include <memory>
#include <mutex>

#include "bootstrap/config/load.h"
#include "bootstrap/startup.h"
#include "comm/base/log.h"
#include "comm/init.h"
#include "comm/rendezvous/join.h"

namespace muster {
namespace {

// The one group of this process.
struct ProcessGroup {
  std::mutex mutex;
  InitOptions options;
  pid_t pid = 0;
  RankTuple tuple;
  TimeoutOptions timeouts;
  std::unique_ptr<Group> group;
  std::unique_ptr<Communicator> communicator;
};

// Never destroyed: its end is Shutdown's business, not that of static destructors in an order nobody chose.
ProcessGroup& TheGroup() {
  static ProcessGroup& group = *new ProcessGroup;
  return group;
}

bool SameOptions(const InitOptions& a, const InitOptions& b) {
  return a.config_file == b.config_file && a.set == b.set;
}

Status Join(const Environment& environment, const Config& config, const Asked& asked,
            const Resolution& resolution, ProcessGroup& process) {
  MUSTER_TRY(auto endpoint, SocketEndpoint::Open());
  MUSTER_TRY(JoinRequest request,
             MakeJoinRequest(environment, config, asked, resolution, endpoint->payload()));
  MUSTER_TRY(process.group, JoinGroup(std::move(request)));
  MUSTER_TRY(process.communicator,
             BuildCommunicatorFromRoster(*process.group, std::move(endpoint), config.timeouts));
  return {};
}

// A program under `muster run`: the supervisor's group, under the supervisor's configuration.
Status Adopt(const Environment& environment, const Resolution& resolution, const Config& config,
             ProcessGroup& process) {
  const std::string control(environment.Get("MUSTER_CONTROL").value_or(""));
  const std::string group_id(environment.Get("MUSTER_GROUP").value_or(""));
  MUSTER_TRY(auto endpoint, SocketEndpoint::Open());
  MUSTER_TRY(AdoptedGroup adopted,
             AdoptGroup(control, group_id, resolution.tuple.rank, environment.process()->uid, config.liveness,
                        Deadline::After(config.timeouts.init)));
  MUSTER_TRY(const EffectiveConfig effective,
             LoadConfigText(adopted.configuration, "the configuration of muster run"));
  MUSTER_CHECK(SetUpLog(effective.config.log));
  process.timeouts = effective.config.timeouts;
  process.group = std::move(adopted.group);
  MUSTER_TRY(process.communicator, BuildCommunicator(*process.group, std::move(endpoint), process.timeouts));
  return {};
}

Status Start(const InitOptions& options, ProcessGroup& process) {
  const Environment environment = Environment::OfThisProcess();
  const Asked asked{options.config_file, options.set, {}};
  MUSTER_TRY(const EffectiveConfig effective, LoadConfiguration(environment, asked));
  MUSTER_CHECK(StartLog(effective));
  const Config& config = effective.config;
  tl::expected<Resolution, Refusal> resolution = ResolveLaunch(environment, config, asked);
  if (!resolution) return tl::unexpected<Error>(resolution.error().error);
  MUSTER_TRY([[maybe_unused]] const Backend backend, ChooseBackend(config.backend));
  process.tuple = resolution->tuple;
  process.timeouts = config.timeouts;
  const std::string node = process.tuple.node.value_or(environment.process()->host_name);
  if (process.tuple.world_size == 1) {
    process.group = MakeGroupOfOne(node);
    process.communicator = BuildCommunicatorOfOne(*process.group);
    return {};
  }
  SetLogSubject(fmt::format("rank {} on {}", process.tuple.rank, node));
  if (process.tuple.launcher == "muster") return Adopt(environment, *resolution, config, process);
  return Join(environment, config, asked, *resolution, process);
}

}  // namespace

Result<Communicator*> Init(const InitOptions& options) {
  ProcessGroup& process = TheGroup();
  const std::lock_guard lock(process.mutex);
  if (process.communicator) {
    if (process.pid != getpid()) {
      return WithHint(
          Fail(Code::kUsage, "muster::Init in a forked child: its group belongs to the parent, pid {}",
               process.pid),
          "call Init in the process that was launched, or exec a program of its own");
    }
    if (!SameOptions(process.options, options)) {
      return Fail(Code::kConfiguration,
                  "a second muster::Init asks for another configuration than the first");
    }
    return process.communicator.get();
  }
  if (Status started = Start(options, process); !started) {
    process.communicator.reset();
    process.group.reset();
    return tl::unexpected<Error>(std::move(started).error());
  }
  process.options = options;
  process.pid = getpid();
  return process.communicator.get();
}

const RankTuple* InitializedTuple() {
  ProcessGroup& process = TheGroup();
  const std::lock_guard lock(process.mutex);
  return process.communicator ? &process.tuple : nullptr;
}

Status Shutdown() {
  ProcessGroup& process = TheGroup();
  const std::lock_guard lock(process.mutex);
  if (!process.communicator || process.pid != getpid()) return {};
  process.communicator.reset();
  Status left = process.group->Leave(Deadline::After(process.timeouts.shutdown));
  process.group.reset();
  return left;
}

}  // namespace muster
