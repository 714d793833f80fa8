#include "bootstrap/run/program/output_plan.h"

#include <unistd.h>

#include "bootstrap/output/log_file.h"

namespace muster::run {
namespace {

// As `srun -l` has it.
std::string LabelOf(int rank, int world_size) {
  const size_t width = std::to_string(world_size - 1).size();
  return fmt::format("{:>{}}: ", rank, width);
}

}  // namespace

OutputPlan::OutputPlan(net::EventLoop& loop, const config::RunOptions& options, int incarnation,
                       std::function<void()> on_idle)
    : label_(options.label), directory_(options.log_dir), incarnation_(incarnation) {
  if (!label_ && !directory_) return;
  out_ = std::make_unique<output::Console>(loop, STDOUT_FILENO);
  err_ = std::make_unique<output::Console>(loop, STDERR_FILENO);
  out_->OnIdle(on_idle);
  err_->OnIdle(std::move(on_idle));
}

Result<std::optional<CapturedOutput>> OutputPlan::For(const Roster& roster, int rank) const {
  if (!captured()) return std::nullopt;
  CapturedOutput output{*out_, *err_, std::nullopt, UniqueFd(), UniqueFd()};
  if (label_) output.label = LabelOf(rank, roster.size());
  if (directory_) {
    const output::LogFileName name{rank, roster.size(), incarnation_, roster.NodeName(rank)};
    MUSTER_TRY(output.out_file, output::OpenLogFile(*directory_, ToString(name, "out")));
    MUSTER_TRY(output.err_file, output::OpenLogFile(*directory_, ToString(name, "err")));
  }
  return output;
}

void OutputPlan::Drain(Deadline deadline) {
  if (!captured()) return;
  out_->Drain(deadline);
  err_->Drain(deadline);
}

}  // namespace muster::run
