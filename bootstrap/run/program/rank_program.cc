#include "bootstrap/run/program/rank_program.h"

#include <utility>

#include "comm/log/log.h"

namespace muster::run {
namespace {

constexpr Duration kRestWithin = std::chrono::milliseconds(500);

}  // namespace

tl::expected<std::unique_ptr<RankProgram>, process::StartFailure> RankProgram::Start(
    net::EventLoop& loop, int rank, process::ChildOptions options, CapturedOutput output) {
  options.pipe_stdout = output.out != nullptr;
  auto child = process::Child::Start(options);
  if (!child) return tl::unexpected<process::StartFailure>(std::move(child).error());
  return std::unique_ptr<RankProgram>(new RankProgram(loop, rank, *std::move(child), std::move(output)));
}

RankProgram::RankProgram(net::EventLoop& loop, int rank, std::unique_ptr<process::Child> child,
                         CapturedOutput output)
    : loop_(loop), rank_(rank), child_(std::move(child)), out_console_(output.out), err_console_(output.err) {
  using output::ProgramOutput;
  if (out_console_ != nullptr) {
    // With a file the output is not lost, and the program goes on.
    const bool ends_with_reader = output.out_file == nullptr;
    out_ = std::make_unique<ProgramOutput>(
        ProgramOutput::Params{loop_, *out_console_, output.label, output.out_file, ends_with_reader},
        child_->TakeStdout());
  }
  err_ = std::make_unique<ProgramOutput>(
      ProgramOutput::Params{loop_, err_console_, output.label, output.err_file}, child_->TakeStderr());
}

RankProgram::~RankProgram() { loop_.Cancel(rest_timer_); }

bool RankProgram::NoticeExit(std::function<void()> ended) {
  const auto exit = exit_ ? std::nullopt : child_->Exited();
  if (exit) OnExit(*exit, std::move(ended));
  return exit.has_value();
}

void RankProgram::NoticeTerminalStop() {
  const auto signal = exit_ || waits_for_terminal_ ? std::nullopt : child_->WaitsForTerminal();
  if (!signal) return;
  waits_for_terminal_ = true;
  const bool reads = *signal == SIGTTIN;
  LogEvent(LogLevel::kWarning, "terminal", {{"rank", rank_}, {"pid", pid()}, {"signal", *signal}},
           "rank {} (process {}) is stopped by {}: it {} the terminal, and is not in its foreground (start "
           "muster in the foreground, with the terminal as its standard input; or redirect the input of that "
           "program)",
           rank_, pid(), reads ? "SIGTTIN" : "SIGTTOU", reads ? "reads from" : "writes to, or sets,");
}

void RankProgram::OnExit(process::ChildExit exit, std::function<void()> ended) {
  exit_ = exit;
  on_ended_ = std::move(ended);
  if (out_) out_->TakeRest();
  err_->TakeRest();
  AwaitWritten();
  if (on_ended_) rest_timer_ = loop_.After(kRestWithin, [this] { End(); });
}

// Nothing here waits: the loop also sends heartbeats, and many programs end together.
void RankProgram::AwaitWritten() {
  if (!on_ended_) return;
  if (out_console_ != nullptr && !out_console_->idle()) return WaitFor(*out_console_);
  if (!err_console_.idle()) return WaitFor(err_console_);
  End();
}

void RankProgram::WaitFor(output::Console& console) {
  console.WhenIdle([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) AwaitWritten();
  });
}

void RankProgram::StopReading() {
  if (out_) out_->Stop();
  err_->Stop();
}

void RankProgram::End() {
  loop_.Cancel(rest_timer_);
  if (const auto ended = std::exchange(on_ended_, nullptr)) ended();
}

void RankProgram::Signal(int number) {
  if (const Status sent = child_->Signal(number); !sent)
    LogWarning("rank {}: {}", rank_, sent.error().message);
}

}  // namespace muster::run
