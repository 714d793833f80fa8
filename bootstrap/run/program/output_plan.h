// The destination of the programs' output: our own streams, or, with run.label and run.log_dir, through us.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/config/config.h"
#include "bootstrap/output/console.h"
#include "bootstrap/run/program/rank_program.h"
#include "comm/roster.h"

namespace muster::run {

class OutputPlan {
 public:
  // `on_idle` is called when all output has been written. `incarnation`: restarts so far.
  OutputPlan(net::EventLoop& loop, const config::RunOptions& options, int incarnation,
             std::function<void()> on_idle);

  bool captured() const { return out_ != nullptr; }
  // Absent if output is not captured. Error: kSystem, a log file.
  Result<std::optional<CapturedOutput>> For(const Roster& roster, int rank) const;
  // Everything that programs wrote is written.
  bool idle() const { return !captured() || (out_->idle() && err_->idle()); }
  // Waits for the readers of our streams, at most until the deadline.
  void Drain(Deadline deadline);

 private:
  const bool label_;
  const std::optional<std::string> directory_;
  const int incarnation_;
  std::unique_ptr<output::Console> out_;
  std::unique_ptr<output::Console> err_;
};

}  // namespace muster::run
