#include "tests/old_kernel/call_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace muster {
namespace {

// Numbers are the same on all architectures from here on. The last call of 4.18 is below it.
constexpr uint32_t kFirstNew = 424;
constexpr uint32_t kClone3 = 435;
constexpr uint32_t kPidfd = 3;  // P_PIDFD
constexpr uint32_t kUnnamedFile = O_TMPFILE & ~O_DIRECTORY;

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "no filter for this architecture"
#endif

struct Call {
  const char* name;
  uint32_t number;
};
constexpr std::array<Call, 6> kOlder = {{
    {"memfd_create", SYS_memfd_create},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"copy_file_range", SYS_copy_file_range},
    {"preadv2", SYS_preadv2},
    {"pwritev2", SYS_pwritev2},
}};

sock_filter Load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
sock_filter SkipUnless(uint16_t comparison, uint32_t value, uint8_t skipped) {
  return BPF_JUMP(static_cast<uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, skipped);
}
sock_filter Return(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter Refuse(int error) { return Return(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)); }

std::vector<sock_filter> MakeFilter(Missing missing) {
  const int error = missing == Missing::kForbidden ? EPERM : ENOSYS;
  std::vector<sock_filter> filter = {
      Load(offsetof(seccomp_data, arch)), SkipUnless(BPF_JEQ, kArchitecture, 1),
      BPF_STMT(BPF_JMP | BPF_JA, 1),      Return(SECCOMP_RET_ALLOW),
      Load(offsetof(seccomp_data, nr)),
  };
  const auto add = [&](std::initializer_list<sock_filter> more) { filter.insert(filter.end(), more); };
  for (const NeverForbiddenCall& call : NeverForbidden()) {
    add({SkipUnless(BPF_JEQ, static_cast<uint32_t>(call.number), 1), Refuse(ENOSYS)});
  }
  for (const Call& call : kOlder) add({SkipUnless(BPF_JEQ, call.number, 1), Refuse(error)});
  add({SkipUnless(BPF_JGE, kFirstNew, 1), Refuse(error)});
  // The low half of the first argument, which is all of an idtype_t.
  add({SkipUnless(BPF_JEQ, SYS_waitid, 3), Load(offsetof(seccomp_data, args)), SkipUnless(BPF_JEQ, kPidfd, 1),
       Refuse(EINVAL)});
  if (missing == Missing::kForbidden) {
    add({Load(offsetof(seccomp_data, nr)), SkipUnless(BPF_JEQ, SYS_openat, 3),
         Load(offsetof(seccomp_data, args) + 2 * sizeof(uint64_t)), SkipUnless(BPF_JSET, kUnnamedFile, 1),
         Refuse(EOPNOTSUPP)});
  }
  add({Return(SECCOMP_RET_ALLOW)});
  return filter;
}

}  // namespace

const std::vector<NeverForbiddenCall>& NeverForbidden() {
  static const std::vector<NeverForbiddenCall> calls = {
      {"clone3", kClone3,
       "glibc 2.34 and later goes on to clone(2) after ENOSYS alone: pthread_create and posix_spawn fail"},
      {"statx", SYS_statx,
       "glibc goes on to fstatat(2) after ENOSYS alone: ls and stat of coreutils fail; muster does not call "
       "it"},
  };
  return calls;
}

std::string OlderCalls() {
  std::string names = "statx";
  for (const Call& call : kOlder) names += ", " + std::string(call.name);
  return names;
}

int RemoveNewCalls(Missing missing) {
  std::vector<sock_filter> filter = MakeFilter(missing);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return 0;
  if (errno != EACCES) return errno;
  // Without privileges the kernel requires the promise that none are gained later.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : errno;
}

}  // namespace muster
