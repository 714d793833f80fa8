#include "comm/system/pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "comm/system/descriptor_room.h"

namespace muster {
namespace {

// The major numbers of /dev/pts: not those of /dev/ptmx, which another open makes another terminal.
constexpr unsigned kFirstTerminal = 136;
constexpr unsigned kLastTerminal = 143;

}  // namespace

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  Pipe pipe;
  if (pipe2(ends.data(), O_CLOEXEC) == 0)
    pipe = {AboveStandard(UniqueFd(ends[0])), AboveStandard(UniqueFd(ends[1]))};
  if (pipe.read_end && pipe.write_end) return pipe;
  const int error = errno;
  return WithHint(Fail(Code::kSystem, "cannot make a pipe: {}", ErrnoText(error)),
                  error == EMFILE ? DescriptorLimitHint() : "");
}

UniqueFd ReopenPipe(int fd, int access) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return AboveStandard(UniqueFd(open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC)));
}

UniqueFd ReopenForWriting(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return {};
  const bool terminal = S_ISCHR(status.st_mode) && major(status.st_rdev) >= kFirstTerminal &&
                        major(status.st_rdev) <= kLastTerminal;
  return terminal || S_ISFIFO(status.st_mode) ? ReopenPipe(fd, O_WRONLY | O_NOCTTY) : UniqueFd();
}

UniqueFd AboveStandard(UniqueFd fd) {
  if (!fd || fd.get() > STDERR_FILENO) return fd;
  return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace muster
