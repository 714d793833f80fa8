#include "bootstrap/map/attempt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <random>
#include <utility>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/map/expectation.h"
#include "bootstrap/output/line_tail.h"
#include "bootstrap/process/child.h"
#include "bootstrap/process/descendants.h"
#include "bootstrap/process/exec_child.h"
#include "comm/base/parse.h"
#include "comm/base/printable.h"
#include "comm/base/suspended.h"
#include "comm/base/unique_fd.h"
#include "comm/log/open_for_writing.h"
#include "comm/system/process_end.h"

namespace muster::map {
namespace {

using Kind = AttemptEnd::Kind;

// How long a killed process may take to end; beyond it the kernel holds it.
constexpr Duration kKilledWithin = std::chrono::seconds(5);
// If the kernel has no event for the end of a process (process_end.h).
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
// Short sleeps show that this process was suspended, and the program with it.
constexpr Duration kLongestSleep = std::chrono::seconds(1);

// Linux: an argument or a variable has 128 KiB at most (execve(2)).
constexpr size_t kLongestVariable = size_t{127} << 10;

enum class Woken : uint8_t { kExited, kLate, kStopped };

// `stop`: -1: not waited for.
Woken Await(const ProcessEnd& end, int stop, Deadline deadline) {
  for (;;) {
    Deadline look = deadline.IsNever() ? deadline : deadline.EarlierOf(Deadline::After(kLongestSleep));
    if (end.fd() < 0) look = look.EarlierOf(Deadline::After(kLookAgain));
    std::array<pollfd, 2> fds = {{{end.fd(), POLLIN, 0}, {stop, POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), look.PollMilliseconds()) < 0 && errno != EINTR) return Woken::kLate;
    if (!deadline.IsNever())
      deadline = Deadline::At(deadline.when() + SuspendedFor(look.when(), Clock::now()));
    if (end.HasEnded()) return Woken::kExited;
    if ((fds[1].revents & POLLIN) != 0) return Woken::kStopped;
    if (deadline.Expired()) return Woken::kLate;
  }
}

// Of a process that has ended. A tracer (strace, a debugger) gets its status first, and there is no event for that.
std::optional<process::ChildExit> ExitOf(process::Child& child) {
  constexpr int kLookAgainMs = 1;
  const Deadline deadline = Deadline::After(kKilledWithin);
  auto exit = child.Exited();
  while (!exit && !deadline.Expired()) {
    poll(nullptr, 0, kLookAgainMs);
    exit = child.Exited();
  }
  return exit;
}

Result<UniqueFd> OpenStream(const std::string& path) {
  auto file = OpenForWriting(path);
  if (!file) return Fail(Code::kSystem, "cannot open {}", file.error().message);
  struct stat status {};
  if (fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode))
    return Fail(Code::kSystem, "cannot open {}: this is no file", path);
  fcntl(file->get(), F_SETFL, O_APPEND);  // O_NONBLOCK is not for the program
  return file;
}

// The last lines of a file; empty if it has none. A link could lead to a file that only this user may read.
std::string TailOf(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || status.st_size == 0) return "";
  std::string bytes(2 * output::LineTail::kMostBytes, '\0');
  const off_t begin = std::max<off_t>(0, status.st_size - static_cast<off_t>(bytes.size()));
  const ssize_t got = pread(file.get(), bytes.data(), bytes.size(), begin);
  output::LineTail tail;
  if (got > 0) tail.Append(std::string_view(bytes).substr(0, static_cast<size_t>(got)));
  return tail.Text();
}

// A file system reports a quota only to a writer, some (NFS, Lustre) not before fsync. Bytes that compress well might
// need no block.
bool IsFull(const std::string& directory) {
  const auto refused = [](bool failed) { return failed && (errno == ENOSPC || errno == EDQUOT); };
  const std::string path = directory + "/.muster-room";
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return refused(true);
  std::array<char, 4096> bytes{};
  std::ranges::generate(bytes,
                        [number = std::minstd_rand()]() mutable { return static_cast<char>(number()); });
  const bool full =
      refused(write(file.get(), bytes.data(), bytes.size()) < 0) || refused(fsync(file.get()) != 0);
  unlink(path.c_str());
  return full;
}

class Attempt {
 public:
  Attempt(const AttemptPlan& plan, const AttemptSlot& slot, const SourceItem& item, uint32_t attempt,
          AttemptDirectory directory)
      : plan_(plan), slot_(slot), item_(item), own_(plan.own), directory_(std::move(directory)) {
    own_["attempt"] = std::to_string(attempt);
    own_["slot"] = std::to_string(slot.number);
    own_["dir"] = directory_.path();
    own_["pwd"] = plan.working_directory;
  }

  Result<AttemptEnd> Run(const StopFlag& stop, NextDirectory& next) {
    auto ended = RunProgram(stop, next);
    if (!ended) {
      directory_.Remove();
      return ended;
    }
    ended->took = Clock::now() - began_;
    if (ended->kind == Kind::kInterrupted) directory_.Remove();
    if (ended->kind == Kind::kDone) return Publish(*std::move(ended));
    if (ended->kind == Kind::kFailed) {
      if (IsFull(directory_.path())) return NoSpace(*ended);
      DescribeFailure(*ended);
    }
    return ended;
  }

 private:
  // Whether the failure may be due to the end of this rank: some schedulers send their signal to the programs as well,
  // which then end before muster has read its own.
  static bool IsInterrupted(const process::ChildExit& exit, const StopFlag& stop) {
    constexpr int kSoon = 1000;  // ms
    const bool by_request = exit.signal == SIGTERM || exit.signal == SIGINT || exit.signal == SIGHUP;
    pollfd flag = {stop.fd(), POLLIN, 0};
    return poll(&flag, 1, by_request ? kSoon : 0) > 0;
  }

  // No fault of the item: all further ones would be given up as well.
  tl::unexpected<Error> NoSpace(const AttemptEnd& ended) const {
    directory_.Remove();
    return WithHint(Fail(Code::kSystem, "no space is left in {}: item {} ended with {}", plan_.output,
                         Printable(item_.key), ended.text),
                    "free space there; the same command then goes on with what is left");
  }

  static Error WithRemedy(Error error) {
    if (error.message.ends_with(ErrnoText(E2BIG))) {
      error.hint =
          "an argument or a variable has at most 128 KiB, all together a quarter of ulimit -s: give the "
          "program {key} or {index} instead of a long text";
    }
    return error;
  }

  static AttemptEnd Failed(std::string why) { return {Kind::kFailed, std::move(why), {}}; }

  // A name that cannot be had is a failure of its item: the next rank would end with it as well.
  Result<AttemptEnd> Publish(AttemptEnd ended) const {
    const Status published = directory_.MoveToResults();
    if (published) return ended;
    if (published.error().code != Code::kWorkFailed) return Fail(published.error());
    ended.kind = Kind::kFailed;
    ended.text =
        fmt::format("exit 0, but {} (files: {})", ToString(published.error()), directory_.MoveToFailed());
    return ended;
  }

  Result<AttemptEnd> RunProgram(const StopFlag& stop, NextDirectory& next) {
    MUSTER_TRY(const UniqueFd out, OpenStream(directory_.path() + kOutputFile));
    MUSTER_TRY(const UniqueFd err, OpenStream(directory_.path() + kErrorFile));
    const UniqueFd none(open("/dev/null", O_RDONLY | O_CLOEXEC));
    process::ChildOptions options;
    options.command = Command();
    options.environment = Environment();
    options.directory = directory_.path();
    options.stdin_end = none.get();
    options.stdout_end = out.get();
    options.stderr_end = err.get();
    options.pipe_stderr = false;
    std::optional<ProgramsAtWork::Entry> at_work(std::in_place, *plan_.programs);
    auto child = process::Child::Start(options);
    if (!child) {
      if (child.error().exit_status == ExitStatus(Code::kSystem)) return Fail(child.error().error);
      return Failed(ToString(WithRemedy(child.error().error)));
    }
    at_work->HasStarted((*child)->pid());
    next.Prepare();
    return AwaitProgram(**child, stop, at_work);
  }

  Result<AttemptEnd> AwaitProgram(process::Child& child, const StopFlag& stop,
                                  std::optional<ProgramsAtWork::Entry>& at_work) const {
    const ProcessEnd end = ProcessEnd::Of(child.pid());
    const Deadline late = plan_.timeout ? Deadline::After(*plan_.timeout) : Deadline::Never();
    const Woken woken = Await(end, stop.fd(), late);
    if (woken != Woken::kExited) {
      MUSTER_CHECK(child.Signal(SIGTERM));
      Await(end, -1, Deadline::After(plan_.grace));
    }
    // Also those of its group that it has left behind.
    MUSTER_CHECK(child.Signal(SIGKILL));
    if (Await(end, -1, Deadline::After(kKilledWithin)) != Woken::kExited) {
      return Fail(Code::kSystem, "process {} still runs after SIGKILL", child.pid());
    }
    const auto exit = ExitOf(child);
    at_work.reset();
    child.Reap();
    MUSTER_CHECK(
        process::KillOrphansWith("MUSTER_ITEM_DIR=" + directory_.path(), Deadline::After(kKilledWithin)));
    if (woken == Woken::kStopped) return AttemptEnd{Kind::kInterrupted, "", {}};
    if (woken == Woken::kLate)
      return Failed(fmt::format("not finished after {} (map.timeout)", FormatDuration(*plan_.timeout)));
    if (!exit) return Failed("unknown exit status");
    if (exit->ok()) return Judge();
    if (IsInterrupted(*exit, stop)) return AttemptEnd{Kind::kInterrupted, "", {}};
    return Failed(exit->Describe());
  }

  // On a program that has exited with 0.
  AttemptEnd Judge() const {
    auto found = CheckExpectations(directory_.path(), FillAll(plan_.expect, item_, own_));
    if (!found) return Failed(fmt::format("exit 0, but {}", found.error()));
    std::string values;
    for (const auto& [name, value] : *found)
      values += fmt::format("{}{}:{}", values.empty() ? "" : ",", config::JsonQuoted(name), value);
    std::string text = fmt::format(R"({{"exit":0,"directory":{})", config::JsonQuoted(directory_.name()));
    if (!values.empty()) text += fmt::format(R"(,"values":{{{}}})", values);
    return {Kind::kDone, text + "}", {}};
  }

  void DescribeFailure(AttemptEnd& ended) const {
    std::string tail = TailOf(directory_.path() + kErrorFile);
    if (tail.empty()) tail = TailOf(directory_.path() + kOutputFile);
    ended.text += fmt::format(" (files: {})", directory_.MoveToFailed());
    if (!tail.empty()) ended.text += "\n" + tail;
  }

  // The program runs elsewhere: a path to it that began at muster's directory still does.
  std::vector<std::string> Command() const {
    std::vector<std::string> command = FillAll(plan_.command, item_, own_);
    std::string& program = command.front();
    if (program.find('/') != std::string::npos && !program.starts_with('/'))
      program = plan_.working_directory + "/" + program;
    return command;
  }

  std::vector<std::string> Environment() const {
    std::vector<std::string> environment = slot_.environment;
    const auto set = [&](std::string_view name, std::string_view value) {
      environment.push_back(fmt::format("{}={}", name, value));
    };
    if (item_.text.size() <= kLongestVariable) set("MUSTER_ITEM", item_.text);
    set("MUSTER_ITEM_INDEX", std::to_string(item_.index));
    set("MUSTER_ITEM_KEY", item_.key);
    set("MUSTER_ITEM_DIR", directory_.path());
    set("MUSTER_ITEM_ATTEMPT", own_.at("attempt"));
    set("PWD", directory_.path());
    for (const auto& [name, value] : plan_.variables) set(name, value.Fill(item_, own_));
    return environment;
  }

  const AttemptPlan& plan_;
  const AttemptSlot& slot_;
  const SourceItem& item_;
  OwnValues own_;
  const AttemptDirectory directory_;
  const Clock::time_point began_ = Clock::now();
};

}  // namespace

Result<AttemptEnd> RunAttempt(const AttemptPlan& plan, const AttemptSlot& slot, const SourceItem& item,
                              uint32_t attempt, const StopFlag& stop, NextDirectory& next) {
  auto directory = AttemptDirectory::Create(plan.output, plan.run, item.key, attempt, plan.rank, next);
  if (directory) return Attempt(plan, slot, item, attempt, *std::move(directory)).Run(stop, next);
  if (directory.error().code != Code::kWorkFailed) return Fail(std::move(directory).error());
  return AttemptEnd{Kind::kFailed, ToString(directory.error()), {}};
}

Status CheckProgram(const AttemptPlan& plan, const AttemptSlot& slot) {
  if (!plan.command.front().IsPlain()) return {};
  const std::string program = plan.command.front().Fill({}, {});
  for (const std::string& candidate : process::ExecCandidates(program, slot.environment)) {
    if (access(candidate.c_str(), X_OK) == 0) return {};
  }
  const bool is_path = program.find('/') != std::string::npos;
  return WithHint(Fail(Code::kUsage, "the program of the map, \"{}\", cannot be found", program),
                  is_path ? "write a path from muster's working directory, or an absolute one"
                          : "add its directory to PATH, or write its path");
}

}  // namespace muster::map
