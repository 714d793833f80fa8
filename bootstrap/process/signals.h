// Signals as events, for a supervisor that passes them on to its program.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::process {

// USR1 or USR2: only passed on.
constexpr bool IsForPrograms(int number) { return number == SIGUSR1 || number == SIGUSR2; }

struct SignalEvent {
  int number = 0;
  pid_t sender = 0;          // 0: the kernel, or a process of an outer PID namespace
  bool from_kernel = false;  // a terminal's ctrl-C, a hang-up
  uid_t uid = getuid();      // the sender's
};

// From Start to its end the signals TERM INT HUP QUIT USR1 USR2 CONT CHLD (and WINCH, for programs that draw)
// come out of Next instead of having their effect; PIPE is ignored,
// and so is XFSZ: a report beyond `ulimit -f` is an error, not the end of the job. A signal that was ignored when muster
// started stays ignored (nohup). TSTP keeps its default, unless programs do not receive the terminal's Ctrl-Z
// themselves: `scontrol suspend` freezes everything anyway.
//
// One per process, started before any other thread, so that all threads have these signals blocked. A Child
// starts with none blocked. Two equal signals that come before the first was taken are one, as the kernel has
// it.
class SignalRelay {
 public:
  enum class Tstp : uint8_t { kDefault, kTaken };
  // Error: kSystem.
  static Result<std::unique_ptr<SignalRelay>> Start(Tstp tstp = Tstp::kDefault);
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  // Restores mask (unless KeepBlocked) and dispositions; pending signals then have their effect.
  ~SignalRelay();

  int fd() const { return fd_.get(); }  // readable (POLLIN) when there is an event
  std::optional<SignalEvent> Next();    // never waits

  // After a TSTP: stops this process as the signal does by default. BLOCKS until SIGCONT, which Next returns
  // then. False: the kernel does not stop it, because nothing could continue it (an orphaned process group).
  bool Stop();

  // For a process that is about to end: a late signal must not become its exit status.
  void KeepBlocked() { keep_blocked_ = true; }

 private:
  SignalRelay() = default;

  UniqueFd fd_;
  sigset_t old_mask_{};
  bool keep_blocked_ = false;
  struct sigaction old_pipe_ {};
  struct sigaction old_file_size_ {};
  struct sigaction old_child_ {};
};

}  // namespace muster::process
