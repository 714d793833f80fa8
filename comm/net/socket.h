// Sockets as muster uses them: non-blocking, close-on-exec, errors as values that name the address.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::net {

// One socket address of any family, comparable and printable. A value.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t length);

  // Numeric only ("10.1.2.3", "fe80::1%eth0"); absent if it is not an address.
  static std::optional<SocketAddress> FromNumeric(std::string_view host, uint16_t port);
  static SocketAddress AnyIpv4(uint16_t port);
  static SocketAddress AnyIpv6(uint16_t port);
  // A Unix socket in the file system. Error: too long.
  static Result<SocketAddress> Path(std::string_view path);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }
  int family() const { return length_ == 0 ? AF_UNSPEC : storage_.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  bool IsLoopback() const;       // 127.0.0.0/8, ::1, and unix
  bool IsLinkLocal() const;      // 169.254.0.0/16, fe80::/10
  std::string path() const;      // of a Unix socket in the file system; else empty
  std::string Host() const;      // numeric, without port
  std::string ToString() const;  // "10.1.2.3:61000", "[::1]:61000", "unix:/tmp/name"

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.port() == b.port() && a.ToString() == b.ToString();
  }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

// "fe80::1" of "fe80::1%eth0": another node has another name for the interface of a link-local address.
std::string WithoutInterface(std::string host);
// "fe80::1%ib0" of "fe80::1%eth0", an address of another node, if `own` is "fe80::2%ib0"; any other unchanged.
std::string OnInterfaceOf(std::string_view own, const std::string& host);

// Bound and listening; accepted connections have the options that StartConnect sets. Port 0: an ephemeral port, or if there is
// none one from 65000 on. kSystem; `*error_number` (may be null) gets errno, so that a caller can recognise a taken address.
Result<UniqueFd> Listen(const SocketAddress& address, int* error_number = nullptr);

// Starts to connect; the descriptor becomes writable when that has ended, then ConnectError returns the
// result. TCP_NODELAY and keep-alive are set: a lost peer is noticed within 30 s if nothing is in flight to
// it (see AllowSilence). Its own port is as for Listen.
Result<UniqueFd> StartConnect(const SocketAddress& address, int* error_number = nullptr);
// For the connections of a group, whose silence liveness.dead_after limits, and for a listener that accepts them: keep-alive ends
// them only after two hours of silence, so that none stays forever.
void AllowSilence(int fd);
// To a Unix socket, which connects immediately, or returns EAGAIN while its queue is full (net.core.somaxconn: 128
// before Linux 5.4). BLOCKS until the queue has room, at most until the deadline.
Result<UniqueFd> ConnectToPath(const SocketAddress& address, Deadline deadline, int* error_number = nullptr);
int ConnectError(int fd);  // 0: connected

// One waiting connection, non-blocking; an empty UniqueFd when none waits.
Result<UniqueFd> Accept(int listener, SocketAddress* peer = nullptr);

// True if the peer has closed the connection and no unread bytes remain.
bool PeerHasHungUp(int fd);

SocketAddress LocalAddress(int fd);
SocketAddress PeerAddress(int fd);

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
};
// Of a connected Unix socket: the creator of the other end, from the kernel.
std::optional<PeerCredentials> CredentialsOf(int fd);

// A number that differs between network namespaces of one machine; 0 if the kernel does not report it.
uint32_t OwnNetworkNamespace();
// Another such number, of the namespace of a socket; cheaper if the kernel is of 5.14 or later.
uint32_t NetworkNamespaceOf(int socket);

}  // namespace muster::net
