#include "comm/socket/probe/link_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace muster::socket {

Status LinkStream::Wait(bool write) { return WaitFor(static_cast<short>(write ? POLLIN | POLLOUT : POLLIN)); }

Status LinkStream::WaitFor(short events) {
  std::array<pollfd, 2> watched = {{{fd_, events, 0}, {stop_, POLLIN, 0}}};
  const int ready = poll(watched.data(), watched.size(), deadline_.PollMilliseconds());
  if (ready < 0 && errno != EINTR) return Fail(Code::kSystem, "{}", ErrnoText(errno));
  if (watched[1].revents != 0) return Fail(Code::kPeerLost, "the group has failed");
  if (ready == 0 && deadline_.Expired()) return Fail(Code::kDeadline, "no more data arrives");
  return {};
}

void LinkStream::set_patience(Duration patience, Deadline last) {
  patience_ = patience;
  last_ = last;
  Renew();
}

Result<size_t> LinkStream::ReadSome(std::span<uint8_t> into) {
  const ssize_t got = recv(fd_, into.data(), into.size(), 0);
  if (got > 0) {
    Renew();
    return static_cast<size_t>(got);
  }
  if (got == 0) return Fail(Code::kPeerLost, "the other end closed the connection");
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return Fail(Code::kPeerLost, "{}", ErrnoText(errno));
}

Result<size_t> LinkStream::WriteSome(ByteView bytes) {
  const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    Renew();
    return static_cast<size_t>(sent);
  }
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return Fail(Code::kPeerLost, "{}", ErrnoText(errno));
}

Status LinkStream::Read(std::span<uint8_t> into) {
  while (!into.empty()) {
    MUSTER_TRY(const size_t got, ReadSome(into));
    into = into.subspan(got);
    if (got == 0) MUSTER_CHECK(WaitFor(POLLIN));
  }
  return {};
}

Status LinkStream::Write(ByteView bytes) {
  while (!bytes.empty()) {
    MUSTER_TRY(const size_t sent, WriteSome(bytes));
    bytes = bytes.subspan(sent);
    if (sent == 0) MUSTER_CHECK(WaitFor(POLLOUT));
  }
  return {};
}

}  // namespace muster::socket
