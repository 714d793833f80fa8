#include "comm/net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "comm/system/pipe.h"

namespace muster::net {
namespace {

constexpr int kKeepAliveIdleSeconds = 15;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;
constexpr int kPatientIntervalSeconds = 60;
constexpr int kPatientProbes = 120;

const sockaddr_in* AsIpv4(const sockaddr* address) { return reinterpret_cast<const sockaddr_in*>(address); }
const sockaddr_in6* AsIpv6(const sockaddr* address) { return reinterpret_cast<const sockaddr_in6*>(address); }
const sockaddr_un* AsUnix(const sockaddr* address) { return reinterpret_cast<const sockaddr_un*>(address); }

bool IsTcp(int family) { return family == AF_INET || family == AF_INET6; }

// Also makes the kernel detect a peer that vanished silently, for connections without a heartbeat. Not
// TCP_USER_TIMEOUT: it ends a connection to a running peer that merely does not read (zero window), as a rank
// that computes for an hour. With data in flight the kernel sends no probes; then the heartbeat finds the peer within
// liveness.dead_after. The fault matrix holds that (tests/faults/matrix/fault_table.py: `cable`, `collective`).
void SetUpTcp(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

tl::unexpected<Error> SystemFailure(std::string_view what, const SocketAddress& address, int* error_number) {
  const int number = errno;
  if (error_number != nullptr) *error_number = number;
  return Fail(Code::kSystem, "cannot {} {}: {}", what, address.ToString(), ErrnoText(number));
}

Result<UniqueFd> NewSocket(const SocketAddress& address, int* error_number) {
  UniqueFd fd = AboveStandard(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return SystemFailure("open a socket for", address, error_number);
  return fd;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(length) {
  std::memcpy(&storage_, address, length);
}

std::optional<SocketAddress> SocketAddress::FromNumeric(std::string_view host, uint16_t port) {
  const std::string text(host);
  sockaddr_in ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    return SocketAddress(reinterpret_cast<const sockaddr*>(&ipv4), sizeof ipv4);
  }
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  SocketAddress address(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  address.set_port(port);
  return address;
}

SocketAddress SocketAddress::AnyIpv4(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
}

SocketAddress SocketAddress::AnyIpv6(uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
}

Result<SocketAddress> SocketAddress::Path(std::string_view path) {
  sockaddr_un address{};
  if (path.empty() || path.size() + 1 > sizeof address.sun_path) {
    return Fail(Code::kInternal, "the socket name \"{}\" is empty or too long", path);
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const size_t length = offsetof(sockaddr_un, sun_path) + path.size() + 1;
  return SocketAddress(reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length));
}

uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(AsIpv4(get())->sin_port);
  if (family() == AF_INET6) return ntohs(AsIpv6(get())->sin6_port);
  return 0;
}

void SocketAddress::set_port(uint16_t port) {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
}

bool SocketAddress::IsLoopback() const {
  if (family() == AF_INET) return (ntohl(AsIpv4(get())->sin_addr.s_addr) >> 24) == 127;
  if (family() != AF_INET6) return family() == AF_UNIX;
  const in6_addr& address = AsIpv6(get())->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

bool SocketAddress::IsLinkLocal() const {
  if (family() == AF_INET) return (ntohl(AsIpv4(get())->sin_addr.s_addr) >> 16) == 0xa9fe;
  if (family() == AF_INET6) return IN6_IS_ADDR_LINKLOCAL(&AsIpv6(get())->sin6_addr);
  return false;
}

std::string SocketAddress::path() const {
  constexpr size_t kPathAt = offsetof(sockaddr_un, sun_path);
  if (family() != AF_UNIX || length_ <= kPathAt) return "";
  const char* path = AsUnix(get())->sun_path;
  return std::string(path, strnlen(path, length_ - kPathAt));
}

std::string SocketAddress::Host() const {
  std::array<char, NI_MAXHOST> host{};
  if (!IsTcp(family())) return "";
  // A mapped IPv4 address counts as an IPv4 address for users and for dialing.
  if (family() == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&AsIpv6(get())->sin6_addr)) {
    const uint8_t* bytes = AsIpv6(get())->sin6_addr.s6_addr;
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  }
  getnameinfo(get(), length_, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return host.data();
}

std::string SocketAddress::ToString() const {
  if (family() == AF_UNIX) {
    const auto path_length = length_ - offsetof(sockaddr_un, sun_path);
    const char* path = AsUnix(get())->sun_path;
    if (length_ <= offsetof(sockaddr_un, sun_path)) return "unix:(unnamed)";
    if (path[0] == '\0') return "unix:@" + std::string(path + 1, path_length - 1);
    return std::string("unix:") + path;
  }
  if (!IsTcp(family())) return "(no address)";
  const std::string host = Host();
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port())
                                             : fmt::format("[{}]:{}", host, port());
}

namespace {

// A neighbour who connects and closes without a pause uses up all ephemeral ports. By default those from 65000 on are none, and
// belong to no root (rendezvous.ports). On failure errno is as before.
bool BindBeside(int fd, SocketAddress address) {
  constexpr unsigned kFirst = 65000;
  constexpr unsigned kPorts = 65536 - kFirst;
  const int number = errno;
  for (unsigned i = 0; i < kPorts; ++i) {
    address.set_port(
        static_cast<uint16_t>(kFirst + (static_cast<unsigned>(getpid()) * 31 + i * 17) % kPorts));
    if (bind(fd, address.get(), address.length()) == 0) return true;
  }
  errno = number;
  return false;
}

bool Bind(int fd, const SocketAddress& address) {
  if (bind(fd, address.get(), address.length()) == 0) return true;
  return errno == EADDRINUSE && IsTcp(address.family()) && address.port() == 0 && BindBeside(fd, address);
}

bool Connect(int fd, const SocketAddress& address) {
  const auto begin = [&] {
    return connect(fd, address.get(), address.length()) == 0 || errno == EINPROGRESS;
  };
  if (begin()) return true;
  if (errno != EADDRNOTAVAIL || !IsTcp(address.family())) return false;
  const SocketAddress any =
      address.family() == AF_INET ? SocketAddress::AnyIpv4(0) : SocketAddress::AnyIpv6(0);
  return BindBeside(fd, any) && begin();
}

}  // namespace

Result<UniqueFd> Listen(const SocketAddress& address, int* error_number) {
  MUSTER_TRY(UniqueFd fd, NewSocket(address, error_number));
  const int one = 1;
  if (IsTcp(address.family())) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  const int zero = 0;
  if (address.family() == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  if (!Bind(fd.get(), address)) return SystemFailure("bind", address, error_number);
  // Accepted connections inherit this, at no cost for each.
  if (IsTcp(address.family())) SetUpTcp(fd.get());
  if (listen(fd.get(), SOMAXCONN) != 0) return SystemFailure("listen on", address, error_number);
  return fd;
}

Result<UniqueFd> StartConnect(const SocketAddress& address, int* error_number) {
  MUSTER_TRY(UniqueFd fd, NewSocket(address, error_number));
  if (IsTcp(address.family())) SetUpTcp(fd.get());
  if (!Connect(fd.get(), address)) return SystemFailure("connect to", address, error_number);
  return fd;
}

std::string WithoutInterface(std::string host) {
  host.resize(std::min(host.find('%'), host.size()));
  return host;
}

std::string OnInterfaceOf(std::string_view own, const std::string& host) {
  const size_t interface = std::min(own.find('%'), own.size());
  if (interface == own.size() || host.find('%') == std::string::npos) return host;
  return WithoutInterface(host).append(own.substr(interface));
}

void AllowSilence(int fd) {
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kPatientIntervalSeconds, sizeof kPatientIntervalSeconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kPatientProbes, sizeof kPatientProbes);
}

Result<UniqueFd> ConnectToPath(const SocketAddress& address, Deadline deadline, int* error_number) {
  constexpr std::chrono::microseconds kLongest = std::chrono::hours(1);
  MUSTER_TRY(UniqueFd fd, NewSocket(address, error_number));
  const int flags = fcntl(fd.get(), F_GETFL);
  while (connect(fd.get(), address.get(), address.length()) != 0) {
    const bool may_wait = errno == EAGAIN || errno == EINTR;
    const auto left = std::chrono::ceil<std::chrono::microseconds>(deadline.Remaining());
    if (!may_wait || left.count() == 0) return SystemFailure("connect to", address, error_number);
    // The kernel waits for room if the socket blocks. A timeout of 0 has no end.
    const auto wait = std::min(left, kLongest).count();
    const timeval timeout{wait / 1000000, wait % 1000000};
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK);
  }
  fcntl(fd.get(), F_SETFL, flags);
  return fd;
}

int ConnectError(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

Result<UniqueFd> Accept(int listener, SocketAddress* peer) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  UniqueFd fd = AboveStandard(
      accept4(listener, reinterpret_cast<sockaddr*>(&storage), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    // An aborted connection in the queue is skipped.
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return UniqueFd();
    return Fail(Code::kSystem, "cannot accept a connection: {}", ErrnoText(errno));
  }
  if (peer != nullptr) *peer = SocketAddress(reinterpret_cast<const sockaddr*>(&storage), length);
  return fd;
}

bool PeerHasHungUp(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

SocketAddress LocalAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&storage), length};
}

SocketAddress PeerAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&storage), length};
}

std::optional<PeerCredentials> CredentialsOf(int fd) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  return PeerCredentials{credentials.pid, credentials.uid};
}

uint32_t OwnNetworkNamespace() {
  struct stat status {};
  return stat("/proc/self/ns/net", &status) == 0 ? static_cast<uint32_t>(status.st_ino) : 0;
}

uint32_t NetworkNamespaceOf(int socket) {
  constexpr int kNamespaceCookie = 71;  // SO_NETNS_COOKIE: counted from the start of the machine
  uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  if (getsockopt(socket, SOL_SOCKET, kNamespaceCookie, &cookie, &length) != 0) return OwnNetworkNamespace();
  return static_cast<uint32_t>(cookie);
}

}  // namespace muster::net
