#include "tests/simulation/search/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace muster::simulation {
namespace {

constexpr rlim_t kSecondsAtMost = 120;     // of processor time
constexpr unsigned kSecondsOfAWait = 600;  // for a lock that no process frees

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0) _exit(1);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::string Encode(const Verdict& verdict) {
  std::string text = fmt::format("{} {} {} {} {} {} ", verdict.trace, verdict.events, verdict.time.count(),
                                 verdict.formed, verdict.processes, verdict.violations.size());
  for (const std::string& violation : verdict.violations) text += violation + '\0';
  return text + verdict.logged + '\0' + verdict.received + '\0' + verdict.log;
}

bool Decode(const std::string& text, Verdict& verdict) {
  size_t count = 0;
  int at = 0;
  Duration::rep time = 0;
  if (sscanf(text.c_str(), "%lu %lu %ld %d %d %zu %n", &verdict.trace, &verdict.events, &time,
             &verdict.formed, &verdict.processes, &count, &at) != 6)
    return false;
  verdict.time = Duration(time);
  auto from = static_cast<size_t>(at);
  for (; count > 0; --count) {
    const size_t end = text.find('\0', from);
    if (end == std::string::npos) return false;
    verdict.violations.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  for (std::string* list : {&verdict.logged, &verdict.received}) {
    const size_t end = text.find('\0', from);
    if (end == std::string::npos) return false;
    *list = text.substr(from, end - from);
    from = end + 1;
  }
  verdict.log = text.substr(from);
  return true;
}

}  // namespace

Child::Child(const Scenario& scenario, bool with_log) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) abort();
  fflush(stdout);
  pid_ = fork();
  if (pid_ < 0) abort();
  if (pid_ == 0) {
    const rlimit limit{kSecondsAtMost, kSecondsAtMost + 1};
    setrlimit(RLIMIT_CPU, &limit);
    alarm(kSecondsOfAWait);
    close(ends[0]);
    BeginWithFreshMemory();
    WriteAll(ends[1], Encode(RunScenario(scenario, with_log)));
    _exit(0);
  }
  close(ends[1]);
  fd_ = ends[0];
}

bool Child::Read() {
  std::array<char, 65536> buffer;
  const ssize_t got = read(fd_, buffer.data(), buffer.size());
  if (got > 0) text_.append(buffer.data(), static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

Verdict Child::Finish() {
  close(fd_);
  Verdict verdict;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    verdict.violations.push_back(WTERMSIG(status) == SIGXCPU
                                     ? "runs without end: two minutes of processor time"
                                     : fmt::format("crashes: signal {}", WTERMSIG(status)));
  } else if (!Decode(text_, verdict)) {
    verdict.violations.push_back(fmt::format("crashes: exit status {}", WEXITSTATUS(status)));
  }
  return verdict;
}

Verdict RunInChild(const Scenario& scenario, bool with_log) {
  Child child(scenario, with_log);
  while (child.Read()) {
  }
  return child.Finish();
}

void FixAddresses(char** argv) {
  const int now = personality(0xffffffff);
  if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned>(now) | ADDR_NO_RANDOMIZE) < 0) return;
  // A second time it is set already.
  if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0) execv("/proc/self/exe", argv);
}

}  // namespace muster::simulation
