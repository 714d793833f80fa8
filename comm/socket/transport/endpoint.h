// A rank opens this before it meets the other ranks; its payload has the addresses of its data connections.
//
// Opened BEFORE the rendezvous, because its payload() goes into the hello; passed to MakeSocketCommunicator
// after it. Nothing is accepted in between: connections of quick peers wait in the kernel's queue.
//
// The Unix socket is in one private directory (net/private_directory.h). The ranks of a node may use
// different bases (containers that do not share /dev/shm). Then each opens the same name in all other bases
// as well.
//
// Ownership: owns its listeners and closes them with itself. Threads: one at a time. Nothing here blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/private_directory.h"
#include "comm/roster.h"

namespace muster::socket {

struct SocketEndpointOptions {
  // False, for a group on one node: no port is opened before it is needed.
  bool tcp = true;
  // The bases of the private directories with the Unix sockets of one node's ranks.
  std::vector<std::string> bases = net::PrivateBases();
};

// The addresses of one rank. A value.
struct EndpointAddress {
  std::string unix_name;           // of a socket in a private directory; empty: none
  uint16_t port = 0;               // TCP, at each of its node's addresses; 0: none
  uint32_t network_namespace = 0;  // of the port; 0: unknown
  uint32_t base = 0;               // number of the base: ranks with the same one reach each other's sockets

  friend bool operator==(const EndpointAddress&, const EndpointAddress&) = default;
};

// Few bytes, and those last in which the ranks of a node differ: a roster keeps only what differs from the payload before.
Bytes EncodeEndpoint(const EndpointAddress& address);
// Strict: kDisagreement names `rank` of `roster` for anything that EncodeEndpoint does not write.
Result<EndpointAddress> DecodeEndpoint(ByteView payload, const Roster& roster, int rank);

// A decoded payload that owns nothing: every rank decodes those of all.
struct EndpointView {
  enum class Name : uint8_t { kNone, kOfPort, kOwn };

  uint32_t network_namespace = 0;
  uint32_t base = 0;
  uint16_t port = 0;
  Name name = Name::kNone;
  std::string_view own_name;  // kOwn; valid as long as the payload

  EndpointAddress Address() const;
};
Result<EndpointView> ReadEndpoint(ByteView payload, const Roster& roster, int rank);
EndpointView ViewOf(const EndpointAddress& address);

class SocketEndpoint {
 public:
  // A TCP listener on all addresses (IPv6 and IPv4 in one socket; IPv4 alone without IPv6) on a port that the
  // kernel chooses, and a Unix socket in the first base that works. Without one, ranks of one node use TCP,
  // and the port is opened in any case. Error: kSystem.
  static Result<std::unique_ptr<SocketEndpoint>> Open(const SocketEndpointOptions& options = {});

  SocketEndpoint(const SocketEndpoint&) = delete;
  SocketEndpoint& operator=(const SocketEndpoint&) = delete;
  ~SocketEndpoint();

  const EndpointAddress& address() const { return address_; }
  Bytes payload() const { return EncodeEndpoint(address_); }

  // After the rendezvous, if the ranks of this node are in different network namespaces. Error: kSystem, if
  // there is no Unix socket.
  Status RequireUnix() const;
  // After the rendezvous, if the ranks of this node use different bases: its Unix socket in all bases, and its
  // port. Error: kSystem.
  Status OpenElsewhere();

  // The socket of a peer of this node; absent if this process cannot access it. Caches directories.
  std::optional<net::SocketAddress> Find(const std::string& unix_name);
  std::optional<net::PrivateDirectory> FindDirectory(const std::string& name);

  // Whether its own socket is where peers look for it, as of the last Find that found nothing.
  bool SeesItself() const { return Known(address_.unix_name) != nullptr; }

  // The private directory of its socket; absent if it has none.
  std::optional<net::PrivateDirectory> directory() const;

  // This node's leader stays longer than this rank, and tidies their directory.
  void LeaveTidyingToLeader();

  // Non-blocking listeners for comm/socket's own use; tcp_fd is -1 without a port.
  int tcp_fd() const { return tcp_.get(); }
  std::vector<int> unix_fds() const;

 private:
  SocketEndpoint() = default;

  Status OpenPort();
  Result<net::PrivateSocket> BindUnix() const;
  void OpenUnix();
  void GuardListeners() const;
  const net::PrivateDirectory* Known(const std::string& unix_name) const;
  void LookForDirectories();

  UniqueFd tcp_;
  std::vector<net::PrivateSocket> unix_;
  std::string why_no_unix_;
  EndpointAddress address_;
  std::vector<std::string> bases_;
  std::vector<net::PrivateDirectory> known_;
};

}  // namespace muster::socket
