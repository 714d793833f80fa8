#include "bootstrap/run/program/rank_program.h"

#include <csignal>
#include <utility>

#include "comm/base/lists.h"
#include "comm/log/log.h"

namespace muster::run {

tl::expected<std::unique_ptr<RankProgram>, process::StartFailure> RankProgram::Start(
    net::EventLoop& loop, int rank, process::ChildOptions options, CapturedOutput output) {
  options.pipe_stdout = output.out != nullptr;
  auto child = process::Child::Start(options);
  if (!child) return tl::unexpected<process::StartFailure>(std::move(child).error());
  return std::unique_ptr<RankProgram>(new RankProgram(loop, rank, *std::move(child), std::move(output)));
}

RankProgram::RankProgram(net::EventLoop& loop, int rank, std::unique_ptr<process::Child> child,
                         CapturedOutput output)
    : rank_(rank), child_(std::move(child)) {
  using output::ProgramOutput;
  if (output.out != nullptr) {
    // With a file the output is not lost, and the program goes on.
    const bool ends_with_reader = output.out_file == nullptr;
    out_ = std::make_unique<ProgramOutput>(
        ProgramOutput::Params{fmt::format("standard output of rank {}", rank), loop, *output.out,
                              output.label, output.out_file, ends_with_reader},
        child_->TakeStdout());
  }
  err_ =
      std::make_unique<ProgramOutput>(ProgramOutput::Params{fmt::format("standard error of rank {}", rank),
                                                            loop, output.err, output.label, output.err_file},
                                      child_->TakeStderr());
}

bool RankProgram::NoticeExit() {
  const auto exit = exit_ ? std::nullopt : child_->Exited();
  if (exit) OnExit(*exit);
  return exit.has_value();
}

void RankProgram::NoticeTerminalStop(const std::string& node) {
  const auto signal = exit_ || waits_for_terminal_ ? std::nullopt : child_->WaitsForTerminal();
  if (!signal) return;
  waits_for_terminal_ = true;
  const bool reads = *signal == SIGTTIN;
  LogEvent(LogLevel::kWarning, "terminal", {{"rank", rank_}, {"pid", pid()}, {"signal", *signal}},
           "{}: process {} is stopped by {}: it {} the terminal, and is not in its foreground ({})",
           DescribeRank(rank_, node), pid(), reads ? "SIGTTIN" : "SIGTTOU",
           reads ? "reads from" : "writes to, or sets,",
           reads ? "start muster in the foreground, with the terminal as its standard input; or redirect the "
                   "input of that program"
                 : "run stty -tostop, or redirect the output of that program");
}

void RankProgram::GiveUp() {
  child_->LeaveBehind();
  OnExit({0, SIGKILL});
}

void RankProgram::OnExit(process::ChildExit exit) {
  exit_ = exit;
  TakeRest();
}

void RankProgram::TakeRest() {
  if (out_) out_->TakeRest();
  err_->TakeRest();
}

void RankProgram::StopReading() {
  if (out_) out_->Stop();
  err_->Stop();
}

void RankProgram::Signal(int number) {
  if (const Status sent = child_->Signal(number); !sent)
    LogWarning("rank {}: {}", rank_, sent.error().message);
}

}  // namespace muster::run
