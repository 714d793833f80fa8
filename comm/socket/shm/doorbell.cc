#include "comm/socket/shm/doorbell.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace muster {
namespace {

constexpr size_t kNameAt = offsetof(sockaddr_un, sun_path) + 1;

}  // namespace

Result<Doorbell> Doorbell::Open() {
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address;
  // Bind with nothing but the family: the kernel chooses a free abstract name (unix(7), "autobind").
  if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 || length <= kNameAt) {
    return Fail(Code::kSystem, "cannot have a datagram socket: {}", ErrnoText(errno));
  }
  return Doorbell(std::move(fd), std::string(address.sun_path + 1, length - kNameAt));
}

bool Doorbell::Ring(std::string_view name) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return true;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const uint8_t byte = 0;
  const ssize_t sent =
      sendto(fd_.get(), &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(kNameAt + name.size()));
  // Any other failure means that nobody is there any more.
  return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM && errno != EINTR);
}

void Doorbell::Drain() const {
  uint8_t byte = 0;
  while (recv(fd_.get(), &byte, sizeof byte, MSG_DONTWAIT) >= 0) {
  }
}

}  // namespace muster
