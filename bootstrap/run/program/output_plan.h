// The destination of the programs' output. Their standard error goes through us; with run.label and run.log_dir
// standard output as well.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/output/console.h"
#include "bootstrap/output/output_losses.h"
#include "bootstrap/run/program/rank_program.h"
#include "comm/net/thread_worker.h"
#include "comm/roster.h"

namespace muster::run {

class OutputPlan {
 public:
  // `on_idle` is called when all output has been written. `incarnation`: restarts so far.
  OutputPlan(net::EventLoop& loop, const config::RunOptions& options, int incarnation,
             std::function<void()> on_idle);

  // Error: kSystem, a log file.
  Result<CapturedOutput> For(const Roster& roster, int rank);
  // Everything that programs wrote is written.
  bool idle() const;
  // Output that is not yet written is lost for this reason.
  void GiveUp(const std::string& reason);
  const output::OutputLosses& losses() const { return losses_; }

 private:
  std::unique_ptr<output::Console> Open(output::OutputKind kind, std::string name, UniqueFd fd);
  Result<output::Console*> OpenFile(const Roster& roster, int rank, std::string_view stream);
  std::vector<output::Console*> All() const;

  net::EventLoop& loop_;
  const bool label_;
  const std::optional<std::string> directory_;
  const int incarnation_;
  const std::function<void()> on_idle_;
  output::OutputLosses losses_;
  net::ThreadWorker files_;               // its thread starts at the first write to a file
  std::unique_ptr<output::Console> out_;  // null: the programs have our standard output itself
  std::unique_ptr<output::Console> err_;
  std::vector<std::unique_ptr<output::Console>> log_files_;
};

}  // namespace muster::run
