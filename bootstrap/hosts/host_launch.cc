#include "bootstrap/hosts/host_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "bootstrap/process/end_request.h"
#include "comm/log/log.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/pipe.h"

namespace muster::hosts {
namespace {

constexpr int kSshFailed = 255;
// A shell's status for a signal that does not exist: no status of a program, as a rule.
constexpr int kInsteadOf255 = 193;
// timeout(1), a scheduler and a terminal that closes send several signals for one request.
constexpr Duration kOneRequest = std::chrono::seconds(1);

// For a POSIX shell, on one line: $n is a newline.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == '\n') {
      quoted += "'\"$n\"'";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string QuotedList(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + Quoted(word);
  return line;
}

}  // namespace

// No character that csh or fish would take for something else within these quotes.
std::string_view RemoteCommand() { return "exec sh -c 'IFS= read -r line && eval \"$line\"'"; }

std::string RemoteScript(const HostLaunchPlan& plan, int node) {
  std::vector<std::string> launch = plan.launch;
  launch.insert(launch.end(), {"--node-rank", std::to_string(node), "--until-stdin-closes"});
  if (!plan.command.empty()) {
    launch.emplace_back("--");
    launch.insert(launch.end(), plan.command.begin(), plan.command.end());
  }
  std::string exports = fmt::format("export MUSTER_SECRET={}", Quoted(plan.secret));
  for (const auto& [name, value] : plan.variables) exports += fmt::format(" {}={}", name, Quoted(value));
  const std::string no_directory = fmt::format(
      "muster: error: {} has no ranks of this group: cannot change to the directory {} (make it there)",
      plan.hosts[static_cast<size_t>(node)], plan.directory);
  // 126 and 127: of a rank's program, or of the shell that cannot start muster.
  return fmt::format(
      "n=$(printf '\\nx') && n=${{n%x}} && {} && cd {} || {{ printf '%s\\n' {} >&2; exit 71; }}; {}; "
      "code=$?; case $code in "
      "126|127) {} --version >/dev/null 2>&1 || code={};; {}) code={};; esac; exit $code\n",
      exports, Quoted(plan.directory), Quoted(no_directory), QuotedList(launch), Quoted(plan.launch.front()),
      kSshFailed, kSshFailed, kInsteadOf255);
}

HostLaunch::HostLaunch(HostLaunchPlan plan) : plan_(std::move(plan)) {}

HostLaunch::~HostLaunch() = default;

Result<int> HostLaunch::Run() {
  MUSTER_TRY(loop_, net::EventLoop::Create());
  MUSTER_TRY(relay_, process::SignalRelay::Start());
  MUSTER_CHECK(loop_->Watch(relay_->fd(), EPOLLIN, [this](uint32_t) {
    while (const auto event = relay_->Next()) OnSignal(*event);
  }));
  // A pipe for each machine. If this fails, the pipe reports the limit.
  static_cast<void>(RaiseDescriptorLimit());
  machines_.reserve(plan_.hosts.size());
  for (int node = 0; node < static_cast<int>(plan_.hosts.size()); ++node) MUSTER_CHECK(Start(node));
  loop_->RunUntil([this] { return AllEnded(); }, Deadline::Never());
  relay_->KeepBlocked();
  return status_.value_or(0);
}

Status HostLaunch::Start(int node) {
  MUSTER_TRY(auto ends, MakePipe());
  auto& [read_end, write_end] = ends;
  // Longer than a pipe holds, perhaps.
  if (fcntl(write_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return Fail(Code::kSystem, "cannot change a pipe: {}", ErrnoText(errno));
  }
  Machine machine{
      plan_.hosts[static_cast<size_t>(node)], std::move(write_end), RemoteScript(plan_, node), nullptr, {}};
  process::ChildOptions options;
  options.command = plan_.ssh;
  options.command.insert(options.command.end(), {machine.host, std::string(RemoteCommand())});
  options.absolute = true;
  options.environment = plan_.environment;
  options.pipe_stderr = false;
  options.stdin_end = read_end.get();
  auto child = process::Child::Start(options);
  if (!child) return tl::unexpected<Error>(child.error().error);
  machine.ssh = *std::move(child);
  machines_.push_back(std::move(machine));
  Machine& started = machines_.back();
  return loop_->Watch(started.lifeline.get(), EPOLLOUT, [this, &started](uint32_t) { WriteScript(started); });
}

void HostLaunch::WriteScript(Machine& machine) {
  const ssize_t written = write(machine.lifeline.get(), machine.script.data(), machine.script.size());
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // If the pipe has no reader, ssh has ended, and its end is reported as such.
  machine.script.erase(0, written < 0 ? std::string::npos : static_cast<size_t>(written));
  if (machine.script.empty()) loop_->Forget(machine.lifeline.get());
}

void HostLaunch::Release(Machine& machine) {
  if (!machine.script.empty()) loop_->Forget(machine.lifeline.get());
  machine.script.clear();
  machine.lifeline.Reset();
}

void HostLaunch::OnSignal(const process::SignalEvent& event) {
  if (event.number == SIGCHLD) return OnChildren();
  if (!process::AsksToEnd(event.number)) return;
  if (event.number == SIGQUIT)
    return LogWarning("SIGQUIT does not reach the ranks of --hosts: send it there");
  const Clock::time_point now = Clock::now();
  if (asked_at_) return now - *asked_at_ < kOneRequest ? void() : KillAll();
  asked_at_ = now;
  if (!status_) status_ = 128 + event.number;
  End(Duration::zero());
}

void HostLaunch::OnChildren() {
  for (Machine& machine : machines_) {
    if (machine.exit) continue;
    machine.exit = machine.ssh->Exited();
    if (machine.exit) {
      OnEnded(machine);
    } else if (machine.ssh->WaitsForTerminal()) {
      OnQuestion(machine);
    }
  }
}

void HostLaunch::OnQuestion(Machine& machine) {
  if (!status_) {
    LogError(
        "{} has no ranks of this group: {} needs an answer from the terminal: a password, a passphrase or "
        "yes to a host key (use ssh-agent, and log in there once)",
        machine.host, plan_.ssh.front());
    status_ = ExitStatus(Code::kPeerLost);
  }
  static_cast<void>(machine.ssh->Signal(SIGKILL));
  End(Duration::zero());
}

// The ranks themselves report failures; only an obstacle to their start is reported here.
void HostLaunch::OnEnded(Machine& machine) {
  machine.ssh->Reap();
  Release(machine);
  const process::ChildExit& exit = *machine.exit;
  if (exit.ok()) return;
  const bool unreached = exit.signal != 0 || exit.code == kSshFailed;
  if (!status_ && unreached) {
    LogError(
        "{0} has no ranks of this group: {1} ended with {2} (check that this works without a password: {3} "
        "{0} {4} --version)",
        machine.host, plan_.ssh.front(), exit.Describe(), fmt::join(plan_.ssh, " "), plan_.launch.front());
  }
  const int code = exit.signal == 0 && exit.code == kInsteadOf255 ? kSshFailed : exit.ShellStatus();
  if (!status_) status_ = unreached ? ExitStatus(Code::kPeerLost) : code;
  End(unreached ? Duration::zero() : plan_.patience);
}

void HostLaunch::End(Duration unless_within) {
  if (std::exchange(ending_, true) && unless_within > Duration::zero()) return;
  loop_->After(unless_within, [this] {
    for (Machine& machine : machines_) Release(machine);
  });
  loop_->After(unless_within + plan_.patience, [this] { KillAll(); });
}

void HostLaunch::KillAll() {
  for (Machine& machine : machines_) {
    if (!machine.exit) static_cast<void>(machine.ssh->Signal(SIGKILL));
  }
}

bool HostLaunch::AllEnded() const {
  return std::ranges::all_of(machines_, [](const Machine& machine) { return machine.exit.has_value(); });
}

}  // namespace muster::hosts
