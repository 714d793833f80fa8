// The signals that request a run's end: when a supervisor reacts to each, and which failures of its programs
// follow from them. Pure: the time is an argument.
//
//   signal   passed on                       when programs do not exit, if muster itself ends them
//   INT      the first one                   SIGTERM after run.grace, SIGKILL after another run.grace;
//                                            each further INT takes the next step immediately
//   HUP      yes                             as INT, by time only
//   TERM     the first one                   SIGKILL after run.grace
//   QUIT     yes                             nothing: programs print their threads because of it, and go on
//
// muster ends programs itself when no launcher or scheduler above it does (EndSignal::escalates). Otherwise
// every signal is passed on and the log names the ranks that have not exited after run.grace: Slurm sends
// SIGKILL after KillWait, and programs that write a checkpoint when they receive SIGTERM need that time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/process/child.h"
#include "comm/base/deadline.h"

namespace muster::process {

// INT, HUP, QUIT or TERM.
bool AsksToEnd(int signal);
// "SIGINT"; "signal 34" for one without a name here.
std::string SignalName(int signal);
// "interrupted: rank 3 on gpu02 received SIGINT", "terminated (SIGTERM)" without a rank.
std::string DescribeRequest(int signal, std::string_view rank);

struct EndSignal {
  int number = 0;
  pid_t sender = 0;
  bool terminal = false;   // from the terminal's driver: Ctrl-C
  bool escalates = false;  // muster itself ends the programs
};

enum class EndStep : uint8_t {
  kNothing,
  kPassOn,     // this signal, to all programs
  kReport,     // name the ranks that have not exited
  kTerminate,  // SIGTERM
  kKill,       // SIGKILL
};

class EndRequest {
 public:
  explicit EndRequest(Duration grace) : grace_(grace) {}

  // `signal` is one that AsksToEnd.
  EndStep Take(const EndSignal& signal, Clock::time_point now);
  // OnGraceOver is to be called run.grace after a wait begins; each wait has another number.
  int wait_number() const { return wait_number_; }
  EndStep OnGraceOver();
  // The latest that counts; 0: none.
  int signal() const { return signal_; }

  // The signal that explains a program's failure at `now`. A program that goes on for long after the signal
  // fails for a reason of its own. Long is run.grace; 2 minutes for signals that are more than a request for
  // a thread dump, so that a checkpoint can be written.
  std::optional<int> Explains(Clock::time_point now) const;
  // All programs have just received SIGTERM: a second one means "immediately" to many of them.
  bool JustTerminated(Clock::time_point now) const;

  // SIGTERM has come from a launcher or scheduler, which ends the programs itself: until then, as long as it explains
  // failures, muster adds no SIGTERM and no SIGKILL, also if a rank has failed because of it. Afterwards it does: the
  // sender may have been a `kill`, which nothing follows.
  std::optional<Clock::time_point> LeftToSenderUntil() const;

  struct Verdict {
    bool as_requested = false;  // the failure follows from the request
    bool by_signal = false;     // the program ended by the very signal, or by one that muster sent after it
    int exit_status = 0;        // of the run
  };
  // On a program that failed at `now`. A program that muster had to end itself is reported with the signal of
  // the request: 130 for Ctrl-C.
  Verdict Judge(const ChildExit& exit, Clock::time_point now) const;

 private:
  enum class Stage : uint8_t { kNone, kAsked, kTerminated, kKilled };
  EndStep Escalate(int number);
  Duration Patience() const;
  void Wait();
  bool IsSameRequest(const EndSignal& signal, Clock::time_point now) const;
  bool WasSent(int signal) const;

  Duration grace_;
  int signal_ = 0;
  Clock::time_point at_{};
  std::array<bool, 32> received_{};  // by signal
  EndSignal latest_;
  Clock::time_point latest_at_{};
  bool escalates_ = false;
  bool waits_ = false;
  int wait_number_ = 0;
  Stage stage_ = Stage::kNone;
};

}  // namespace muster::process
