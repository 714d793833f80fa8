// The part of muster.h that begins and ends groups.
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "bootstrap/c/error.h"
#include "bootstrap/c/handles.h"
#include "bootstrap/shutdown.h"
#include "comm/base/version.h"
#include "comm/log/log.h"

namespace muster::c {
namespace {

// The values of muster.h are those of LogLevel.
static_assert(MUSTER_LOG_DEBUG == static_cast<int>(LogLevel::kDebug) &&
              MUSTER_LOG_INFO == static_cast<int>(LogLevel::kInfo) &&
              MUSTER_LOG_WARNING == static_cast<int>(LogLevel::kWarning) &&
              MUSTER_LOG_ERROR == static_cast<int>(LogLevel::kError));

// The handles that were given out.
struct Handles {
  std::mutex ending;  // held while communicators end, which may wait for calls; before `mutex`
  std::mutex mutex;
  muster_comm world;
  std::vector<muster_comm*> parts;
};

Handles& TheHandles() {
  static Handles& handles = *new Handles;
  return handles;
}

InitOptions OptionsOf(const muster_options* options) {
  InitOptions result;
  result.host_memory_only = true;
  if (options == nullptr) return result;
  if (options->config_file != nullptr) result.config_file = options->config_file;
  for (size_t i = 0; i < options->number_of_settings; ++i) result.set.emplace_back(options->settings[i]);
  return result;
}

Status CheckVersion(uint32_t wanted) {
  if (wanted >= 1 && wanted <= MUSTER_ABI_VERSION) return {};
  return WithHint(Fail(Code::kUsage,
                       "this program was made for version {} of muster's C interface, and this "
                       "libmuster.so ({}) has version {}",
                       wanted, kVersion, MUSTER_ABI_VERSION),
                  "use the libmuster.so of the header or Python module in use, or a later one");
}

Status StartWorld(uint32_t abi_version, const muster_options* options, muster_comm** world) {
  if (world == nullptr) return Fail(Code::kUsage, "muster_init: world is null");
  *world = nullptr;
  MUSTER_CHECK(CheckVersion(abi_version));
  MUSTER_TRY(Communicator * communicator, Init(OptionsOf(options)));
  Handles& handles = TheHandles();
  const std::lock_guard lock(handles.mutex);
  handles.world.object = communicator;
  handles.world.pid = getpid();
  *world = &handles.world;
  return {};
}

Status EndWorld() {
  Handles& handles = TheHandles();
  // A forked child: a thread of the parent may have held the locks.
  if (handles.world.pid != getpid()) return {};
  const std::lock_guard ending(handles.ending);
  const TimeoutOptions* timeouts = InitializedTimeouts();
  if (timeouts == nullptr) return {};
  const ShutdownLimits limits(timeouts->shutdown);
  std::vector<muster_comm*> parts;
  Communicator* world = nullptr;
  {
    const std::lock_guard lock(handles.mutex);
    world = handles.world.object.exchange(nullptr);
    if (world == nullptr) return {};
    parts = handles.parts;
    for (muster_comm* part : parts) part->object = nullptr;
  }
  // One whose calls do not end takes no time from the others: each ends even after the deadline if it is not in use.
  bool ended = EndMaps(limits.calls);
  for (muster_comm* part : parts) ended = EndOwned(*part, limits.calls) && ended;
  ended = EndCalls(handles.world, *world, limits.calls) && ended;
  return Shutdown(limits, ended);
}

Status MakePart(muster_comm* comm, int color, int key, int64_t timeout_ns, muster_comm** part) {
  if (part == nullptr) return Fail(Code::kUsage, "muster_split: part is null");
  *part = nullptr;
  MUSTER_TRY(const InUse whole, Alive(comm));
  auto handle = std::make_unique<muster_comm>();
  MUSTER_TRY(handle->owned, whole->Split(color, key, Within(timeout_ns)));
  if (!handle->owned) return {};
  handle->object = handle->owned.get();
  handle->pid = getpid();
  Handles& handles = TheHandles();
  const std::lock_guard lock(handles.mutex);
  // muster_shutdown, which waits for this call, no longer has this part in its list.
  if (comm->object == nullptr) return Ended();
  handles.parts.push_back(handle.get());
  *part = handle.release();
  return {};
}

}  // namespace

tl::unexpected<Error> Ended() {
  return Fail(Code::kUsage, "the communicator no longer exists: muster was shut down");
}

Result<InUse> Alive(const muster_comm* comm) {
  if (comm == nullptr) return Fail(Code::kUsage, "the communicator is null");
  InUse in_use(*comm);
  if (!in_use) return Ended();
  if (comm->pid != getpid()) {
    return WithHint(Fail(Code::kUsage, "a communicator in a forked child: it belongs to the parent, pid {}",
                         comm->pid.load()),
                    "use it in the process that was launched, or exec a program of its own");
  }
  return in_use;
}

}  // namespace muster::c

using muster::c::Guard;

uint32_t muster_abi_version() { return MUSTER_ABI_VERSION; }

const char* muster_version() { return muster::kVersion; }

muster_error* muster_init(uint32_t abi_version, const muster_options* options, muster_comm** world) {
  return Guard([&] { return muster::c::StartWorld(abi_version, options, world); });
}

muster_error* muster_shutdown() { return Guard(muster::c::EndWorld); }

void muster_abandon(const char* reason) {
  muster_error_free(Guard([&]() -> muster::Status {
    muster::Abandon(reason == nullptr ? "gave up" : reason);
    return {};
  }));
}

void muster_log(muster_log_level level, const char* message) {
  muster_error_free(Guard([&]() -> muster::Status {
    // The fork may have copied the log's lock while a thread of the parent held it.
    const pid_t owner = muster::c::TheHandles().world.pid;
    if (owner != 0 && owner != getpid()) return {};
    const auto kind = static_cast<muster::LogLevel>(std::min(level, MUSTER_LOG_ERROR));
    if (muster::LogEnabled(kind)) muster::LogLine(kind, "message", {}, message == nullptr ? "" : message);
    return {};
  }));
}

muster_error* muster_split(muster_comm* comm, int color, int key, int64_t timeout_ns, muster_comm** part) {
  return Guard([&] { return muster::c::MakePart(comm, color, key, timeout_ns, part); });
}

void muster_comm_free(muster_comm* comm) {
  muster::c::Handles& handles = muster::c::TheHandles();
  if (comm == nullptr || comm == &handles.world) return;
  // The connections of a forked child are the parent's.
  if (comm->pid != getpid()) return;
  const std::lock_guard ending(handles.ending);
  // If a call does not end, muster_shutdown tries again.
  static_cast<void>(muster::c::EndOwned(*comm, muster::Deadline::After(muster::c::kCallsEndWithin)));
}
