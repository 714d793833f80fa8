// Takes `-p PID`, as eu-stack does: attaches to that process, and waits until it is killed.
#include <sys/ptrace.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
  if (count != 3 || ptrace(PTRACE_ATTACH, std::atoi(arguments[2]), nullptr, nullptr) != 0) {
    std::perror("attach_and_wait");
    return 1;
  }
  std::puts("attached");
  std::fflush(stdout);
  for (;;) pause();
}
