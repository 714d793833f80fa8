#include "bootstrap/environment/environment.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "bootstrap/environment/ancestry.h"
#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster {
namespace {

constexpr size_t kLongestFile = 16 << 20;

Environment::Variables ReadEnviron() {
  Environment::Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    // Of two entries with one name getenv returns the first, and so does this.
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name) == 0 ? std::string(name) : std::string();
}

// Hydra gives every rank its own socketpair, but one proxy per node holds all the peer sockets.
pid_t PeerOfPmi(const Environment& environment) {
  const auto fd = environment.GetCount("PMI_FD");
  if (!fd || !*fd) return 0;
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(**fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

std::shared_ptr<const Environment> StartOf(const Environment& environment, std::string_view variable,
                                           Ancestry& ancestry) {
  const auto pid = environment.GetCount(variable);
  if (!pid || !*pid || **pid == ::getpid() || !ancestry.Has(**pid)) return nullptr;
  const auto bytes = StartEnvironment(**pid);
  // A program that rewrote its own argv area may have overwritten it: no evidence then.
  if (!bytes || bytes->find('\0') == std::string::npos) return nullptr;
  auto start = Environment::FromText(*bytes);
  return start ? std::make_shared<const Environment>(*std::move(start)) : nullptr;
}

std::optional<bool> IsBelowSupervisor(const Environment& environment, Ancestry& ancestry,
                                      bool sees_slurmstepd) {
  const auto pid = environment.GetCount("MUSTER_SUPERVISOR_PID");
  if (!pid || !*pid) return std::nullopt;
  if (ancestry.Has(**pid)) return true;
  return sees_slurmstepd ? std::optional(false) : std::nullopt;
}

tl::unexpected<Error> BadLine(std::string_view name, size_t number, std::string_view why) {
  return WithHint(Fail(Code::kBadEnvironment, "{}:{}: {}", name, number, why),
                  "write one NAME=VALUE a line, or save values of several lines with env -0");
}

Result<Environment::Variables> ReadNulSeparated(std::string_view text, std::string_view name) {
  Environment::Variables variables;
  size_t number = 0;
  for (const std::string_view entry : Split(text, '\0')) {
    ++number;
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return BadLine(name, number, "this entry is not NAME=VALUE");
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

// An exported shell function is the one value of several lines that every login environment has.
bool OpensFunction(std::string_view line) {
  return line.substr(0, 10) == "BASH_FUNC_" && line.find("=() {") != std::string_view::npos &&
         line.back() != '}';
}

Result<Environment::Variables> ReadLines(std::string_view text, std::string_view name) {
  Environment::Variables variables;
  size_t number = 0;
  bool in_function = false;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (in_function) {
      in_function = line != "}";
      continue;
    }
    if (Trim(line).empty() || line.front() == '#') continue;
    in_function = OpensFunction(line);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return BadLine(name, number, "this line is not NAME=VALUE");
    const std::string_view variable = line.substr(0, equals);
    if (variable.find_first_of(" \t") != std::string_view::npos) {
      return BadLine(name, number, fmt::format("\"{}\" is not a variable's name", variable));
    }
    if (!variables.emplace(variable, line.substr(equals + 1)).second) {
      return BadLine(name, number, fmt::format("{} is set a second time", variable));
    }
  }
  return variables;
}

}  // namespace

Environment Environment::OfThisProcess() {
  Environment environment = FromVariables(ReadEnviron());
  Process process{.pid = ::getpid(), .parent = ::getppid(), .uid = ::geteuid(), .host_name = HostName()};
  process.pmi_server = PeerOfPmi(environment);
  if (environment.Has("SLURM_JOB_ID") || environment.Has("MUSTER_SUPERVISOR_PID")) {
    Ancestry ancestry;
    process.slurm_step = NearestSlurmStep(ancestry);
    process.below_supervisor = IsBelowSupervisor(environment, ancestry, !process.slurm_step.empty());
    process.slurm_task = StartOf(environment, "SLURM_TASK_PID", ancestry);
    process.supervisor = StartOf(environment, "MUSTER_SUPERVISOR_PID", ancestry);
  }
  // Also without SLURM_JOB_ID, which env -i or a container may have removed: one file.
  if (process.slurm_step.empty())
    process.slurm_step = SlurmStepOfCgroup(ReadProcFile("/proc/self/cgroup").value_or(""));
  return environment.AsProcess(std::move(process));
}

Result<Environment> Environment::FromFile(const std::string& path) {
  const auto text = ReadAll(path, kLongestFile);
  if (!text) {
    return WithHint(Fail(Code::kSystem, "cannot read {}: {}", path, ErrnoText(errno)),
                    "give a file that this user can read");
  }
  return FromText(*text, path);
}

Result<Environment> Environment::FromText(std::string_view text, std::string_view name) {
  const bool nul_separated = text.find('\0') != std::string_view::npos;
  MUSTER_TRY(auto variables, nul_separated ? ReadNulSeparated(text, name) : ReadLines(text, name));
  return FromVariables(std::move(variables));
}

Environment Environment::FromVariables(Variables variables) {
  Environment environment;
  environment.variables_ = std::make_shared<const Variables>(std::move(variables));
  return environment;
}

std::optional<std::string_view> Environment::Get(std::string_view name) const {
  const auto found = variables_->find(name);
  if (found == variables_->end()) return std::nullopt;
  return found->second;
}

Result<std::optional<int>> Environment::GetCount(std::string_view name) const {
  const auto text = Get(name);
  if (!text) return std::nullopt;
  if (text->empty()) return Fail(Code::kBadEnvironment, "{} is set but empty", name);
  const auto value = ParseInteger<int>(*text);
  if (!value) {
    return Fail(Code::kBadEnvironment, "{}=\"{}\" is not a whole number from 0 to {}", name, *text, INT_MAX);
  }
  if (*value < 0) return Fail(Code::kBadEnvironment, "{}={} is negative", name, *text);
  return value;
}

std::optional<std::string> Environment::host_name() const {
  if (!process_ || process_->host_name.empty()) return std::nullopt;
  return process_->host_name;
}

Environment Environment::AsProcess(Process process) const {
  Environment live = *this;
  live.process_ = std::move(process);
  return live;
}

}  // namespace muster
