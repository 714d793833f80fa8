#include "tests/gpu/standin/address.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>

namespace muster::standin {
namespace {

template <typename Call>
UniqueFd OpenAt(const std::string& name, const Call& call) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (!fd || call(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return {};
  return fd;
}

}  // namespace

UniqueFd Listen(const std::string& name) {
  return OpenAt(name, [](int fd, const sockaddr* address, socklen_t length) {
    return bind(fd, address, length) == 0 && listen(fd, SOMAXCONN) == 0 ? 0 : -1;
  });
}

UniqueFd Connect(const std::string& name) { return OpenAt(name, connect); }

}  // namespace muster::standin
