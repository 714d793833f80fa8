#include "tests/simulation/scenario/stranger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "comm/base/unique_fd.h"

namespace muster::simulation {
namespace {

constexpr int kPauseMilliseconds = 20;
constexpr size_t kMostConnections = 250;
constexpr uint16_t kFirstPort = 61000;
constexpr uint16_t kPortsHeld = 600;

enum Way : uint64_t { kWait, kNoise, kHalf, kLong, kMany, kOpenAndClose, kHold };

sockaddr_in AddressOf(uint32_t host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(port);
  return address;
}

UniqueFd Connect(const Node& target, uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const sockaddr_in address = AddressOf(target.address, port);
  if (fd) [[maybe_unused]]
    const int begun = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return fd;
}

UniqueFd Hold(const Node& node, uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const sockaddr_in address = AddressOf(node.address, port);
  const bool bound = fd && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!bound || listen(fd.get(), 16) != 0) fd.Reset();
  return fd;
}

std::string Speech(World& world, uint64_t way) {
  if (way == kHalf) return {"\x40\0\0\0\x01", 5};
  if (way == kLong) return {"\xff\xff\xff\x7f\0", 5};
  std::string noise(1 + world.random.Below(200), '\0');
  for (char& byte : noise) byte = static_cast<char>(world.random.Next());
  return noise;
}

std::vector<uint16_t> OpenPorts(const Node& target) {
  std::vector<uint16_t> open;
  for (const auto& [port, sockets] : target.ports) {
    if (!sockets.empty()) open.push_back(port);
  }
  return open;
}

void Speak(World& world, uint64_t way, std::vector<UniqueFd>& connections, std::string* received) {
  std::array<char, 4096> buffer{};
  for (const UniqueFd& fd : connections) {
    const ssize_t count = recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) received->append(buffer.data(), static_cast<size_t>(count));
    if (way != kNoise && way != kHalf && way != kLong) continue;
    const std::string speech = Speech(world, way);
    send(fd.get(), speech.data(), speech.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

}  // namespace

void RunStranger(Process& self, const Node& target, uint64_t way, Duration lasts, std::string* received) {
  World& world = self.world;
  const Time until = world.now() + lasts;
  std::vector<UniqueFd> connections;
  if (way == kHold) {
    for (uint16_t i = 0; i < kPortsHeld; ++i)
      connections.push_back(Hold(target, static_cast<uint16_t>(kFirstPort + i)));
  }
  while (world.now() < until) {
    const size_t each = way == kMany ? 20 : 1;
    for (const uint16_t port : OpenPorts(target)) {
      for (size_t i = 0; i < each && connections.size() < kMostConnections; ++i) {
        UniqueFd fd = Connect(target, port);
        if (fd) connections.push_back(std::move(fd));
      }
    }
    poll(nullptr, 0, kPauseMilliseconds);
    Speak(world, way, connections, received);
    if (way == kOpenAndClose || way == kNoise) connections.clear();
  }
}

}  // namespace muster::simulation
