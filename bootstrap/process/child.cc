#include "bootstrap/process/child.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "bootstrap/process/exec_child.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/pipe.h"
#include "comm/system/start_thread.h"

namespace muster::process {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotStartable = 126;
// A killed process ends immediately unless the kernel holds it; then init will inherit it.
constexpr Duration kGoneWithin = std::chrono::seconds(1);

StartFailure NoProcess(Error error) { return {std::move(error), ExitStatus(Code::kSystem)}; }

bool IsDirectory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

StartFailure DescribeFailure(const ChildOptions& options, const ExecOutcome& outcome) {
  const std::string& name = options.command.front();
  if (outcome.directory) {
    return {
        Error{Code::kSystem, fmt::format("cannot start \"{}\" in the directory {}: {}", name,
                                         options.directory.value_or(""), ErrnoText(outcome.error_number))},
        kNotStartable};
  }
  Error error{Code::kSystem, fmt::format("cannot start \"{}\": {}", name, ErrnoText(outcome.error_number))};
  const bool absent = outcome.error_number == ENOENT;
  const bool forbidden = outcome.error_number == EACCES;
  const bool is_path = name.find('/') != std::string::npos;
  const bool is_python = name.ends_with(".py");
  if (absent && is_path && access(name.c_str(), F_OK) == 0) {
    error.hint = "correct the first line of the file: the interpreter that it names does not exist";
  } else if (absent && name.find(' ') != std::string::npos) {
    error.hint = "it is one word with spaces; leave out the quotes around it: " + name;
  } else if (is_python && (absent ? !is_path : forbidden)) {
    error.hint = "start it with Python: python " + name;
  } else if (absent && !is_path) {
    error.hint = "add its directory to PATH, or write its path";
  } else if (forbidden && IsDirectory(name)) {
    error.hint = "it is a directory; write the path of a program";
  } else if (forbidden) {
    error.hint = "make it executable (chmod +x), on a file system that is not mounted with noexec";
  }
  return {std::move(error), absent ? kNotFound : kNotStartable};
}

tl::expected<Pipe, StartFailure> OutputPipe() {
  auto pipe = MakePipe();
  if (!pipe) return tl::unexpected(NoProcess(std::move(pipe).error()));
  fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK);  // of this end alone
  return *std::move(pipe);
}

}  // namespace

tl::expected<std::unique_ptr<Child>, StartFailure> Child::Start(const ChildOptions& options) {
  if (options.command.empty()) {
    return tl::unexpected(
        StartFailure{Error{Code::kUsage, "there is no program to start"}, ExitStatus(Code::kUsage)});
  }
  Pipe out;
  Pipe err;
  if (options.pipe_stdout) {
    auto made = OutputPipe();
    if (!made) return tl::unexpected(std::move(made).error());
    out = *std::move(made);
  }
  if (options.pipe_stderr) {
    auto made = OutputPipe();
    if (!made) return tl::unexpected(std::move(made).error());
    err = *std::move(made);
  }
  const auto& candidates = options.absolute ? AbsoluteCandidates : ExecCandidates;
  const ExecRequest request{candidates(options.command.front(), options.environment),
                            options.command,
                            options.environment,
                            options.directory,
                            options.stdin_end,
                            out.write_end ? out.write_end.get() : options.stdout_end,
                            err.write_end ? err.write_end.get() : options.stderr_end,
                            options.own_process_group,
                            DescriptorLimitBefore()};
  ExecOutcome outcome;
  ClaimedChild process = ClaimedChild::Start([&] {
    outcome = ExecChild(request);
    return outcome.pid;
  });
  if (outcome.pid < 0 && outcome.error_number == EAGAIN) {
    return tl::unexpected(NoProcess(
        {Code::kSystem, fmt::format("cannot start another process: {}", ErrnoText(outcome.error_number)),
         ProcessLimitHint()}));
  }
  if (outcome.pid < 0) return tl::unexpected(DescribeFailure(options, outcome));
  return std::unique_ptr<Child>(new Child(std::move(process), options.own_process_group,
                                          std::move(out.read_end), std::move(err.read_end)));
}

Child::Child(ClaimedChild process, bool own_process_group, UniqueFd stdout_end, UniqueFd stderr_end)
    : pid_(process.pid()),
      own_process_group_(own_process_group),
      process_(std::move(process)),
      stdout_(std::move(stdout_end)),
      stderr_(std::move(stderr_end)) {}

Child::~Child() {
  if (!process_) return;
  static_cast<void>(Signal(SIGKILL));
  process_.AwaitExit(*gone_by_);
}

std::optional<ChildExit> Child::Exited() {
  if (!exit_) exit_ = process_.Exited();
  return exit_;
}

Status Child::Signal(int signal_number) {
  if (signal_number == SIGKILL && !gone_by_) gone_by_ = Deadline::After(kGoneWithin);
  return process_.Signal(signal_number, own_process_group_);
}

void Child::Reap() {
  if (exit_) process_.Reap();
}

}  // namespace muster::process
