#include "bootstrap/bootstrap.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bootstrap/join/membership.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/shutdown.h"
#include "comm/system/fork_guard.h"

namespace muster {
namespace {

// The one group of this process.
struct ProcessGroup {
  // In a child that was forked while another thread had the mutex, nothing releases it: not locked then.
  std::unique_lock<std::mutex> Lock() {
    return fork_depth == ForkDepth() ? std::unique_lock(mutex) : std::unique_lock(mutex, std::try_to_lock);
  }

  std::mutex mutex;
  const int fork_depth = ForkDepth();
  InitOptions options;
  pid_t pid = 0;
  RankTuple tuple;
  TimeoutOptions timeouts;
  std::unique_ptr<Group> group;
  std::unique_ptr<Communicator> communicator;
  int maps_beginning = 0;  // calls of BeginMap that use the group
};

// Never destroyed: Shutdown ends it, not static destructors, whose order is undefined.
ProcessGroup& TheGroup() {
  static ProcessGroup& group = *new ProcessGroup;
  return group;
}

bool SameOptions(const InitOptions& a, const InitOptions& b) {
  return a.config_file == b.config_file && a.set == b.set;
}

// A call in another thread has not returned: what it uses stays until the end of this process.
void KeepForGood(std::unique_ptr<Communicator> communicator, std::unique_ptr<Group> group) {
  static auto& kept = *new std::vector<std::pair<std::unique_ptr<Communicator>, std::unique_ptr<Group>>>;
  kept.emplace_back(std::move(communicator), std::move(group));
}

Status Start(const InitOptions& options, ProcessGroup& process) {
  const Environment environment = Environment::OfThisProcess();
  join::StartOptions asked{options.config_file, options.set, {}};
  asked.host_memory_only = options.host_memory_only;
  const auto started = join::StartUp(environment, asked);
  if (!started) return Fail(join::ReportStartFailure(environment, asked, started.error()).error);
  process.tuple = started->resolution.tuple;
  MUSTER_TRY(join::Membership membership,
             join::EnterGroup(environment, started->effective.config, asked, started->resolution));
  process.timeouts = membership.timeouts;
  process.group = std::move(membership.group);
  process.communicator = std::move(membership.communicator);
  return {};
}

}  // namespace

Result<Communicator*> Init(const InitOptions& options) {
  ProcessGroup& process = TheGroup();
  const std::unique_lock lock = process.Lock();
  if (!lock)
    return Fail(Code::kUsage,
                "muster::Init in a child that was forked during a call of muster in the parent");
  if (process.communicator) {
    if (process.pid != getpid()) {
      return WithHint(
          Fail(Code::kUsage, "muster::Init in a forked child: its group belongs to the parent, pid {}",
               process.pid),
          "call Init in the process that was launched, or exec a program of its own");
    }
    if (!SameOptions(process.options, options)) {
      return Fail(Code::kConfiguration, "a second muster::Init has another configuration than the first");
    }
    return process.communicator.get();
  }
  MUSTER_CHECK(Start(options, process));
  process.options = options;
  process.pid = getpid();
  return process.communicator.get();
}

const RankTuple* InitializedTuple() {
  ProcessGroup& process = TheGroup();
  const std::unique_lock lock = process.Lock();
  return lock && process.communicator ? &process.tuple : nullptr;
}

const TimeoutOptions* InitializedTimeouts() {
  ProcessGroup& process = TheGroup();
  const std::unique_lock lock = process.Lock();
  return lock && process.communicator ? &process.timeouts : nullptr;
}

void Abandon(std::string_view reason) {
  ProcessGroup& process = TheGroup();
  const std::unique_lock lock(process.mutex, std::try_to_lock);
  if (!lock || !process.communicator || process.pid != getpid()) return;
  const Communicator& world = *process.communicator;
  process.group->Fail(
      {Code::kPeerLost, fmt::format("{} {}", DescribeRank(world.roster(), world.rank()), reason)});
}

Result<std::unique_ptr<map::Member>> BeginMap(const map::Identity& identity, map::Options options) {
  ProcessGroup& process = TheGroup();
  std::unique_lock lock = process.Lock();
  if (!lock || !process.communicator || process.pid != getpid())
    return Fail(Code::kUsage, "a map before muster::Init, or in a forked child");
  std::error_code unknown;
  if (!options.journal.empty())
    options.journal = std::filesystem::absolute(options.journal, unknown).string();
  options.EndBefore(process.timeouts.latest);
  Group& group = *process.group;
  const Deadline deadline = Deadline::After(process.timeouts.collective);
  ++process.maps_beginning;
  // Shutdown and Abandon have their effect while this waits for the root.
  lock.unlock();
  Result<std::unique_ptr<map::Member>> member = map::Member::Join(group, identity, options, deadline);
  lock.lock();
  --process.maps_beginning;
  return member;
}

Status Shutdown() {
  const TimeoutOptions* timeouts = InitializedTimeouts();
  return timeouts == nullptr ? Status() : Shutdown(ShutdownLimits(timeouts->shutdown), true);
}

Status Shutdown(const ShutdownLimits& limits, bool ended) {
  ProcessGroup& process = TheGroup();
  const std::unique_lock lock = process.Lock();
  if (!lock || !process.communicator || process.pid != getpid()) return {};
  const bool unused = process.communicator->Close(limits.calls) && ended && process.maps_beginning == 0;
  std::unique_ptr<Communicator> communicator = std::move(process.communicator);
  if (unused) communicator.reset();
  Status left = process.group->Leave(limits.whole);
  if (!unused) KeepForGood(std::move(communicator), std::move(process.group));
  process.group.reset();
  return left;
}

}  // namespace muster
