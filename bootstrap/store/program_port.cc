#include "bootstrap/store/program_port.h"

#include <algorithm>
#include <array>

#include "comm/auth/crypto.h"
#include "comm/net/socket.h"

namespace muster::store {
namespace {

constexpr int kTries = 64;

Result<uint16_t> TryPort(uint16_t port) {
  Result<UniqueFd> listener = net::Listen(net::SocketAddress::AnyIpv6(port));
  if (!listener) listener = net::Listen(net::SocketAddress::AnyIpv4(port));
  if (!listener) return tl::unexpected<Error>(std::move(listener).error());
  return net::LocalAddress(listener->get()).port();
}

}  // namespace

Result<uint16_t> FreeProgramPort(PortRange ports, const std::vector<uint16_t>& of_others) {
  std::array<uint8_t, 2> random{};
  auth::RandomBytes(random);
  const int count = ports.last - ports.first + 1;
  // Somewhere at random, so that two jobs that start on a node at once do not look at the same ports.
  const int start = (random[0] * 256 + random[1]) % count;
  for (int i = 0; i < std::min(count, kTries); ++i) {
    const auto port = static_cast<uint16_t>(ports.first + (start + i) % count);
    if (std::ranges::count(of_others, port) > 0) continue;
    if (const auto free = TryPort(port)) return *free;
  }
  return TryPort(0);
}

}  // namespace muster::store
