#include "bootstrap/status/watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>

#include "bootstrap/status/live_view.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"

namespace muster::status {
namespace {

constexpr Duration kShortest = std::chrono::milliseconds(100);
constexpr Duration kLongest = std::chrono::hours(1);

// The shell's prompt begins in a row of its own.
void LeaveOnInterrupt(int /*number*/) {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (isatty(STDOUT_FILENO) == 1 && poll(&output, 1, 0) == 1) (void)!write(STDOUT_FILENO, "\n", 1);
  _exit(0);
}

void NoteWindow(int /*number*/) {}

volatile sig_atomic_t terminated = 0;
void NoteTerm(int /*number*/) { terminated = 1; }

// A new size of the window, or SIGTERM, interrupts a wait, and nothing else.
void ArrangeSignals() {
  struct sigaction action {};
  action.sa_handler = LeaveOnInterrupt;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = NoteWindow;
  sigaction(SIGWINCH, &action, nullptr);
  action.sa_handler = NoteTerm;
  sigaction(SIGTERM, &action, nullptr);
  sigset_t waits;
  sigemptyset(&waits);
  sigaddset(&waits, SIGWINCH);
  sigaddset(&waits, SIGTERM);
  sigprocmask(SIG_BLOCK, &waits, nullptr);
}

// False if a signal came first.
bool WaitUntil(Clock::time_point when) {
  const auto left = std::max(Duration::zero(), when - Clock::now());
  const auto whole = std::chrono::floor<std::chrono::seconds>(left);
  const timespec limit{whole.count(), (left - whole).count()};
  sigset_t none;
  sigemptyset(&none);
  return ppoll(nullptr, 0, &limit, &none) == 0;
}

Window WindowOf(int terminal) {
  winsize size{};
  if (ioctl(terminal, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

// Until SIGTERM: a reader may have stopped. A pipe that is ready takes PIPE_BUF bytes.
bool WriteAll(std::string_view bytes) {
  sigset_t none;
  sigemptyset(&none);
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  while (!bytes.empty() && terminated == 0) {
    ssize_t written = ppoll(&output, 1, nullptr, &none);
    if (written > 0) written = write(STDOUT_FILENO, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Standard output: a terminal, or a stream of blocks or objects.
class Output {
 public:
  explicit Output(const WatchOptions& options)
      : options_(options), terminal_(!options.json && isatty(STDOUT_FILENO) == 1) {}

  Status Show(const std::string& text) {
    const auto now = std::chrono::system_clock::now();
    if (terminal_) {
      frame_ = fmt::format("{}every {}; Ctrl-C ends\n\n{}", LogTimeText(now, LogTime::kShort),
                           FormatDuration(options_.interval), text);
      return Draw();
    }
    return Written(options_.json ? text : fmt::format("{}\n{}\n", LogTimeText(now, LogTime::kFull), text));
  }

  // Until then, or SIGTERM, the frame follows the window.
  Status KeepUntil(Clock::time_point when) {
    while (terminated == 0 && !WaitUntil(when)) {
      if (terminal_) MUSTER_CHECK(Draw());
    }
    return {};
  }

  // The reader of the pipe has ended.
  bool closed() const { return closed_; }

 private:
  Status Draw() { return Written(view_.Draw(frame_, WindowOf(STDOUT_FILENO))); }
  Status Written(std::string_view bytes) {
    if (WriteAll(bytes)) return {};
    closed_ = errno == EPIPE;
    if (closed_) return {};
    return Fail(Code::kSystem, "cannot write the state to standard output: {}", ErrnoText(errno));
  }

  const WatchOptions options_;
  const bool terminal_;
  bool closed_ = false;
  LiveView view_;
  std::string frame_;
};

}  // namespace

Result<Duration> ParseInterval(std::string_view text) {
  const Result<Duration> interval = ParseDuration(text);
  if (interval && *interval >= kShortest && *interval <= kLongest) return *interval;
  return WithHint(Fail(Code::kUsage, "--watch \"{}\" is no duration from {} to {}", text,
                       FormatDuration(kShortest), FormatDuration(kLongest)),
                  "write seconds, or a number with its unit: --watch=5s");
}

Result<int> Watch(const WatchOptions& options, const std::function<Result<WatchedState>()>& ask) {
  ArrangeSignals();
  Output output(options);
  MUSTER_TRY(WatchedState state, ask());
  for (int gone = 0;;) {
    const auto next = Clock::now() + options.interval;
    if (gone == 0) MUSTER_CHECK(output.Show(state.text));
    if (output.closed()) return 0;
    MUSTER_CHECK(output.KeepUntil(next));
    const Result<WatchedState> answer = ask();
    gone = !answer && answer.error().code == Code::kNotLaunched ? gone + 1 : 0;
    // Slurm ends the steps of a job with SIGTERM, often before the second answer.
    if (gone == 2 || (gone == 1 && terminated != 0)) break;
    if (terminated != 0) return 128 + SIGTERM;
    if (answer) {
      state = *answer;
    } else if (gone == 0) {
      state.text = options.describe(answer.error());
    }
  }
  LogInfo("the group has ended{}", state.jobs.empty() ? "" : fmt::format(" ({})", state.jobs));
  return 0;
}

}  // namespace muster::status
