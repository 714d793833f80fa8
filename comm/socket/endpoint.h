// What a rank opens before it meets the others, and brings along as its payload: where its data connections
// arrive.
//
// Opened BEFORE the rendezvous, because its payload() goes into the hello; handed to MakeSocketCommunicator
// after it. Nothing is accepted in between: connections of quick peers wait in the kernel's queue.
//
// Ownership: owns both listeners and closes them with itself. Threads: immutable after Open. Nothing here
// blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/roster.h"
#include "comm/socket/directory_doors.h"

namespace muster {

struct SocketEndpointOptions {
  // Without it no port is opened: for a group on one node whose ranks share a network namespace.
  bool tcp = true;
  // Where the ranks of one node meet if each is in a network namespace of its own (directory_doors.h).
  std::vector<std::string> directories;
};

// Where one rank can be reached; the decoded payload. A value.
struct EndpointAddress {
  std::string unix_name;           // abstract name without its leading NUL; empty: none
  uint16_t port = 0;               // TCP, at each of its node's addresses; 0: none
  uint32_t network_namespace = 0;  // that names and ports belong to; 0: unknown

  friend bool operator==(const EndpointAddress&, const EndpointAddress&) = default;
};

Bytes EncodeEndpoint(const EndpointAddress& address);
// Strict: kDisagreement names `rank` of `roster` for anything that EncodeEndpoint does not write.
Result<EndpointAddress> DecodeEndpoint(ByteView payload, const Roster& roster, int rank);

class SocketEndpoint {
 public:
  // A TCP listener on all addresses (IPv6 and IPv4 in one socket; IPv4 alone where there is no IPv6) on a
  // port that the kernel chooses, and an abstract Unix socket whose name the kernel chooses. Error: kSystem.
  static Result<std::unique_ptr<SocketEndpoint>> Open(const SocketEndpointOptions& options = {});

  SocketEndpoint(const SocketEndpoint&) = delete;
  SocketEndpoint& operator=(const SocketEndpoint&) = delete;

  const EndpointAddress& address() const { return address_; }
  const std::vector<std::string>& directories() const { return directories_; }
  Bytes payload() const { return EncodeEndpoint(address_); }

  // After the rendezvous, where the ranks of this node turn out to be in different network namespaces. Error:
  // kSystem.
  Status OpenDirectories(std::string_view group_id, int rank);

  // Non-blocking listeners for comm/socket's own use; tcp_fd is -1 without a port.
  int tcp_fd() const { return tcp_.get(); }
  int unix_fd() const { return unix_.get(); }
  std::vector<int> directory_fds() const { return directory_doors_.fds(); }

 private:
  SocketEndpoint() = default;

  UniqueFd tcp_;
  UniqueFd unix_;
  EndpointAddress address_;
  std::vector<std::string> directories_;
  DirectoryDoors directory_doors_;
};

}  // namespace muster
