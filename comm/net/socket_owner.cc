#include "comm/net/socket_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster::net {
namespace {

// The kernel answers while it takes the request; this is for a kernel that does not.
constexpr int kAnswerMilliseconds = 1000;

// Address and port as inet_diag and /proc/net have them: network byte order.
struct End {
  std::array<uint32_t, 4> address{};
  uint16_t port = 0;
  int family = AF_UNSPEC;

  friend bool operator==(const End&, const End&) = default;
};

End EndOf(const SocketAddress& address) {
  End end;
  if (address.family() == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address.get());
    end.address[0] = ipv4->sin_addr.s_addr;
  } else if (address.family() == AF_INET6) {
    const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address.get());
    if (IN6_IS_ADDR_V4MAPPED(&ipv6->sin6_addr)) {
      std::memcpy(end.address.data(), &ipv6->sin6_addr.s6_addr[12], 4);
      end.port = htons(address.port());
      end.family = AF_INET;
      return end;
    }
    std::memcpy(end.address.data(), &ipv6->sin6_addr, 16);
  }
  end.port = htons(address.port());
  end.family = address.family();
  return end;
}

struct DiagRequest {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
};

DiagRequest RequestFor(const End& local, const End& remote) {
  DiagRequest request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(local.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = local.port;
  id.idiag_dport = remote.port;
  std::memcpy(id.idiag_src, local.address.data(), sizeof id.idiag_src);
  std::memcpy(id.idiag_dst, remote.address.data(), sizeof id.idiag_dst);
  id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// Absent: the kernel cannot answer (no such module, netlink forbidden).
std::optional<std::optional<SocketOwner>> AskKernel(const End& local, const End& remote) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) return std::nullopt;
  const DiagRequest request = RequestFor(local, remote);
  if (send(netlink.get(), &request, sizeof request, 0) != sizeof request) return std::nullopt;
  struct pollfd answered {
    netlink.get(), POLLIN, 0
  };
  if (poll(&answered, 1, kAnswerMilliseconds) != 1) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 4096> bytes;
  const ssize_t got = recv(netlink.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(bytes.data());
  if (header->nlmsg_type == NLMSG_ERROR && got >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
    const auto* error = reinterpret_cast<const nlmsgerr*>(bytes.data() + NLMSG_HDRLEN);
    if (error->error == -ENOENT) return std::optional<SocketOwner>();
    return std::nullopt;
  }
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)))) {
    return std::nullopt;
  }
  const auto* found = reinterpret_cast<const inet_diag_msg*>(bytes.data() + NLMSG_HDRLEN);
  // Without such a connection, a listener at the same address is found.
  if (found->idiag_state == TCP_LISTEN || found->id.idiag_dport != remote.port || found->idiag_inode == 0) {
    return std::optional<SocketOwner>();
  }
  return SocketOwner{found->idiag_uid, found->idiag_inode};
}

// UDIAG_SHOW_UID and UNIX_DIAG_UID, which headers before Linux 5.3 do not have.
constexpr uint32_t kShowUid = 0x40;
constexpr uint16_t kUidOfSocket = 7;

struct UnixDiagRequest {
  nlmsghdr header{};
  unix_diag_req body{};
};

UnixDiagRequest RequestForUnixSockets() {
  UnixDiagRequest request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = 1U << TCP_LISTEN;
  request.body.udiag_show = UDIAG_SHOW_NAME | kShowUid;
  return request;
}

struct UnixSocket {
  std::string_view name;
  std::optional<uint32_t> uid;
};

UnixSocket UnixSocketIn(const nlmsghdr* header) {
  UnixSocket found;
  const char* const attributes = reinterpret_cast<const char*>(header) + NLMSG_SPACE(sizeof(unix_diag_msg));
  int left = static_cast<int>(header->nlmsg_len) - static_cast<int>(NLMSG_SPACE(sizeof(unix_diag_msg)));
  const auto* attribute = reinterpret_cast<const rtattr*>(attributes);
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    const std::string_view value(static_cast<const char*>(RTA_DATA(attribute)), RTA_PAYLOAD(attribute));
    if (attribute->rta_type == UNIX_DIAG_NAME) found.name = value;
    if (attribute->rta_type == kUidOfSocket && value.size() == sizeof(uint32_t))
      std::memcpy(&found.uid.emplace(), value.data(), sizeof(uint32_t));
  }
  return found;
}

template <typename T>
std::optional<T> ParseHex(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "0100007F:1F90", IPv6 with 32 digits: each word as the machine has it.
std::optional<End> ParseProcEnd(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  End end;
  for (size_t word = 0; word < colon / 8; ++word) {
    const auto value = ParseHex<uint32_t>(text.substr(word * 8, 8));
    if (!value) return std::nullopt;
    end.address[word] = *value;
  }
  const auto port = ParseHex<uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  end.port = htons(*port);
  end.family = colon == 8 ? AF_INET : AF_INET6;
  const bool mapped =
      colon == 32 && end.address[0] == 0 && end.address[1] == 0 && end.address[2] == htonl(0xffff);
  if (mapped) {
    end.address = {end.address[3], 0, 0, 0};
    end.family = AF_INET;
  }
  return end;
}

}  // namespace

std::optional<SocketOwner> FindInProcNet(std::string_view text, const SocketAddress& local,
                                         const SocketAddress& remote) {
  const End own = EndOf(local);
  const End other = EndOf(remote);
  for (const std::string_view line : Split(text, '\n')) {
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ...
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 10 || ParseProcEnd(words[1]) != own || ParseProcEnd(words[2]) != other) continue;
    const auto uid = ParseInteger<uid_t>(words[7]);
    const auto inode = ParseInteger<uint64_t>(words[9]);
    if (uid && inode && *inode != 0) return SocketOwner{*uid, *inode};
  }
  return std::nullopt;
}

Result<std::optional<SocketOwner>> OwnerOfConnection(const SocketAddress& local,
                                                     const SocketAddress& remote) {
  const End own = EndOf(local);
  const End other = EndOf(remote);
  if (own.family != other.family || (own.family != AF_INET && own.family != AF_INET6)) {
    return Fail(Code::kSystem, "{} to {} is no TCP connection", local.ToString(), remote.ToString());
  }
  // sock_diag finds a link-local socket by its interface only. /proc/net has no interfaces.
  const bool has_interface = own.family == AF_INET6 && local.IsLinkLocal();
  if (const auto known = has_interface ? std::nullopt : AskKernel(own, other)) return *known;
  const std::string ipv4 = ReadProcFile("/proc/net/tcp").value_or("");
  if (ipv4.empty()) {
    return Fail(Code::kSystem,
                "cannot determine the owner of the connection from {}: no INET_DIAG, no /proc/net/tcp",
                local.ToString());
  }
  if (const auto found = FindInProcNet(ipv4, local, remote)) return found;
  return FindInProcNet(ReadProcFile("/proc/net/tcp6").value_or(""), local, remote);
}

std::optional<bool> HasListeningUnixSocket(uid_t uid, std::string_view part) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) return std::nullopt;
  const UnixDiagRequest request = RequestForUnixSockets();
  if (send(netlink.get(), &request, sizeof request, 0) != sizeof request) return std::nullopt;
  // Not a request for one inode: with UDIAG_SHOW_UID that crashes kernels from 5.3 to 6.1.
  alignas(nlmsghdr) std::array<char, 32 * 1024> bytes;
  while (true) {
    struct pollfd answered {
      netlink.get(), POLLIN, 0
    };
    if (poll(&answered, 1, kAnswerMilliseconds) != 1) return std::nullopt;
    const ssize_t got = recv(netlink.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    auto left = static_cast<uint32_t>(got);
    const auto* header = reinterpret_cast<const nlmsghdr*>(bytes.data());
    for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type == NLMSG_DONE) return false;
      if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
      const UnixSocket socket = UnixSocketIn(header);
      if (socket.name.find(part) == std::string_view::npos) continue;
      if (!socket.uid) return std::nullopt;
      if (*socket.uid == uid) return true;
    }
  }
}

}  // namespace muster::net
