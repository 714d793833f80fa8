// System calls that the C library has no function for (glibc 2.17, the oldest that muster runs with), or none that
// works in every container.
#pragma once

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"

namespace muster {

// getrandom(2): waits only while the machine boots. A kernel without it (before 3.17) has /dev/urandom.
inline ssize_t GetRandom(void* out, size_t bytes) {
  const ssize_t got = syscall(SYS_getrandom, out, bytes, 0U);
  if (got >= 0 || errno != ENOSYS) return got;
  const UniqueFd source(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  return source ? read(source.get(), out, bytes) : -1;
}

// For names, identities, and processes that would act in step; not for keys. Without a source of randomness, the time and the
// process distinguish it.
inline uint64_t RandomNumber() {
  uint64_t number = 0;
  if (GetRandom(&number, sizeof number) == sizeof number) return number;
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  const auto now = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  return (now ^ static_cast<uint64_t>(getpid()) << 32) * kSpread;
}

// renameat2(2): two paths change places. A kernel before 3.15 and some file systems cannot (EINVAL, ENOSYS).
inline int ExchangePaths(const char* one, const char* other) {
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, kExchange));
}

// renameat2(2): never over another file (EEXIST). ENOSYS and EINVAL as above.
inline int RenameToNew(const char* from, const char* to) {
  constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, kNoReplace));
}

// getdents64(2).
inline ssize_t ReadDirectory(int fd, void* out, size_t bytes) {
  return syscall(SYS_getdents64, fd, out, bytes);
}

// faccessat(2), for the real user. The function of glibc 2.33 and later calls faccessat2(2) first, and returns
// the EPERM of a container that forbids it.
inline int AccessAt(int directory, const char* name, int mode) {
  return static_cast<int>(syscall(SYS_faccessat, directory, name, mode));
}

// memfd_create(2).
inline UniqueFd CreateMemoryFile(const char* name, unsigned flags) {
  return UniqueFd(static_cast<int>(syscall(SYS_memfd_create, name, flags)));
}

}  // namespace muster
