#include "comm/net/reach_probe.h"

#include <sys/epoll.h>

#include <cerrno>

namespace muster::net {

ReachProbe::ReachProbe(EventLoop& loop, const std::vector<SocketAddress>& nodes)
    : loop_(loop), asked_(static_cast<int>(nodes.size())) {
  for (const SocketAddress& node : nodes) {
    int error = 0;
    Result<UniqueFd> connecting = StartConnect(node, &error);
    if (!connecting) {
      ++(error == ECONNREFUSED ? answered_ : not_asked_);
      continue;
    }
    const int fd = connecting->get();
    if (loop_.Watch(fd, EPOLLOUT, [this, fd](uint32_t) { OnEvent(fd); })) {
      open_[fd] = *std::move(connecting);
    } else {
      ++not_asked_;
    }
  }
}

ReachProbe::~ReachProbe() {
  for (const auto& [number, fd] : open_) loop_.Forget(number);
}

void ReachProbe::OnEvent(int fd) {
  const int error = ConnectError(fd);
  answered_ += error == 0 || error == ECONNREFUSED ? 1 : 0;
  loop_.Forget(fd);
  open_.erase(fd);
}

}  // namespace muster::net
