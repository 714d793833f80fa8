#include "bootstrap/process/end_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

namespace muster::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// timeout(1) signals its child and then its process group, which the child is part of.
constexpr Duration kSameSender = seconds(1);
// A key that is held down repeats faster.
constexpr Duration kSameKeyPress = milliseconds(200);
// Slurm's KillWait is 30 s unless the site changed it; --signal=TERM@120 is common.
constexpr Duration kCheckpoint = minutes(2);
// A scheduler signals all processes of a step within this time.
constexpr Duration kOneRequest = seconds(1);

}  // namespace

bool AsksToEnd(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

std::string SignalName(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGTERM:
      return "SIGTERM";
    case SIGKILL:
      return "SIGKILL";
    default:
      return fmt::format("signal {}", signal);
  }
}

std::string DescribeRequest(int signal, std::string_view rank) {
  const std::string_view what = signal == SIGINT ? "interrupted" : "terminated";
  if (rank.empty()) return fmt::format("{} ({})", what, SignalName(signal));
  return fmt::format("{}: {} received {}", what, rank, SignalName(signal));
}

bool EndRequest::IsSameRequest(const EndSignal& signal, Clock::time_point now) const {
  if (signal.number != latest_.number || signal.terminal != latest_.terminal ||
      signal.sender != latest_.sender) {
    return false;
  }
  return now - latest_at_ < (signal.terminal ? kSameKeyPress : kSameSender);
}

EndStep EndRequest::Take(const EndSignal& signal, Clock::time_point now) {
  const bool same = IsSameRequest(signal, now);
  latest_ = signal;
  latest_at_ = now;
  if (signal.number == SIGQUIT) {
    if (!Explains(now)) {
      signal_ = SIGQUIT;
      at_ = now;
    }
    received_[SIGQUIT] = true;
    return EndStep::kPassOn;
  }
  signal_ = signal.number;
  at_ = now;
  received_.at(static_cast<size_t>(signal.number)) = true;
  escalates_ = escalates_ || signal.escalates;
  if (signal.escalates) return same ? EndStep::kNothing : Escalate(signal.number);
  if (!waits_ && !same) Wait();
  return EndStep::kPassOn;
}

void EndRequest::Wait() {
  waits_ = true;
  ++wait_number_;
}

EndStep EndRequest::Escalate(int number) {
  if (number == SIGTERM) {
    // A second SIGTERM means "immediately" to many programs.
    if (stage_ >= Stage::kTerminated) return EndStep::kNothing;
    stage_ = Stage::kTerminated;
    Wait();
    return EndStep::kPassOn;
  }
  if (stage_ == Stage::kNone) {
    stage_ = Stage::kAsked;
    Wait();
    return EndStep::kPassOn;
  }
  if (number == SIGHUP) return EndStep::kPassOn;
  return OnGraceOver();
}

EndStep EndRequest::OnGraceOver() {
  waits_ = false;
  if (!escalates_) return EndStep::kReport;
  if (stage_ == Stage::kKilled) return EndStep::kNothing;
  if (stage_ == Stage::kTerminated) {
    stage_ = Stage::kKilled;
    return EndStep::kKill;
  }
  stage_ = Stage::kTerminated;
  Wait();
  return EndStep::kTerminate;
}

Duration EndRequest::Patience() const { return signal_ == SIGQUIT ? grace_ : std::max(grace_, kCheckpoint); }

std::optional<int> EndRequest::Explains(Clock::time_point now) const {
  if (signal_ == 0) return std::nullopt;
  // While muster ends the programs, their end is its doing.
  const bool ending = escalates_ && (waits_ || stage_ == Stage::kKilled);
  if (!ending && now - at_ > Patience()) return std::nullopt;
  return signal_;
}

bool EndRequest::WasSent(int signal) const {
  return (signal == SIGTERM && stage_ >= Stage::kTerminated) ||
         (signal == SIGKILL && stage_ == Stage::kKilled);
}

bool EndRequest::JustTerminated(Clock::time_point now) const {
  return stage_ >= Stage::kTerminated || (Explains(now) == SIGTERM && now - at_ < kOneRequest);
}

std::optional<Clock::time_point> EndRequest::LeftToSenderUntil() const {
  if (escalates_ || !received_[SIGTERM]) return std::nullopt;
  return at_ + Patience();
}

EndRequest::Verdict EndRequest::Judge(const ChildExit& exit, Clock::time_point now) const {
  const std::optional<int> signal = Explains(now);
  const int status = exit.ShellStatus();
  if (!signal) return {false, false, status};
  const int by = status - 128;
  if (AsksToEnd(by) && received_[static_cast<size_t>(by)]) return {true, true, status};
  if (WasSent(by)) return {true, true, 128 + *signal};
  return {true, false, status};
}

}  // namespace muster::process
