// Whose a TCP connection of this node is: the kernel knows, whatever the protocol on it leaves unproven.
//
// Source: sock_diag(7), linux/inet_diag.h; where the kernel has no INET_DIAG, /proc/net/tcp and tcp6.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "comm/base/error.h"
#include "comm/net/socket.h"

namespace muster::net {

struct SocketOwner {
  uid_t uid = 0;
  uint64_t inode = 0;  // as in /proc/PID/fd: "socket:[INODE]"

  friend bool operator==(const SocketOwner&, const SocketOwner&) = default;
};

// The socket whose own end is `local` and whose other end is `remote`, in this process's network namespace;
// absent where there is none, or where no process holds it any more. Needs no rights; a system call or two,
// does not wait. Error: kSystem.
Result<std::optional<SocketOwner>> OwnerOfConnection(const SocketAddress& local, const SocketAddress& remote);

// The same from the text of /proc/net/tcp or tcp6.
std::optional<SocketOwner> FindInProcNet(std::string_view text, const SocketAddress& local,
                                         const SocketAddress& remote);

}  // namespace muster::net
