#include "comm/rendezvous/tcp_store/descriptor_limit.h"

#include <sys/resource.h>

#include <cerrno>

namespace muster::tcp_store {

Result<uint64_t> RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Fail(Code::kSystem, "cannot read the limit on open files: {}", ErrnoText(errno));
  }
  if (limit.rlim_cur == limit.rlim_max) return limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Fail(Code::kSystem, "cannot raise the limit on open files to {}: {}", limit.rlim_max,
                ErrnoText(errno));
  }
  return limit.rlim_cur;
}

}  // namespace muster::tcp_store
