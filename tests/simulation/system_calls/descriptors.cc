// Descriptors: waiting for them, reading and writing.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/simulation/machine/file_tree.h"
#include "tests/simulation/system_calls/system_call.h"

using namespace muster::simulation;

namespace {

Time DeadlineOf(const World& world, int milliseconds) {
  return milliseconds < 0 ? kNever : world.now() + std::chrono::milliseconds(milliseconds);
}

[[noreturn]] void Unknown(const char* what, long number) {
  fprintf(stderr, "the simulation has no %s %ld\n", what, number);
  abort();
}

int Look(const SystemCall& call, pollfd* fds, nfds_t count) {
  int ready = 0;
  for (nfds_t i = 0; i < count; ++i) {
    fds[i].revents = 0;
    if (fds[i].fd < 0) continue;
    uint32_t found = POLLNVAL;
    if (fds[i].fd < kStandardDescriptors) {
      found = POLLOUT;
    } else if (File* const file = call.process().Find(fds[i].fd)) {
      found = file->Ready();
    }
    fds[i].revents =
        static_cast<int16_t>(found & (static_cast<uint32_t>(fds[i].events) | POLLERR | POLLHUP | POLLNVAL));
    ready += fds[i].revents != 0 ? 1 : 0;
  }
  return ready;
}

void SetPoller(const SystemCall& call, const pollfd* fds, nfds_t count, bool waits) {
  Fiber* const fiber = &call.world().running();
  for (nfds_t i = 0; i < count; ++i) {
    if (fds[i].fd < kStandardDescriptors) continue;
    File* const file = call.process().Find(fds[i].fd);
    if (file == nullptr) continue;
    std::erase(file->pollers, fiber);
    if (waits) file->pollers.push_back(fiber);
  }
}

ssize_t ReadFile(OpenFile& file, void* bytes, size_t most, size_t offset) {
  const std::string& content = file.inode->content;
  const size_t count = offset >= content.size() ? 0 : std::min(most, content.size() - offset);
  std::memcpy(bytes, content.data() + offset, count);
  return static_cast<ssize_t>(count);
}

}  // namespace

extern "C" {

int __real_close(int);
int __wrap_close(int fd) {
  const SystemCall call;
  if (!call) return __real_close(fd);
  return call.Return(call.process().Close(fd));
}

ssize_t __real_read(int, void*, size_t);
ssize_t __wrap_read(int fd, void* bytes, size_t most) {
  const SystemCall call;
  if (!call) return __real_read(fd, bytes, most);
  File* const file = call.process().Find(fd);
  if (file == nullptr) return -1;
  if (auto* counter = dynamic_cast<EventCounter*>(file)) {
    if (counter->count == 0) return call.ReturnError(EAGAIN);
    std::memcpy(bytes, &counter->count, sizeof counter->count);
    counter->count = 0;
    counter->Changed();
    return sizeof counter->count;
  }
  if (auto* stream = dynamic_cast<Socket*>(file))
    return call.Return(stream->Receive(static_cast<uint8_t*>(bytes), most, false));
  auto* const open_file = dynamic_cast<OpenFile*>(file);
  if (open_file == nullptr) Unknown("read of descriptor", fd);
  const ssize_t count = ReadFile(*open_file, bytes, most, open_file->offset);
  open_file->offset += static_cast<size_t>(count);
  return call.Return(count);
}

ssize_t __real_pread(int, void*, size_t, off_t);
ssize_t __wrap_pread(int fd, void* bytes, size_t most, off_t offset) {
  const SystemCall call;
  if (!call) return __real_pread(fd, bytes, most, offset);
  auto* const file = call.Find<OpenFile>(fd, ESPIPE);
  return file == nullptr ? -1 : call.Return(ReadFile(*file, bytes, most, static_cast<size_t>(offset)));
}

ssize_t __real_write(int, const void*, size_t);
ssize_t __wrap_write(int fd, const void* bytes, size_t count) {
  const bool is_log = fd < kStandardDescriptors;
  const SystemCall call(is_log ? SystemCall::Kill::kSafe : SystemCall::Kill::kMay);
  if (!call) return __real_write(fd, bytes, count);
  if (is_log) {
    call.process().log.append(static_cast<const char*>(bytes), count);
    return static_cast<ssize_t>(count);
  }
  File* const file = call.process().Find(fd);
  if (file == nullptr) return -1;
  if (auto* counter = dynamic_cast<EventCounter*>(file)) {
    uint64_t more = 0;
    std::memcpy(&more, bytes, sizeof more);
    counter->count += more;
    counter->Changed();
    return sizeof more;
  }
  if (auto* stream = dynamic_cast<Socket*>(file))
    return call.Return(stream->Send(static_cast<const uint8_t*>(bytes), count));
  auto* const open_file = dynamic_cast<OpenFile*>(file);
  if (open_file == nullptr) Unknown("write to descriptor", fd);
  open_file->inode->content.append(static_cast<const char*>(bytes), count);
  return call.Return(static_cast<ssize_t>(count));
}

int __real_poll(pollfd*, nfds_t, int);
int __wrap_poll(pollfd* fds, nfds_t count, int milliseconds) {
  const SystemCall call(SystemCall::Kill::kSafe);
  if (!call) return __real_poll(fds, count, milliseconds);
  const Time deadline = DeadlineOf(call.world(), milliseconds);
  int ready = Look(call, fds, count);
  bool in_time = milliseconds != 0;
  while (ready == 0 && in_time) {
    SetPoller(call, fds, count, true);
    in_time = call.world().Block(deadline);
    SetPoller(call, fds, count, false);
    ready = Look(call, fds, count);
  }
  return call.Return(ready);
}

int __real_epoll_create1(int);
int __wrap_epoll_create1(int flags) {
  const SystemCall call;
  if (!call) return __real_epoll_create1(flags);
  return call.Return(call.process().Install(call.world().Make<Epoll>(call.world())));
}

int __real_epoll_ctl(int, int, int, epoll_event*);
int __wrap_epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
  const SystemCall call;
  if (!call) return __real_epoll_ctl(epoll, operation, fd, event);
  auto* const found = call.Find<Epoll>(epoll, EINVAL);
  File* const file = call.process().Find(fd);
  if (found == nullptr || file == nullptr) return call.Return(-1);
  return call.Return(found->Control(operation, fd, file, event));
}

int __real_epoll_wait(int, epoll_event*, int, int);
int __wrap_epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  const SystemCall call;
  if (!call) return __real_epoll_wait(epoll, events, most, milliseconds);
  auto* const found = call.Find<Epoll>(epoll, EINVAL);
  if (found == nullptr) return -1;
  const Time deadline = DeadlineOf(call.world(), milliseconds);
  // A turn of the loop takes time, also when it need not wait.
  if (found->Ready() != 0 || milliseconds == 0) call.world().Yield();
  int count = found->Collect(events, most);
  bool in_time = milliseconds != 0;
  while (count == 0 && in_time) {
    found->waiter = &call.world().running();
    in_time = call.world().Block(deadline);
    found->waiter = nullptr;
    count = found->Collect(events, most);
  }
  return call.Return(count);
}

int __real_eventfd(unsigned, int);
int __wrap_eventfd(unsigned initial, int flags) {
  const SystemCall call;
  if (!call) return __real_eventfd(initial, flags);
  auto* const counter = call.world().Make<EventCounter>(call.world());
  counter->count = initial;
  return call.Return(call.process().Install(counter));
}

// Of the C library, which calls its own write.
int __real_eventfd_write(int, uint64_t);
int __wrap_eventfd_write(int fd, uint64_t more) {
  const SystemCall call;
  if (!call) return __real_eventfd_write(fd, more);
  auto* const counter = call.Find<EventCounter>(fd, EINVAL);
  if (counter == nullptr) return -1;
  counter->count += more;
  counter->Changed();
  return call.Return(0);
}

int __real_isatty(int);
int __wrap_isatty(int fd) { return World::Caller() == nullptr ? __real_isatty(fd) : 0; }

int __real_fcntl(int, int, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  const SystemCall call;
  if (!call) return __real_fcntl(fd, command, argument);
  return 0;
}

long __real_syscall(long, ...);
long __wrap_syscall(long number, ...) {
  std::array<long, 6> given{};
  va_list arguments;
  va_start(arguments, number);
  for (long& one : given) one = va_arg(arguments, long);
  va_end(arguments);
  const SystemCall call;
  if (!call) return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  // NOLINTBEGIN(performance-no-int-to-ptr): syscall takes addresses as long
  switch (number) {
    case SYS_getrandom: {
      auto* const bytes = reinterpret_cast<uint8_t*>(given[0]);
      std::generate_n(bytes, given[1],
                      [&] { return static_cast<uint8_t>(call.world().product_random.Next()); });
      return given[1];
    }
    case SYS_pidfd_open:
      for (const auto& process : call.world().processes()) {
        if (&process->node != &call.process().node || process->pid != given[0]) continue;
        if (process->state == Process::State::kEnded) continue;  // perhaps before the node started again
        return call.Return(call.process().Install(call.world().Make<EndWatch>(call.world(), *process)));
      }
      return call.ReturnError(ESRCH);
    case SYS_memfd_create:
      return call.Return(call.process().Install(
          call.world().Make<OpenFile>(call.world(), std::make_shared<Inode>(Inode{.mode = S_IFREG | 0600}))));
    case SYS_getdents64:
      return ReadDirectory(call, static_cast<int>(given[0]), reinterpret_cast<char*>(given[1]),
                           static_cast<size_t>(given[2]));
    case SYS_renameat2:
      return Rename(call, {static_cast<int>(given[0]), reinterpret_cast<const char*>(given[1])},
                    {static_cast<int>(given[2]), reinterpret_cast<const char*>(given[3])},
                    static_cast<unsigned>(given[4]));
    case SYS_futex:
      return Futex(call, reinterpret_cast<const uint32_t*>(given[0]), static_cast<int>(given[1]),
                   static_cast<uint32_t>(given[2]), reinterpret_cast<const timespec*>(given[3]));
    default:
      Unknown("system call", number);
  }
  // NOLINTEND(performance-no-int-to-ptr)
}

}  // extern "C"
