#include "bootstrap/process/captured.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "bootstrap/process/exec_child.h"
#include "bootstrap/process/reaper.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/pipe.h"

namespace muster::process {
namespace {

// More of its own error text is not useful.
constexpr size_t kLongestComplaint = 4096;
constexpr Duration kGoneWithin = std::chrono::seconds(1);

class Captured {
 public:
  // Without `complaint`, standard error is part of the output, which is cut instead of refused.
  Captured(const CaptureRequest& request, Pipe output, Pipe complaint)
      : request_(request),
        merged_(!complaint.write_end),
        output_(std::move(output)),
        complaint_(std::move(complaint)) {}

  // After any outcome, no process of it is left.
  ~Captured() {
    if (process_) End();
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  Status Start() {
    const UniqueFd nothing = AboveStandard(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ExecRequest plan{request_.candidates,
                     {request_.name},
                     request_.environment,
                     std::nullopt,
                     nothing.get(),
                     output_.write_end.get(),
                     (merged_ ? output_ : complaint_).write_end.get(),
                     /*own_process_group=*/true,
                     DescriptorLimitBefore()};
    plan.arguments.insert(plan.arguments.end(), request_.arguments.begin(), request_.arguments.end());
    ExecOutcome started;
    process_ = ClaimedChild::Start([&] {
      started = ExecChild(plan);
      return started.pid;
    });
    output_.write_end.Reset();
    complaint_.write_end.Reset();
    if (started.error_number == ENOENT) return Fail(Code::kConfiguration, "there is no {}", request_.name);
    if (started.error_number != 0) {
      return Fail(Code::kSystem, "cannot start {}: {}", request_.name, ErrnoText(started.error_number));
    }
    return {};
  }

  Result<std::string> Answer(Deadline deadline) {
    MUSTER_CHECK(Read(deadline));
    // It has closed its output: it is about to end, or has other plans.
    if (!process_.AwaitExit(deadline)) return Fail(Code::kDeadline, "{} did not end in time", request_.name);
    const std::optional<ChildExit> exit = End();
    if (!exit) {
      return Fail(Code::kSystem,
                  "the exit status of {} is lost: this process ignores SIGCHLD, or waits for every child",
                  request_.name);
    }
    if (!exit->ok()) return Ended(*exit);
    if (text_.empty()) return Fail(Code::kSystem, "{} ended without an answer", request_.name);
    return std::move(text_);
  }

  ToolOutput OfTool(Duration grace, Deadline deadline) {
    const bool in_time = Read(deadline).has_value();
    if (!in_time) static_cast<void>(process_.Signal(SIGTERM, /*group=*/true));
    if (in_time || Read(Deadline::After(grace))) process_.AwaitExit(Deadline::After(grace));
    const std::optional<ChildExit> exit = End();
    return {true, in_time, exit && exit->signal == 0, std::move(text_)};
  }

 private:
  // Until it has closed its output.
  Status Read(Deadline deadline) {
    while (output_.read_end || complaint_.read_end) {
      std::array<pollfd, 2> watched = {
          {{output_.read_end.get(), POLLIN, 0}, {complaint_.read_end.get(), POLLIN, 0}}};
      const int ready = poll(watched.data(), watched.size(), deadline.PollMilliseconds());
      if (ready < 0 && errno != EINTR) return Fail(Code::kSystem, "poll: {}", ErrnoText(errno));
      if (deadline.Expired()) return Fail(Code::kDeadline, "{} did not answer in time", request_.name);
      if (ready <= 0) continue;
      if (watched[0].revents != 0) Take(output_.read_end, text_);
      if (watched[1].revents != 0) Take(complaint_.read_end, message_);
      if (merged_ && text_.size() > request_.longest) text_.resize(request_.longest);
      if (text_.size() > request_.longest) {
        return Fail(Code::kSystem, "{} printed more than {} bytes", request_.name, request_.longest);
      }
      if (message_.size() > kLongestComplaint) message_.erase(0, message_.size() - kLongestComplaint);
    }
    return {};
  }

  static void Take(UniqueFd& reader, std::string& text) {
    std::array<char, 16384> buffer{};
    const ssize_t got = read(reader.get(), buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) reader.Reset();
  }

  // All that it has started ends with it; a process that has ended already keeps its status. Absent: the kernel, or other
  // code of this process, has taken that.
  std::optional<ChildExit> End() {
    static_cast<void>(process_.Signal(SIGKILL, /*group=*/true));
    // Killed or ended, unless the kernel holds it: then it is not waited for.
    const bool ended = process_.AwaitExit(Deadline::After(kGoneWithin));
    std::optional<ChildExit> exit = process_.Exited();
    if (!exit && !ended) exit = ChildExit{0, SIGKILL};
    process_ = {};
    return exit;
  }

  tl::unexpected<Error> Ended(const ChildExit& exit) const {
    const std::string how = exit.signal != 0 ? fmt::format("was killed by signal {}", exit.signal)
                                             : fmt::format("ended with {}", exit.code);
    std::string_view message = message_;
    while (message.ends_with('\n')) message.remove_suffix(1);
    message.remove_prefix(message.rfind('\n') == std::string_view::npos ? 0 : message.rfind('\n') + 1);
    return Fail(Code::kSystem, "{} {}{}{}", request_.name, how, message.empty() ? "" : ": ", message);
  }

  const CaptureRequest& request_;
  const bool merged_;
  Pipe output_;
  Pipe complaint_;
  ClaimedChild process_;
  std::string text_;
  std::string message_;
};

}  // namespace

Result<std::string> Capture(const CaptureRequest& request, Deadline deadline) {
  MUSTER_TRY(Pipe output, MakePipe());
  MUSTER_TRY(Pipe complaint, MakePipe());
  Captured captured(request, std::move(output), std::move(complaint));
  MUSTER_CHECK(captured.Start());
  return captured.Answer(deadline);
}

ToolOutput CaptureTool(const CaptureRequest& request, Duration grace, Deadline deadline) {
  Result<Pipe> output = MakePipe();
  if (!output) return {};
  Captured captured(request, *std::move(output), {});
  return captured.Start() ? captured.OfTool(grace, deadline) : ToolOutput();
}

}  // namespace muster::process
