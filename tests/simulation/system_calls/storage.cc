// Files as their disk has them: what was written and not synchronised is lost with the power of its node.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "tests/simulation/machine/file_tree.h"
#include "tests/simulation/system_calls/system_call.h"

using muster::Duration;
using namespace muster::simulation;

namespace {

constexpr Duration kDisk = std::chrono::milliseconds(1);  // mean

int Synchronise(const SystemCall& call, int fd) {
  const auto* const file = call.Find<OpenFile>(fd, EINVAL);
  if (file == nullptr) return -1;
  World& world = call.world();
  world.Block(world.now() + world.random.About(kDisk));
  file->inode->synced = Inode::kAllSynced;
  std::erase(call.process().node.unsynced, file->inode);
  return call.Return(0);
}

}  // namespace

extern "C" {

ssize_t __real_pwrite(int, const void*, size_t, off_t);
ssize_t __wrap_pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  const SystemCall call;
  if (!call) return __real_pwrite(fd, bytes, count, offset);
  const auto* const file = call.Find<OpenFile>(fd, ESPIPE);
  if (file == nullptr) return -1;
  World& world = call.world();
  if (count > 1 && world.random.Chance(world.machines().short_transfers))
    count = 1 + world.random.Below(count);
  const auto begin = static_cast<size_t>(offset);
  Inode& inode = *file->inode;
  if (inode.synced == Inode::kAllSynced) {
    inode.synced = inode.content.size();
    call.process().node.unsynced.push_back(file->inode);
  }
  inode.synced = std::min(inode.synced, begin);
  inode.content.resize(std::max(inode.content.size(), begin + count));
  std::copy_n(static_cast<const char*>(bytes), count, inode.content.begin() + offset);
  inode.changed = world.now();
  return call.Return(static_cast<ssize_t>(count));
}

int __real_fdatasync(int);
int __wrap_fdatasync(int fd) {
  const SystemCall call;
  return call ? Synchronise(call, fd) : __real_fdatasync(fd);
}

// A directory has nothing to lose here.
int __real_fsync(int);
int __wrap_fsync(int fd) {
  const SystemCall call;
  return call ? Synchronise(call, fd) : __real_fsync(fd);
}

int __real_fchmod(int, mode_t);
int __wrap_fchmod(int fd, mode_t mode) {
  const SystemCall call;
  if (!call) return __real_fchmod(fd, mode);
  const auto* const file = call.Find<OpenFile>(fd, EINVAL);
  if (file == nullptr) return -1;
  file->inode->mode = (file->inode->mode & ~07777U) | mode;
  return call.Return(0);
}

int __real_futimens(int, const timespec*);
int __wrap_futimens(int fd, const timespec* times) {
  const SystemCall call;
  if (!call) return __real_futimens(fd, times);
  const auto* const file = call.Find<OpenFile>(fd, EINVAL);
  if (file == nullptr) return -1;
  file->inode->changed = call.world().now();
  return call.Return(0);
}

// A file server, whose locks may be the node's alone.
int __real_fstatfs(int, struct statfs*);
int __wrap_fstatfs(int fd, struct statfs* facts) {
  const SystemCall call;
  if (!call) return __real_fstatfs(fd, facts);
  *facts = {};
  facts->f_type = NFS_SUPER_MAGIC;
  return call.Return(0);
}

}  // extern "C"
