#include "comm/system/anonymous_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "comm/system/system_calls.h"

namespace muster {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::array<const char*, 2> kDirectories = {"/dev/shm", "/tmp"};
constexpr off_t kBlock = 512;  // unit of st_blocks on any file system

Result<UniqueFd> Sealed(UniqueFd fd, size_t bytes) {
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return Fail(Code::kSystem, "cannot have {} bytes: {}", bytes, ErrnoText(errno));
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return Fail(Code::kSystem, "cannot seal a memfd: {}", ErrnoText(errno));
  }
  return fd;
}

}  // namespace

UniqueFd MakeUnnamedFile(const std::string& directory) {
  constexpr int kNew = O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC;
  UniqueFd fd(open(directory.c_str(), kNew, S_IRUSR | S_IWUSR));
  if (fd) return fd;
  // Not every file system has files that never had a name.
  std::string name = directory + "/.muster-XXXXXX";
  fd.Reset(mkostemp(name.data(), O_CLOEXEC));
  if (fd) unlink(name.c_str());
  return fd;
}

Result<UniqueFd> MakeAnonymousFile(size_t bytes) {
  UniqueFd memory = CreateMemoryFile("muster", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory) return Sealed(std::move(memory), bytes);
  std::string problems = "memfd_create: " + ErrnoText(errno);
  for (const char* directory : kDirectories) {
    UniqueFd file = MakeUnnamedFile(directory);
    if (file && fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) == 0) return file;
    problems += fmt::format("; {} bytes in {}: {}", bytes, directory, ErrnoText(errno));
  }
  return Fail(Code::kSystem, "{}", problems);
}

bool IsAnonymousFile(int fd, size_t bytes) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto size = static_cast<off_t>(bytes);
  if (status.st_size != size) return false;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & kSeals) == kSeals) return true;
  return status.st_nlink == 0 && status.st_uid == geteuid() && status.st_blocks * kBlock >= size;
}

}  // namespace muster
