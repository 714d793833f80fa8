// Sockets, names of hosts, interfaces.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tests/simulation/machine/file_tree.h"
#include "tests/simulation/system_calls/system_call.h"

using namespace muster::simulation;

namespace {

std::string PathOf(const sockaddr* address, socklen_t length) {
  constexpr size_t kPathAt = offsetof(sockaddr_un, sun_path);
  const char* const path = reinterpret_cast<const sockaddr_un*>(address)->sun_path;
  return {path, strnlen(path, length - kPathAt)};
}

// An address of IPv6 is "any", or one of IPv4 in its clothes.
InternetAddress Read(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address);
    return {ntohl(ipv4->sin_addr.s_addr), ntohs(ipv4->sin_port)};
  }
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address);
  uint32_t host = 0;
  std::memcpy(&host, &ipv6->sin6_addr.s6_addr[12], sizeof host);
  return {ntohl(host), ntohs(ipv6->sin6_port)};
}

void Write(const Socket& socket, const InternetAddress& of, sockaddr* address, socklen_t* length) {
  if (socket.family == AF_UNIX) {
    sockaddr_un unix{};
    unix.sun_family = AF_UNIX;
    *length = offsetof(sockaddr_un, sun_path);
    std::memcpy(address, &unix, *length);
    return;
  }
  if (socket.family == AF_INET) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(of.port);
    ipv4.sin_addr.s_addr = htonl(of.host);
    std::memcpy(address, &ipv4, sizeof ipv4);
    *length = sizeof ipv4;
    return;
  }
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(of.port);
  const uint32_t host = htonl(of.host);
  ipv6.sin6_addr.s6_addr[10] = ipv6.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&ipv6.sin6_addr.s6_addr[12], &host, sizeof host);
  std::memcpy(address, &ipv6, sizeof ipv6);
  *length = sizeof ipv6;
}

int BindPath(const SystemCall& call, Socket& socket, const std::string& path) {
  const Found found = Find(call.process(), path);
  if (found.inode) return EADDRINUSE;
  if (found.error != ENOENT || !found.directory || found.directory->removed) return found.error;
  if (!MayWrite(call.process(), *found.directory)) return EACCES;
  Add(call.process(), found, S_IFSOCK | 0755)->socket = &socket;
  socket.path = path;
  if (socket.type == SOCK_DGRAM) socket.role = Socket::Role::kDatagram;
  return 0;
}

int ConnectPath(const SystemCall& call, Socket& socket, const std::string& path) {
  const Found found = Find(call.process(), path);
  if (!found.inode) return found.error;
  if (!MayWrite(call.process(), *found.inode)) return EACCES;
  Socket* const there = found.inode->socket;
  if (there == nullptr || there->closed()) return ECONNREFUSED;
  if (there->type != socket.type) return EPROTOTYPE;
  if (socket.type == SOCK_DGRAM) return 0;
  return there->role == Socket::Role::kListener ? socket.ConnectUnix(there) : ECONNREFUSED;
}

addrinfo* MakeInfo(uint32_t host) {
  auto* const info = new addrinfo{};
  auto* const address = new sockaddr_in{};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(host);
  info->ai_family = AF_INET;
  info->ai_socktype = SOCK_STREAM;
  info->ai_addrlen = sizeof *address;
  info->ai_addr = reinterpret_cast<sockaddr*>(address);
  return info;
}

ifaddrs* MakeInterface(const char* name, uint32_t host) {
  auto* const interface = new ifaddrs{};
  interface->ifa_name = strdup(name);
  interface->ifa_flags = IFF_UP;
  interface->ifa_addr = MakeInfo(host)->ai_addr;
  return interface;
}

}  // namespace

extern "C" {

int __real_socket(int, int, int);
int __wrap_socket(int family, int type, int protocol) {
  const SystemCall call;
  if (!call) return __real_socket(family, type, protocol);
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return call.ReturnError(EAFNOSUPPORT);
  const int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
  return call.Return(
      call.process().Install(call.world().Make<Socket>(call.world(), call.process(), family, kind)));
}

int __real_bind(int, const sockaddr*, socklen_t);
int __wrap_bind(int fd, const sockaddr* address, socklen_t length) {
  const SystemCall call;
  if (!call) return __real_bind(fd, address, length);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  if (socket->family == AF_UNIX) return call.ReturnError(BindPath(call, *socket, PathOf(address, length)));
  return call.ReturnError(socket->Bind(Read(address)));
}

int __real_listen(int, int);
int __wrap_listen(int fd, int backlog) {
  const SystemCall call;
  if (!call) return __real_listen(fd, backlog);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  return socket == nullptr ? -1 : call.ReturnError(socket->Listen());
}

int __real_connect(int, const sockaddr*, socklen_t);
int __wrap_connect(int fd, const sockaddr* address, socklen_t length) {
  const SystemCall call;
  if (!call) return __real_connect(fd, address, length);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  if (socket->family == AF_UNIX) return call.ReturnError(ConnectPath(call, *socket, PathOf(address, length)));
  return call.ReturnError(socket->Connect(Read(address)));
}

int __real_accept4(int, sockaddr*, socklen_t*, int);
int __wrap_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  const SystemCall call;
  if (!call) return __real_accept4(fd, address, length, flags);
  auto* const listener = call.Find<Socket>(fd, ENOTSOCK);
  if (listener == nullptr) return -1;
  // The connection stays in the queue if there is no descriptor for it.
  if (!call.process().HasFreeDescriptor()) return call.ReturnError(EMFILE);
  Socket* const accepted = listener->Accept();
  if (accepted == nullptr) return call.ReturnError(EAGAIN);
  accepted->owner = &call.process();
  if (address != nullptr) Write(*accepted, accepted->remote, address, length);
  return call.Return(call.process().Install(accepted));
}

ssize_t __real_recv(int, void*, size_t, int);
ssize_t __wrap_recv(int fd, void* bytes, size_t most, int flags) {
  const SystemCall call;
  if (!call) return __real_recv(fd, bytes, most, flags);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  return call.Return(socket->Receive(static_cast<uint8_t*>(bytes), most, (flags & MSG_PEEK) != 0));
}

ssize_t __real_send(int, const void*, size_t, int);
ssize_t __wrap_send(int fd, const void* bytes, size_t count, int flags) {
  const SystemCall call(SystemCall::Kill::kMessage);
  if (!call) return __real_send(fd, bytes, count, flags);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  return call.Return(socket->Send(static_cast<const uint8_t*>(bytes), count));
}

ssize_t __real_sendmsg(int, const msghdr*, int);
ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  const SystemCall call(SystemCall::Kill::kMessage);
  if (!call) return __real_sendmsg(fd, message, flags);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  std::string all;
  for (size_t i = 0; i < message->msg_iovlen; ++i)
    all.append(static_cast<const char*>(message->msg_iov[i].iov_base), message->msg_iov[i].iov_len);
  return call.Return(socket->Send(reinterpret_cast<const uint8_t*>(all.data()), all.size()));
}

int __real_shutdown(int, int);
int __wrap_shutdown(int fd, int how) {
  const SystemCall call;
  if (!call) return __real_shutdown(fd, how);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  if (how != SHUT_WR) return call.ReturnError(EINVAL);
  return call.ReturnError(socket->ShutDownWriting());
}

int __real_setsockopt(int, int, int, const void*, socklen_t);
int __wrap_setsockopt(int fd, int level, int option, const void* value, socklen_t length) {
  const SystemCall call;
  if (!call) return __real_setsockopt(fd, level, option, value, length);
  return call.Find<Socket>(fd, ENOTSOCK) == nullptr ? -1 : 0;
}

int __real_getsockopt(int, int, int, void*, socklen_t*);
int __wrap_getsockopt(int fd, int level, int option, void* value, socklen_t* length) {
  const SystemCall call;
  if (!call) return __real_getsockopt(fd, level, option, value, length);
  auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  if (level == SOL_SOCKET && option == SO_ERROR) {
    const int error = socket->TakeError();
    std::memcpy(value, &error, sizeof error);
    return call.Return(0);
  }
  if (level == SOL_SOCKET && option == SO_PEERCRED) {
    const ucred credentials{socket->peer_pid, socket->peer_uid, socket->peer_uid};
    std::memcpy(value, &credentials, sizeof credentials);
    return call.Return(0);
  }
  return call.ReturnError(ENOPROTOOPT);
}

int __real_getsockname(int, sockaddr*, socklen_t*);
int __wrap_getsockname(int fd, sockaddr* address, socklen_t* length) {
  const SystemCall call;
  if (!call) return __real_getsockname(fd, address, length);
  const auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  Write(*socket, socket->local, address, length);
  return 0;
}

int __real_getpeername(int, sockaddr*, socklen_t*);
int __wrap_getpeername(int fd, sockaddr* address, socklen_t* length) {
  const SystemCall call;
  if (!call) return __real_getpeername(fd, address, length);
  const auto* const socket = call.Find<Socket>(fd, ENOTSOCK);
  if (socket == nullptr) return -1;
  Write(*socket, socket->remote, address, length);
  return 0;
}

int __real_getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**);
int __wrap_getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  const SystemCall call;
  if (!call) return __real_getaddrinfo(host, service, hints, found);
  in_addr numeric{};
  if (inet_pton(AF_INET, host, &numeric) == 1) {
    *found = MakeInfo(ntohl(numeric.s_addr));
    return 0;
  }
  const Node* const node = call.world().FindNode(host);
  if (hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
  if (node == nullptr) return EAI_NONAME;
  *found = MakeInfo(node->address);
  return 0;
}

void __real_freeaddrinfo(addrinfo*);
void __wrap_freeaddrinfo(addrinfo* info) {
  const SystemCall call;
  if (!call) return __real_freeaddrinfo(info);
  delete reinterpret_cast<sockaddr_in*>(info->ai_addr);
  delete info;
}

int __real_getifaddrs(ifaddrs**);
int __wrap_getifaddrs(ifaddrs** list) {
  const SystemCall call;
  if (!call) return __real_getifaddrs(list);
  *list = MakeInterface("lo", INADDR_LOOPBACK);
  (*list)->ifa_next = MakeInterface("eth0", call.process().node.address);
  return 0;
}

void __real_freeifaddrs(ifaddrs*);
void __wrap_freeifaddrs(ifaddrs* list) {
  const SystemCall call;
  if (!call) return __real_freeifaddrs(list);
  while (list != nullptr) {
    ifaddrs* const next = list->ifa_next;
    free(list->ifa_name);
    delete reinterpret_cast<sockaddr_in*>(list->ifa_addr);
    delete list;
    list = next;
  }
}

}  // extern "C"
