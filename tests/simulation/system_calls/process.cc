// Processes, threads, clocks, limits.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>

#include "tests/simulation/system_calls/system_call.h"

using muster::Duration;
using namespace muster::simulation;

namespace {

using std::chrono::seconds;

constexpr Duration kEpoch = seconds(1767225600);  // 2026-01-01

timespec AsTimespec(Duration time) { return {time / seconds(1), (time % seconds(1)).count()}; }

// The fibers that wait for a condition; of all processes, whose memory is one.
std::map<const void*, std::deque<Fiber*>>& Waiters() {
  static std::map<const void*, std::deque<Fiber*>> waiters;
  return waiters;
}

bool WaitFor(const SystemCall& call, const void* condition, Time deadline) {
  Fiber* const fiber = &call.world().running();
  Waiters()[condition].push_back(fiber);
  const bool woken = call.world().Block(deadline);
  const auto found = Waiters().find(condition);
  if (found == Waiters().end()) return woken;
  std::erase(found->second, fiber);
  if (found->second.empty()) Waiters().erase(found);
  return woken;
}

int Wait(const SystemCall& call, pthread_cond_t* condition, pthread_mutex_t* mutex, Time deadline) {
  pthread_mutex_unlock(mutex);
  const bool woken = WaitFor(call, condition, deadline);
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

int Notify(const SystemCall& call, const void* condition, bool all) {
  const auto found = Waiters().find(condition);
  if (found == Waiters().end()) return 0;
  std::deque<Fiber*>& waiters = found->second;
  while (!waiters.empty()) {
    Fiber* const fiber = waiters.front();
    waiters.pop_front();
    call.world().Wake(*fiber);
    if (!all) break;
  }
  if (waiters.empty()) Waiters().erase(found);
  return 0;
}

}  // namespace

namespace muster::simulation {

int Futex(const SystemCall& call, const uint32_t* word, int operation, uint32_t value,
          const timespec* until) {
  constexpr int kKind = FUTEX_CMD_MASK;
  if ((operation & kKind) == FUTEX_WAKE) return Notify(call, word, value > 1);
  if (*word != value) return call.ReturnError(EAGAIN);
  Time deadline = kNever;
  if (until != nullptr) {
    deadline = seconds(until->tv_sec) + Duration(until->tv_nsec);
    deadline += (operation & kKind) == FUTEX_WAIT ? call.world().now() : -call.process().node.clock_ahead;
  }
  return call.ReturnError(WaitFor(call, word, deadline) ? 0 : ETIMEDOUT);
}

}  // namespace muster::simulation

extern "C" {

int __real___cxa_guard_acquire(int64_t*);
int __wrap___cxa_guard_acquire(int64_t* guard) {
  const int begins = __real___cxa_guard_acquire(guard);
  if (begins != 0 && World::Caller() != nullptr) ++World::Running()->running().statics;
  return begins;
}

void __real___cxa_guard_release(int64_t*);
void __wrap___cxa_guard_release(int64_t* guard) {
  __real___cxa_guard_release(guard);
  if (World::Caller() != nullptr) --World::Running()->running().statics;
}

void __real___cxa_guard_abort(int64_t*);
void __wrap___cxa_guard_abort(int64_t* guard) {
  __real___cxa_guard_abort(guard);
  if (World::Caller() != nullptr) --World::Running()->running().statics;
}

int __real_clock_gettime(clockid_t, timespec*);
int __wrap_clock_gettime(clockid_t clock, timespec* time) {
  const Process* const process = World::Caller();
  if (process == nullptr) return __real_clock_gettime(clock, time);
  const Duration ahead = clock == CLOCK_REALTIME ? kEpoch : process->node.clock_ahead;
  *time = AsTimespec(ahead + process->world.now());
  return 0;
}

time_t __real_time(time_t*);
time_t __wrap_time(time_t* time) {
  const Process* const process = World::Caller();
  if (process == nullptr) return __real_time(time);
  const time_t now = (kEpoch + process->world.now()) / seconds(1);
  if (time != nullptr) *time = now;
  return now;
}

pid_t __real_getpid();
pid_t __wrap_getpid() {
  const Process* const process = World::Caller();
  return process == nullptr ? __real_getpid() : process->pid;
}

uid_t __real_getuid();
uid_t __wrap_getuid() {
  const Process* const process = World::Caller();
  return process == nullptr ? __real_getuid() : process->uid;
}

uid_t __real_geteuid();
uid_t __wrap_geteuid() {
  const Process* const process = World::Caller();
  return process == nullptr ? __real_geteuid() : process->uid;
}

[[noreturn]] void __real__exit(int);
[[noreturn]] void __wrap__exit(int status) {
  const SystemCall call(SystemCall::Kill::kSafe);
  if (!call) __real__exit(status);
  call.process().End(false);
  call.world().running().SwitchBack();
  abort();
}

int __real_kill(pid_t, int);
int __wrap_kill(pid_t pid, int signal) {
  const SystemCall call;
  if (!call) return __real_kill(pid, signal);
  for (const auto& process : call.world().processes()) {
    if (process->pid != pid || &process->node != &call.process().node) continue;
    if (process->state == Process::State::kEnded) continue;  // perhaps before the node started again
    if (signal == SIGKILL) process->End(true);
    return 0;
  }
  return call.ReturnError(ESRCH);
}

int __real_gethostname(char*, size_t);
int __wrap_gethostname(char* name, size_t size) {
  const SystemCall call;
  if (!call) return __real_gethostname(name, size);
  strncpy(name, call.process().node.name.c_str(), size);
  return 0;
}

int __real_getrlimit(__rlimit_resource_t, rlimit*);
int __wrap_getrlimit(__rlimit_resource_t what, rlimit* limit) {
  const Process* const process = World::Caller();
  if (process == nullptr) return __real_getrlimit(what, limit);
  *limit = process->descriptors;
  return 0;
}

int __real_setrlimit(__rlimit_resource_t, const rlimit*);
int __wrap_setrlimit(__rlimit_resource_t what, const rlimit* limit) {
  const SystemCall call(SystemCall::Kill::kSafe);
  if (!call) return __real_setrlimit(what, limit);
  if (limit->rlim_max > call.process().descriptors.rlim_max) return call.ReturnError(EPERM);
  call.process().descriptors = *limit;
  return 0;
}

int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                          void* argument) {
  const SystemCall call;
  if (!call) return __real_pthread_create(thread, attributes, work, argument);
  Fiber& fiber = call.process().Start([work, argument] { work(argument); });
  *thread = reinterpret_cast<pthread_t>(&fiber);
  return 0;
}

int __real_pthread_join(pthread_t, void**);
int __wrap_pthread_join(pthread_t thread, void** result) {
  const SystemCall call;
  if (!call) return __real_pthread_join(thread, result);
  auto* const fiber =
      reinterpret_cast<Fiber*>(thread);  // NOLINT(performance-no-int-to-ptr): pthread_t is one
  if (fiber->ended) return 0;
  fiber->joiner = &call.world().running();
  call.world().Block(kNever);
  return 0;
}

int __real_pthread_detach(pthread_t);
int __wrap_pthread_detach(pthread_t thread) {
  const SystemCall call;
  return call ? 0 : __real_pthread_detach(thread);
}

int __real_pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*);
int __wrap_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const SystemCall call(SystemCall::Kill::kSafe);
  if (!call) return __real_pthread_cond_wait(condition, mutex);
  return Wait(call, condition, mutex, kNever);
}

int __real_pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* until) {
  const SystemCall call(SystemCall::Kill::kSafe);
  if (!call) return __real_pthread_cond_clockwait(condition, mutex, clock, until);
  const Duration ahead = clock == CLOCK_REALTIME ? kEpoch : call.process().node.clock_ahead;
  return Wait(call, condition, mutex, seconds(until->tv_sec) + Duration(until->tv_nsec) - ahead);
}

int __real_pthread_cond_signal(pthread_cond_t*);
int __wrap_pthread_cond_signal(pthread_cond_t* condition) {
  const SystemCall call(SystemCall::Kill::kSafe);
  return call ? Notify(call, condition, false) : __real_pthread_cond_signal(condition);
}

int __real_pthread_cond_broadcast(pthread_cond_t*);
int __wrap_pthread_cond_broadcast(pthread_cond_t* condition) {
  const SystemCall call(SystemCall::Kill::kSafe);
  return call ? Notify(call, condition, true) : __real_pthread_cond_broadcast(condition);
}

}  // extern "C"
