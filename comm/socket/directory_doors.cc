#include "comm/socket/directory_doors.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster {
namespace {

std::string DirectoryOf(std::string_view base, std::string_view group_id) {
  return fmt::format("{}/muster-{}", base, group_id);
}

std::string PathOf(std::string_view directory, int rank) { return fmt::format("{}/{}", directory, rank); }

// Empty: it is there, ours, and closed to others.
std::string MakePrivateDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fmt::format("cannot create {}: {}", path, ErrnoText(errno));
  }
  struct stat status {};
  const bool ours = lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                    status.st_uid == geteuid() && (status.st_mode & 077) == 0;
  return ours ? "" : fmt::format("{} belongs to somebody else", path);
}

}  // namespace

Result<DirectoryDoors> DirectoryDoors::Open(const std::vector<std::string>& directories,
                                            std::string_view group_id, int rank) {
  DirectoryDoors doors;
  std::vector<std::string> problems;
  for (const std::string& base : directories) {
    Door door{DirectoryOf(base, group_id), "", {}};
    const std::string path = PathOf(door.directory, rank);
    const Result<SocketAddress> address = SocketAddress::Path(path);
    if (!address) {
      problems.push_back(address.error().message);
      continue;
    }
    if (std::string problem = MakePrivateDirectory(door.directory); !problem.empty()) {
      problems.push_back(std::move(problem));
      continue;
    }
    if (Result<UniqueFd> fd = Listen(*address)) {
      door.path = path;
      door.fd = *std::move(fd);
    } else {
      problems.push_back(fd.error().message);
    }
    doors.doors_.push_back(std::move(door));
  }
  if (!doors.fds().empty()) return doors;
  if (problems.empty()) problems.emplace_back("no directory was given");
  return Fail(Code::kSystem,
              "the ranks of this node are in different network namespaces, and have no place to meet: {}",
              fmt::join(problems, "; "));
}

DirectoryDoors& DirectoryDoors::operator=(DirectoryDoors&& other) noexcept {
  Close();
  doors_ = std::exchange(other.doors_, {});
  return *this;
}

DirectoryDoors::~DirectoryDoors() { Close(); }

void DirectoryDoors::Close() {
  for (const Door& door : doors_) {
    if (!door.path.empty()) unlink(door.path.c_str());
    rmdir(door.directory.c_str());  // the last rank's works
  }
  doors_.clear();
}

std::vector<SocketAddress> DirectoryDoors::Addresses(const std::vector<std::string>& directories,
                                                     std::string_view group_id, int rank) {
  std::vector<SocketAddress> addresses;
  for (const std::string& base : directories) {
    if (auto address = SocketAddress::Path(PathOf(DirectoryOf(base, group_id), rank))) {
      addresses.push_back(*address);
    }
  }
  return addresses;
}

std::vector<int> DirectoryDoors::fds() const {
  std::vector<int> fds;
  for (const Door& door : doors_) {
    if (door.fd) fds.push_back(door.fd.get());
  }
  return fds;
}

uint32_t OwnNetworkNamespace() {
  struct stat status {};
  return stat("/proc/self/ns/net", &status) == 0 ? static_cast<uint32_t>(status.st_ino) : 0;
}

}  // namespace muster
