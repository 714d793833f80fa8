// To be preloaded or linked: the monotonic clock is ahead by a second for each byte of the file $CLOCK_AHEAD. A test that lets the file
// grow ends a wait of minutes; the process notices it when it wakes.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  const char* const path = clock == CLOCK_MONOTONIC ? std::getenv("CLOCK_AHEAD") : nullptr;
  struct stat file {};
  if (result == 0 && path != nullptr && stat(path, &file) == 0) now->tv_sec += file.st_size;
  return static_cast<int>(result);
}
