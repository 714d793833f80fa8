// To be preloaded: a call that opens or examines a path with $STALLED_OPEN in it does not return, as on a file system that does not
// answer. With $STALLED_UNTIL, the path of a named pipe, it returns when that has a writer.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int RealOpenAt(int directory, const char* path, int flags, mode_t mode) {
  static auto* const real = Real<int(int, const char*, int, mode_t)>("openat");
  return real(directory, path, flags, mode);
}

void MayStall(const char* path) {
  const char* const stalled = std::getenv("STALLED_OPEN");
  if (stalled == nullptr || std::strstr(path, stalled) == nullptr) return;
  static_cast<void>(!write(STDERR_FILENO, "stalled\n", 8));
  const char* const gate = std::getenv("STALLED_UNTIL");
  if (gate == nullptr) {
    for (;;) pause();
  }
  close(RealOpenAt(AT_FDCWD, gate, O_RDONLY | O_CLOEXEC, 0));
}

}  // namespace

extern "C" int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  MayStall(path);
  return RealOpenAt(directory, path, flags, mode);
}

extern "C" int stat(const char* path, struct stat* status) noexcept {
  static auto* const real = Real<int(const char*, struct stat*)>("stat");
  MayStall(path);
  return real(path, status);
}
