#include "bootstrap/run/program/rank_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "comm/log/log.h"

namespace muster::run {
namespace {

constexpr Duration kRestWithin = std::chrono::milliseconds(500);

}  // namespace

tl::expected<std::unique_ptr<RankProgram>, process::StartFailure> RankProgram::Start(
    net::EventLoop& loop, int rank, const process::ChildOptions& options,
    std::optional<CapturedOutput> captured) {
  auto child = process::Child::Start(options);
  if (!child) return tl::unexpected<process::StartFailure>(std::move(child).error());
  UniqueFd out(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  std::unique_ptr<RankProgram> program(
      new RankProgram(loop, rank, *std::move(child), std::move(out), !captured));
  if (captured) {
    program->Capture(*std::move(captured));
  } else {
    program->Watch();
  }
  return program;
}

RankProgram::RankProgram(net::EventLoop& loop, int rank, std::unique_ptr<process::Child> child, UniqueFd out,
                         bool tail)
    : loop_(loop),
      rank_(rank),
      child_(std::move(child)),
      out_(std::move(out)),
      tail_(tail ? child_->TakeStderr() : UniqueFd(), out_.get()) {}

RankProgram::~RankProgram() {
  Unwatch();
  loop_.Cancel(rest_timer_);
}

void RankProgram::Capture(CapturedOutput captured) {
  out_console_ = &captured.out;
  err_console_ = &captured.err;
  captured_out_ = std::make_unique<output::ProgramOutput>(
      output::ProgramOutput::Params{loop_, captured.out, captured.label, std::move(captured.out_file)},
      child_->TakeStdout());
  captured_err_ = std::make_unique<output::ProgramOutput>(
      output::ProgramOutput::Params{loop_, captured.err, captured.label, std::move(captured.err_file)},
      child_->TakeStderr());
}

void RankProgram::Unwatch() {
  if (watched_.fd >= 0) loop_.Forget(watched_.fd);
  watched_ = {};
}

// The descriptors to poll change with every step: the pipe, or room in our standard error.
void RankProgram::Watch() {
  const output::StderrTail::Interest interest = tail_.interest();
  if (interest.fd == watched_.fd && interest.events == watched_.events) return;
  Unwatch();
  if (interest.fd < 0) return;
  const uint32_t events = (interest.events & POLLIN) != 0 ? static_cast<uint32_t>(EPOLLIN) : EPOLLOUT;
  const Status watched = loop_.Watch(interest.fd, events, [this](uint32_t) {
    if (exit_) return PassOnRest();
    tail_.Pump();
    Watch();
  });
  if (!watched) return LogWarning("rank {}: {}", rank_, watched.error().message);
  watched_ = interest;
}

bool RankProgram::NoticeExit(std::function<void()> ended) {
  if (exit_) return false;
  exit_ = child_->Exited();
  if (!exit_) return false;
  on_ended_ = std::move(ended);
  tail_.BeginRest();
  if (captured_out_) captured_out_->TakeRest();
  if (captured_err_) captured_err_->TakeRest();
  PassOnRest();
  if (!on_ended_) return true;
  rest_timer_ = loop_.After(kRestWithin, [this] {
    tail_.Abandon();
    End();
  });
  return true;
}

// Nothing here waits: the loop also sends heartbeats, and many programs end together.
void RankProgram::PassOnRest() {
  if (!on_ended_) return;
  const bool moved = tail_.PumpRest();
  Watch();
  if (!moved) return;
  if (out_console_ != nullptr && !out_console_->idle()) return WaitFor(*out_console_);
  if (err_console_ != nullptr && !err_console_->idle()) return WaitFor(*err_console_);
  End();
}

void RankProgram::WaitFor(output::Console& console) {
  console.WhenIdle([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) PassOnRest();
  });
}

void RankProgram::End() {
  Unwatch();
  loop_.Cancel(rest_timer_);
  if (const auto ended = std::exchange(on_ended_, nullptr)) ended();
}

void RankProgram::Signal(int number) {
  if (const Status sent = child_->Signal(number); !sent)
    LogWarning("rank {}: {}", rank_, sent.error().message);
}

}  // namespace muster::run
