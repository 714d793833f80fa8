#include "bootstrap/process/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace muster::process {
namespace {

constexpr int kRelayed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGCHLD};

bool IsIgnored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

struct sigaction SetDisposition(int number, void (*handler)(int)) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  sigaction(number, &action, &before);
  return before;
}

// A blocked signal reaches the descriptor even if it is ignored.
sigset_t SignalsToTake(SignalRelay::Tstp tstp) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : kRelayed) {
    if (!IsIgnored(number)) sigaddset(&signals, number);
  }
  if (tstp == SignalRelay::Tstp::kTaken && !IsIgnored(SIGTSTP)) sigaddset(&signals, SIGTSTP);
  return signals;
}

}  // namespace

Result<std::unique_ptr<SignalRelay>> SignalRelay::Start(Tstp tstp) {
  std::unique_ptr<SignalRelay> relay(new SignalRelay);
  // Inherited as ignored, it would make the kernel reap children behind our back.
  relay->old_child_ = SetDisposition(SIGCHLD, SIG_DFL);
  relay->old_pipe_ = SetDisposition(SIGPIPE, SIG_IGN);
  relay->old_file_size_ = SetDisposition(SIGXFSZ, SIG_IGN);
  const sigset_t signals = SignalsToTake(tstp);
  pthread_sigmask(SIG_BLOCK, &signals, &relay->old_mask_);
  relay->fd_.Reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!relay->fd_) return Fail(Code::kSystem, "cannot watch for signals: {}", ErrnoText(errno));
  return relay;
}

SignalRelay::~SignalRelay() {
  sigaction(SIGCHLD, &old_child_, nullptr);
  sigaction(SIGPIPE, &old_pipe_, nullptr);
  sigaction(SIGXFSZ, &old_file_size_, nullptr);
  if (!keep_blocked_) pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

bool SignalRelay::Stop() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // here
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

std::optional<SignalEvent> SignalRelay::Next() {
  struct signalfd_siginfo info {};
  if (TEMP_FAILURE_RETRY(read(fd_.get(), &info, sizeof info)) != sizeof info) return std::nullopt;
  return SignalEvent{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid),
                     info.ssi_code == SI_KERNEL, info.ssi_uid};
}

}  // namespace muster::process
