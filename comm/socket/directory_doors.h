// Where a rank can be reached by the ranks of its node that are in another network namespace (each in a
// container of its own): Unix sockets with a path, in directories that the containers share. Abstract names
// and ports are a namespace's own; a path is not.
//
//   DIRECTORY/muster-GROUPID/RANK       the directory muster-GROUPID has mode 0700
//
// The kernel proves the uid of both ends as on every Unix socket, so whoever else gets there first is found
// out. What a killed rank leaves behind is a socket file that nobody answers at.
//
// Ownership: unlinks what it made. Threads: immutable after Open. Nothing here blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"

namespace muster {

class DirectoryDoors {
 public:
  DirectoryDoors() = default;
  // Listens in every one of `directories` in which it can. Error: kSystem, in none, with what was in the way
  // of each.
  static Result<DirectoryDoors> Open(const std::vector<std::string>& directories, std::string_view group_id,
                                     int rank);
  DirectoryDoors(DirectoryDoors&& other) noexcept = default;
  DirectoryDoors& operator=(DirectoryDoors&& other) noexcept;
  ~DirectoryDoors();

  // Where rank `rank` would listen. Those that are too long for a socket are left out.
  static std::vector<SocketAddress> Addresses(const std::vector<std::string>& directories,
                                              std::string_view group_id, int rank);

  std::vector<int> fds() const;  // non-blocking listeners

 private:
  struct Door {
    std::string directory;
    std::string path;
    UniqueFd fd;
  };
  void Close();

  std::vector<Door> doors_;
};

// A number that differs between network namespaces of one machine; 0 where the kernel does not say.
uint32_t OwnNetworkNamespace();

}  // namespace muster
