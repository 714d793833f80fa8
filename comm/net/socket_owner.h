// The owner of a TCP connection or of a Unix socket of this node, from the kernel, even if its protocol proves nothing.
//
// Source: sock_diag(7), linux/inet_diag.h and linux/unix_diag.h; if the kernel has no INET_DIAG, /proc/net/tcp and tcp6.
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

// The socket with own end `local` and other end `remote`, in this process's network namespace; absent if
// there is none, or no process holds it. Needs no rights; a system call or two, does not wait. Error:
// kSystem.
Result<std::optional<SocketOwner>> OwnerOfConnection(const SocketAddress& local, const SocketAddress& remote);

// Whether a Unix socket of `uid` listens at a path with `part` in it, in this process's network namespace. Absent: the kernel
// does not report owners of such sockets (before Linux 5.3, without UNIX_DIAG, netlink refused). Needs no rights. Reads the
// list of all listening sockets. If UNIX_DIAG is a module, the call waits until it is loaded.
std::optional<bool> HasListeningUnixSocket(uid_t uid, std::string_view part);

// The same as OwnerOfConnection, from the text of /proc/net/tcp or tcp6.
std::optional<SocketOwner> FindInProcNet(std::string_view text, const SocketAddress& local,
                                         const SocketAddress& remote);

}  // namespace muster::net
