// The last output of a run: what programs wrote, the line about the failure after it, the last lines of the log. A reader
// that has stopped (Ctrl-S, a pager) may go on, and then nothing is lost. A failure or a signal limits these waits.
//
// Lives on one EventLoop. Only WriteLines blocks.
#pragma once

#include <optional>
#include <vector>

#include "bootstrap/run/programs.h"
#include "bootstrap/run/run_reporter.h"
#include "bootstrap/run/run_signals.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/net/event_loop.h"

namespace muster::run {

class LastOutput {
 public:
  // All outlive it; LogFailure and WriteLines need no programs.
  LastOutput(net::EventLoop& loop, RunVerdict& verdict, RunReporter& reporter, Programs& programs)
      : loop_(loop), verdict_(verdict), reporter_(reporter), programs_(programs) {}
  LastOutput(const LastOutput&) = delete;
  LastOutput& operator=(const LastOutput&) = delete;

  // RunStep::kAwaitOutput: after a failure, which all other ranks have by now, for ReaderWithin.
  void Await();
  // The output that is not yet written is lost. Without a failure the run ends with the signal's status.
  void GiveUp(int signal);
  // The same after ReaderWithin, if the run has not ended.
  void GiveUpLater(int signal);
  // The group has failed: RunReporter::Failed follows the output of programs, 500 ms from now at the latest.
  void NoteFailure(bool received, std::vector<map::MapState> maps);
  // The line that is due by NoteFailure, now; once.
  void LogFailure();
  // The reader of standard error has read: it may take lines of the log that were kept.
  void OnIdle();
  // The run is over. BLOCKS for LastLinesWithin: a signal ends the wait, changes no status, and no restart follows it.
  void WriteLines(RunSignals& signals);

 private:
  struct FailureLine {
    bool received = false;
    std::vector<map::MapState> maps;
  };

  net::EventLoop& loop_;
  RunVerdict& verdict_;
  RunReporter& reporter_;
  Programs& programs_;
  std::optional<FailureLine> failure_line_;  // not yet logged
  std::optional<Deadline> reader_until_;     // after a failure: for the rest of the output
};

}  // namespace muster::run
