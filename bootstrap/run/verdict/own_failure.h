// The failures that a supervisor reports, and the status that follows from a failure. Pure. OwnFailures: which of them it
// reports, a value.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/process/child.h"
#include "bootstrap/process/end_request.h"
#include "bootstrap/run/verdict/failure_log.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/rendezvous/messages/exit_report.h"

namespace muster::run {

struct EndedProgram {
  int rank = 0;
  process::ChildExit exit;
  rendezvous::OutOfMemory out_of_memory = rendezvous::OutOfMemory::kNo;
};

// A program that failed, or exited without leaving its group; or TimeIsUp.
rendezvous::Failure FailureOfProgram(const RunPlace& place, const process::EndRequest& request,
                                     const EndedProgram& program, std::string stderr_tail,
                                     Clock::time_point now);
// The member of the group in place of a rank's program: a process that the program started.
struct HelperProcess {
  pid_t pid = 0;
  bool ended = false;
};
// A program that exited with 0, or closed its connections, without leaving its group; as requested if a signal explains it.
// `helper`, if any: the process that was connected.
rendezvous::Failure FailureOfLost(const RunPlace& place, const process::EndRequest& request, int rank,
                                  bool exited, Clock::time_point now,
                                  const std::optional<HelperProcess>& helper = std::nullopt);
// A signal while the group forms.
rendezvous::Failure FailureOfSignal(int signal, int rank, std::string_view node);
// A signal while only other ranks run.
rendezvous::Failure FailureOfSignal(const RunPlace& place, const process::EndRequest& request,
                                    Clock::time_point now);
// Missing files count as an exit status: the group may start again. A file system that does not answer has
// none.
rendezvous::Failure FailureOfFiles(const Error& missing);

// A program exited with 80: the items of a map that the job's time does not suffice for are left. It ends the group,
// in order.
bool TimeIsUp(const rendezvous::Failure& failure);
// The exit status of its program, else the status of its code.
int StatusOf(const rendezvous::Failure& failure);
// This process received a request to end.
std::optional<Error> EndAsRequested(const RunPlace& place, const process::EndRequest& request,
                                    Clock::time_point now);

// One failure of this process is reported to its group: the first, except of a rank that is excused, and not before that
// of a program that dropped out earlier.
class OwnFailures {
 public:
  enum class Next : uint8_t { kNothing, kDone, kReport, kReportSoon };

  // The program of this rank closed its connections without leaving the group.
  void Lost(int rank) { lost_.push_back(rank); }
  // Those that are not excused.
  std::vector<int> LostRanks() const;
  // kDone: it ended well, or its end is excused. `explained`: by a request to end.
  Next Ended(const EndedProgram& program, bool group_failed, bool explained);
  // The program of this rank failed while a map was at work, which goes on without it. kNothing: excused before.
  Next Excuse(int rank);
  bool IsExcused(int rank) const { return excused_.contains(rank); }
  // A failure is on its way to the root, or follows within 200 ms.
  void Reported() { reported_ = true; }
  bool reported() const { return reported_; }
  // The first that failed or exited without leaving its group.
  const std::optional<EndedProgram>& first() const { return first_; }

 private:
  std::vector<int> lost_;
  std::set<int> excused_;
  std::vector<EndedProgram> meanwhile_;  // failed while an earlier failure is on its way, or is due
  std::optional<EndedProgram> first_;
  bool reported_ = false;
};

}  // namespace muster::run
