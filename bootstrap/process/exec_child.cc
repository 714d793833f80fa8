#include "bootstrap/process/exec_child.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "comm/base/parse.h"

namespace muster::process {
namespace {

std::string_view PathOf(const std::vector<std::string>& environment) {
  constexpr std::string_view kPrefix = "PATH=";
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPrefix)) return std::string_view(variable).substr(kPrefix.size());
  }
  return "/usr/local/bin:/bin:/usr/bin";
}

// Everything that the new process needs, made ready beforehand: it shares our memory (vfork) and must not
// allocate.
struct ExecPlan {
  const ExecRequest& request;
  std::vector<char*> candidates;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<char*> shell_arguments;  // /bin/sh, (the file), argv[1]...
};

// The array for execve, pointing into `texts`.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Written by the new process, read by us after it: they share memory until execve.
struct Shared {
  ExecPlan* plan;
  pid_t parent;
  volatile int error_number;
  volatile bool directory;
};

// A handler of ours must not run in the new process, which has our memory: blocked until this is done.
void RestoreSignals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    const bool ignored = action.sa_handler == SIG_IGN;
    const bool stays = ignored && number != SIGPIPE && number != SIGXFSZ && number != SIGCHLD;
    if (action.sa_handler == SIG_DFL || stays) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// As execvp: goes on if a file is absent or cannot be reached (a stale file handle), and keeps the error of
// one that may not be started. As shells: a directory of PATH that this user may not search, or that is a
// file, counts as one without the program. A path of the program itself: its error.
int TryCandidates(ExecPlan& plan) {
  int result = ENOENT;
  const ExecRequest& request = plan.request;
  const bool search =
      request.candidates.size() != 1 || request.candidates.front() != request.arguments.front();
  for (char* const* file = plan.candidates.data(); *file != nullptr; ++file) {
    // A check is cheaper than an execve that fails, and most of PATH fails.
    if (access(*file, F_OK) != 0 && (errno == ENOENT || (search && errno == EACCES))) continue;
    execve(*file, plan.arguments.data(), plan.environment.data());
    if (errno == ENOEXEC) {
      plan.shell_arguments[1] = *file;
      execve(plan.shell_arguments[0], plan.shell_arguments.data(), plan.environment.data());
    }
    if (!search) return errno;
    if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) continue;
    const bool go_on = errno == EACCES || errno == ESTALE || errno == ENODEV || errno == ETIMEDOUT;
    if (!go_on) return errno;
    if (result != EACCES) result = errno;
  }
  return result;
}

[[noreturn]] void RunInChild(Shared& shared) {
  const ExecRequest& request = shared.plan->request;
  // The parent may have died before the first of these took effect.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != shared.parent) _exit(1);
  if (request.own_process_group) setpgid(0, 0);
  if (request.stdin_end >= 0) dup2(request.stdin_end, STDIN_FILENO);
  if (request.stdout_end >= 0) dup2(request.stdout_end, STDOUT_FILENO);
  if (request.stderr_end >= 0) dup2(request.stderr_end, STDERR_FILENO);
  if (request.directory && chdir(request.directory->c_str()) != 0) {
    shared.directory = true;
    shared.error_number = errno;
    _exit(1);
  }
  if (request.descriptors) setrlimit(RLIMIT_NOFILE, &*request.descriptors);
  RestoreSignals();
  shared.error_number = TryCandidates(*shared.plan);
  _exit(1);
}

// Not inlined: the caller's registers are out of the new process's reach.
[[gnu::noinline]] pid_t StartProcess(Shared& shared) {
  // 2048 supervisors on a few cores: copying page tables 2048 times would be seen. And an error needs no
  // pipe.
  const pid_t pid = vfork();         // NOLINT(clang-analyzer-security.insecureAPI.vfork): bounded by execve
  if (pid == 0) RunInChild(shared);  // NOLINT(clang-analyzer-unix.Vfork): allocates nothing, never returns
  return pid;
}

}  // namespace

std::vector<std::string> ExecCandidates(std::string_view name, const std::vector<std::string>& environment) {
  if (name.empty()) return {};
  if (name.find('/') != std::string_view::npos) return {std::string(name)};
  std::vector<std::string> candidates;
  for (const std::string_view directory : Split(PathOf(environment), ':')) {
    std::string candidate(directory.empty() ? "." : directory);
    candidate += '/';
    candidate += name;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::vector<std::string> AbsoluteCandidates(std::string_view name,
                                            const std::vector<std::string>& environment) {
  std::vector<std::string> candidates = ExecCandidates(name, environment);
  if (name.find('/') == std::string_view::npos)
    std::erase_if(candidates, [](const std::string& file) { return !file.starts_with('/'); });
  return candidates;
}

ExecOutcome ExecChild(const ExecRequest& request) {
  char shell[] = "/bin/sh";
  ExecPlan plan{request,
                Pointers(request.candidates),
                Pointers(request.arguments),
                Pointers(request.environment),
                {shell, nullptr}};
  plan.shell_arguments.insert(plan.shell_arguments.end(), plan.arguments.begin() + 1, plan.arguments.end());
  Shared shared{&plan, getpid(), 0, false};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = StartProcess(shared);
  const int vfork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return {-1, vfork_error, false};
  if (shared.error_number == 0) return {pid, 0, false};
  waitpid(pid, nullptr, 0);  // it is past _exit
  return {-1, shared.error_number, shared.directory};
}

}  // namespace muster::process
