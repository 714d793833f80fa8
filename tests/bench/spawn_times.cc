// The cost of starting and ending two programs, in turn: spawn_times ROUNDS PROGRAM [ARGUMENT]... -- PROGRAM
// ... A line a round: wall microseconds, processor microseconds and page faults of the one, then of the
// other.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Arguments = std::vector<char*>;

struct Cost {
  double wall_us = 0;
  double cpu_us = 0;
  long faults = 0;
};

double Microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "spawn_times: %s\n", what);
  std::exit(1);
}

Cost Spawn(Arguments& program) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t pid = -1;
  if (posix_spawnp(&pid, program.front(), &actions, nullptr, program.data(), environ) != 0)
    Die("cannot start it");
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  const std::chrono::duration<double, std::micro> wall = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) Die("it failed");
  return {wall.count(), Microseconds(usage.ru_utime) + Microseconds(usage.ru_stime), usage.ru_minflt};
}

void Print(const Cost& cost, char end) {
  std::printf("%.1f %.0f %ld%c", cost.wall_us, cost.cpu_us, cost.faults, end);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments one;
  Arguments other;
  int i = 2;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) one.push_back(argv[i]);
  for (++i; i < argc; ++i) other.push_back(argv[i]);
  if (one.empty() || other.empty()) Die("ROUNDS PROGRAM [ARGUMENT]... -- PROGRAM [ARGUMENT]...");
  one.push_back(nullptr);
  other.push_back(nullptr);
  for (int round = std::atoi(argv[1]); round > 0; --round) {
    const Cost first = Spawn(one);
    const Cost second = Spawn(other);
    Print(first, ' ');
    Print(second, '\n');
  }
}
