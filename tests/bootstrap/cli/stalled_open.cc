// To be preloaded: a call that opens a path with $STALLED_OPEN in it does not return, as on a file system that does not
// answer. With $STALLED_UNTIL, the path of a named pipe, it returns when that has a writer.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

extern "C" int openat(int directory, const char* path, int flags, ...) {
  using OpenAt = int(int, const char*, int, mode_t);
  static auto* const real = reinterpret_cast<OpenAt*>(dlsym(RTLD_NEXT, "openat"));
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const char* const stalled = std::getenv("STALLED_OPEN");
  if (stalled == nullptr || std::strstr(path, stalled) == nullptr) return real(directory, path, flags, mode);
  static_cast<void>(!write(STDERR_FILENO, "stalled\n", 8));
  const char* const gate = std::getenv("STALLED_UNTIL");
  if (gate == nullptr) {
    for (;;) pause();
  }
  close(real(AT_FDCWD, gate, O_RDONLY | O_CLOEXEC, 0));
  return real(directory, path, flags, mode);
}
