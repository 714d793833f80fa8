#include "comm/socket/shm/doorbell.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace muster::socket {

Result<Doorbell> Doorbell::Open(const net::PrivateDirectory& directory) {
  MUSTER_TRY(net::PrivateSocket socket, net::PrivateSocket::Bind(directory, net::UniqueSocketName("bell"),
                                                                 net::PrivateSocket::Kind::kDatagram));
  return Doorbell(std::move(socket));
}

Delivery Doorbell::Ring(const net::SocketAddress& other) const {
  const uint8_t byte = 0;
  const ssize_t sent =
      sendto(fd(), &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL, other.get(), other.length());
  if (sent >= 0) return Delivery::kDone;
  const bool passes = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR;
  return passes ? Delivery::kNoRoom : Delivery::kNoSocket;
}

void Doorbell::Drain() const {
  uint8_t byte = 0;
  for (int i = 0; i < kDrainedPerWake && recv(fd(), &byte, sizeof byte, MSG_DONTWAIT) >= 0; ++i) {
  }
}

}  // namespace muster::socket
