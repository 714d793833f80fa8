#include "deploy/examples/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace muster::examples {

Result<std::string> ReadRegularFile(const std::string& path, size_t limit) {
  // O_NONBLOCK: opening a pipe without a writer would block before it could be refused.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Fail(Code::kSystem, "cannot open {}: {}", path, ErrnoText(errno));
  struct stat facts = {};
  if (fstat(fd.get(), &facts) != 0) return Fail(Code::kSystem, "cannot stat {}: {}", path, ErrnoText(errno));
  if (!S_ISREG(facts.st_mode)) return Fail(Code::kConfiguration, "{} is not a regular file", path);
  if (static_cast<size_t>(facts.st_size) > limit) {
    return Fail(Code::kConfiguration, "{} has {} bytes; at most {} are read", path, facts.st_size, limit);
  }
  std::string content(static_cast<size_t>(facts.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = read(fd.get(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(Code::kSystem, "cannot read {}: {}", path, ErrnoText(errno));
    if (got == 0) return Fail(Code::kSystem, "{} became shorter while it was read", path);
    done += static_cast<size_t>(got);
  }
  return content;
}

Result<OutputFile> OutputFile::Open(std::string path) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return Fail(Code::kSystem, "cannot open {} for writing: {}", path, ErrnoText(errno));
  return OutputFile(std::move(path), std::move(fd));
}

Status OutputFile::WriteAndClose(std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = write(fd_.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Fail(Code::kSystem, "cannot write {}: {}", path_, ErrnoText(errno));
    content.remove_prefix(static_cast<size_t>(put));
  }
  // NFS reports a full disk only here.
  if (close(fd_.Release()) != 0) return Fail(Code::kSystem, "cannot write {}: {}", path_, ErrnoText(errno));
  return {};
}

}  // namespace muster::examples
