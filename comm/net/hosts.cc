#include "comm/net/hosts.h"

#include <fnmatch.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "comm/base/bytes.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::net {
namespace {

// The address part as bytes, network order; empty for other families.
ByteView AddressBytes(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address.get());
    return {reinterpret_cast<const uint8_t*>(&ipv4->sin_addr), 4};
  }
  if (address.family() == AF_INET6) {
    const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address.get());
    return {ipv6->sin6_addr.s6_addr, 16};
  }
  return {};
}

bool SameNetwork(ByteView a, ByteView b, int bits) {
  if (a.size() != b.size() || bits < 0 || static_cast<size_t>(bits) > a.size() * 8) return false;
  for (size_t i = 0; bits > 0; ++i, bits -= 8) {
    const int shift = std::max(0, 8 - bits);
    if ((a[i] >> shift) != (b[i] >> shift)) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<SocketAddress>> ResolveHost(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    const std::string reason = error == EAI_SYSTEM ? ErrnoText(errno) : gai_strerror(error);
    return Fail(Code::kSystem, "cannot resolve host \"{}\": {}", host, reason);
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address(entry->ai_addr, entry->ai_addrlen);
    address.set_port(port);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

std::vector<SocketAddress> AddressesSeenFrom(const std::vector<std::string>& own,
                                             const std::vector<std::string>& hosts, uint16_t port) {
  const auto with_interface = std::ranges::find_if(
      own, [](const std::string& address) { return address.find('%') != std::string::npos; });
  std::vector<SocketAddress> addresses;
  for (const std::string& host : hosts) {
    const std::string seen = with_interface == own.end() ? host : OnInterfaceOf(*with_interface, host);
    if (const auto address = SocketAddress::FromNumeric(seen, port)) addresses.push_back(*address);
  }
  return addresses;
}

Result<std::vector<LocalInterface>> LocalInterfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    return Fail(Code::kSystem, "cannot list the network interfaces: {}", ErrnoText(errno));
  std::vector<LocalInterface> interfaces;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    interfaces.push_back(
        {entry->ifa_name, SocketAddress(entry->ifa_addr, length), (entry->ifa_flags & IFF_RUNNING) != 0});
  }
  freeifaddrs(list);
  return interfaces;
}

std::string LoopbackHost() {
  const std::string ipv4 = "127.0.0.1";
  const std::string ipv6 = "::1";
  int error_number = 0;
  if (Listen(*SocketAddress::FromNumeric(ipv4, 0), &error_number)) return ipv4;
  if (error_number != EADDRNOTAVAIL && error_number != EAFNOSUPPORT) return ipv4;
  return Listen(*SocketAddress::FromNumeric(ipv6, 0)) ? ipv6 : ipv4;
}

bool IsNodeLocalInterface(std::string_view name) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"docker", "virbr", "cni", "podman"};
  return name == "lo" ||
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

bool MatchesInterface(const LocalInterface& interface, std::string_view pattern) {
  const size_t slash = pattern.find('/');
  if (slash == std::string_view::npos) {
    return fnmatch(std::string(pattern).c_str(), interface.name.c_str(), 0) == 0;
  }
  const auto bits = ParseInteger<int>(pattern.substr(slash + 1));
  const auto network = SocketAddress::FromNumeric(pattern.substr(0, slash), 0);
  return bits && network && SameNetwork(AddressBytes(interface.address), AddressBytes(*network), *bits);
}

bool MayLeadToOtherNodes(const LocalInterface& interface, std::string_view pattern) {
  const SocketAddress& address = interface.address;
  return interface.has_link && !address.IsLoopback() && !address.IsLinkLocal() &&
         !IsNodeLocalInterface(interface.name) && MatchesInterface(interface, pattern);
}

std::vector<std::string> ChosenInterfaces(const std::optional<std::string>& pattern, std::string_view first) {
  if (!pattern) return {};
  const Result<std::vector<LocalInterface>> interfaces = LocalInterfaces();
  if (!interfaces) {
    LogWarning("{}", interfaces.error().message);
    return {};
  }
  std::vector<std::string> names;
  for (const LocalInterface& interface : *interfaces) {
    if (!MayLeadToOtherNodes(interface, *pattern)) continue;
    const auto known = std::ranges::find(names, interface.name);
    const auto end = known == names.end() ? names.insert(known, interface.name) + 1 : known + 1;
    if (interface.address.Host() == first) std::rotate(names.begin(), end - 1, end);
  }
  return names;
}

}  // namespace muster::net
