// A system call of production code. The linker leads each call that wrapped.bzl names to __wrap_NAME; outside of
// simulated processes that is __real_NAME.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <optional>

#include "tests/simulation/machine/file.h"
#include "tests/simulation/machine/world.h"

namespace muster::simulation {

// Their only user is the log, under its lock.
inline constexpr int kStandardDescriptors = 3;

class SystemCall {
 public:
  // kSafe: while this call is made the process may hold a lock that all processes of the simulation share. The
  // same holds for a local static that is being initialised: they share it, too.
  // kMessage: it sends one.
  enum class Kill { kMay, kMessage, kSafe };

  explicit SystemCall(Kill kill = Kill::kMay) : process_(World::Caller()) {
    if (process_ == nullptr) return;
    if (kill != Kill::kSafe && world().running().statics == 0) CountForKill(kill);
    while (process_->state == Process::State::kEnded) world().running().SwitchBack();
    ++process_->metered_calls;
    world().PauseMeter(world().machines().call);
  }
  SystemCall(const SystemCall&) = delete;
  SystemCall& operator=(const SystemCall&) = delete;
  ~SystemCall() {
    if (process_ != nullptr) world().ResumeMeter();
  }

  // Whether a simulated process makes it.
  explicit operator bool() const { return process_ != nullptr; }
  Process& process() const { return *process_; }
  World& world() const { return process_->world; }

  template <typename T>
  T Return(T value) const {
    world().Trace(static_cast<uint64_t>(value));
    world().Trace(static_cast<uint64_t>(world().now().count()) << 8 ^ static_cast<uint64_t>(process_->pid));
    return value;
  }
  // An error number, or 0.
  int ReturnError(int error) const {
    if (error != 0) errno = error;
    return Return(error == 0 ? 0 : -1);
  }
  // Of its kind; null with errno.
  template <typename T>
  T* Find(int fd, int other_kind) const {
    File* const file = process_->Find(fd);
    if (file == nullptr) return nullptr;
    T* const found = dynamic_cast<T*>(file);
    if (found == nullptr) errno = other_kind;
    return found;
  }

 private:
  void CountForKill(Kill kill) {
    if (kill == Kill::kMessage) ++process_->messages;
    if (IsReached(++process_->calls, process_->kill_at_call) ||
        IsReached(process_->messages, process_->kill_at_message))
      process_->End(true);
  }
  static bool IsReached(uint64_t count, uint64_t limit) { return limit > 0 && count >= limit; }

  Process* const process_;
  const KernelMemory kernel_;
};

// futex(2), as far as std::future uses it; defined in process.cc.
int Futex(const SystemCall& call, const uint32_t* word, int operation, uint32_t value, const timespec* until);

// renameat2(2) and getdents64(2); defined in files.cc.
struct PathAt {
  int directory;
  const char* path;
};
int Rename(const SystemCall& call, const PathAt& from, const PathAt& to, unsigned flags);
long ReadDirectory(const SystemCall& call, int fd, char* out, size_t size);

}  // namespace muster::simulation
