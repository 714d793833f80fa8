#include "comm/socket/endpoint.h"

#include <cerrno>
#include <cstddef>
#include <utility>

#include "comm/net/socket.h"
#include "comm/net/wire.h"

namespace muster {
namespace {

constexpr uint8_t kVersion = 2;
// The kernel's own names have five characters; an abstract name cannot be longer than this.
constexpr size_t kMaxUnixName = sizeof(sockaddr_un::sun_path) - 1;

// Bind with nothing but the family: the kernel chooses an abstract name that is free (unix(7), "autobind").
SocketAddress AutobindAddress() {
  sockaddr address{};
  address.sa_family = AF_UNIX;
  return {&address, sizeof address.sa_family};
}

Result<std::string> AbstractName(int fd) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return Fail(Code::kSystem, "cannot read the name of a Unix socket: {}", ErrnoText(errno));
  }
  constexpr size_t kNameAt = offsetof(sockaddr_un, sun_path) + 1;
  if (length <= kNameAt) return Fail(Code::kSystem, "the kernel gave a Unix socket no name");
  return std::string(address.sun_path + 1, length - kNameAt);
}

Result<UniqueFd> ListenOnTcp() {
  int error_number = 0;
  auto both = Listen(SocketAddress::AnyIpv6(0), &error_number);
  // A kernel without IPv6, or with IPv6 switched off.
  if (!both && (error_number == EAFNOSUPPORT || error_number == EADDRNOTAVAIL)) {
    return Listen(SocketAddress::AnyIpv4(0));
  }
  return both;
}

}  // namespace

Bytes EncodeEndpoint(const EndpointAddress& address) {
  WireWriter writer;
  writer.U8(kVersion);
  writer.U16(address.port);
  writer.U32(address.network_namespace);
  writer.U8(static_cast<uint8_t>(address.unix_name.size()));
  writer.Raw(AsBytes(address.unix_name));
  return writer.Take();
}

Result<EndpointAddress> DecodeEndpoint(ByteView payload, const Roster& roster, int rank) {
  WireReader reader(payload);
  const uint8_t version = reader.U8();
  if (reader.ok() && version != kVersion) {
    return Fail(Code::kDisagreement, "{} speaks version {} of the data protocol, this rank version {}",
                DescribeRank(roster, rank), version, kVersion);
  }
  EndpointAddress address;
  address.port = reader.U16();
  address.network_namespace = reader.U32();
  const size_t length = reader.U8();
  address.unix_name = AsText(reader.Raw(length));
  if (!reader.ok() || reader.remaining() > 0 || length > kMaxUnixName) {
    return Fail(Code::kDisagreement, "{} brought a malformed data endpoint", DescribeRank(roster, rank));
  }
  return address;
}

Result<std::unique_ptr<SocketEndpoint>> SocketEndpoint::Open(const SocketEndpointOptions& options) {
  std::unique_ptr<SocketEndpoint> endpoint(new SocketEndpoint);
  MUSTER_TRY(endpoint->unix_, Listen(AutobindAddress()));
  MUSTER_TRY(endpoint->address_.unix_name, AbstractName(endpoint->unix_.get()));
  if (options.tcp) {
    MUSTER_TRY(endpoint->tcp_, ListenOnTcp());
    endpoint->address_.port = LocalAddress(endpoint->tcp_.get()).port();
  }
  endpoint->address_.network_namespace = OwnNetworkNamespace();
  endpoint->directories_ = options.directories;
  return endpoint;
}

Status SocketEndpoint::OpenDirectories(std::string_view group_id, int rank) {
  MUSTER_TRY(directory_doors_, DirectoryDoors::Open(directories_, group_id, rank));
  return {};
}

}  // namespace muster
