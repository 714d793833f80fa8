#include "comm/socket/transport/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/net/socket.h"
#include "comm/socket/transport/record_stream.h"
#include "comm/system/fork_guard.h"

namespace muster::socket {
namespace {

// Room for one descriptor.
union Ancillary {
  cmsghdr header;
  std::array<uint8_t, CMSG_SPACE(sizeof(int))> bytes;
};

void Attach(msghdr& message, Ancillary& ancillary, int descriptor) {
  message.msg_control = &ancillary;
  message.msg_controllen = sizeof ancillary.bytes;
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
}

}  // namespace

Bytes Unread(int fd, ByteView read_ahead) {
  constexpr size_t kFirst = size_t{64} * 1024;
  for (size_t room = kFirst;; room *= 2) {
    Bytes bytes(read_ahead.size() + room);
    std::ranges::copy(read_ahead, bytes.begin());
    ssize_t got = -1;
    do {
      got = recv(fd, bytes.data() + read_ahead.size(), room, MSG_DONTWAIT | MSG_PEEK);
    } while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(room)) continue;
    bytes.resize(read_ahead.size() + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
}

Connection::Connection(ProvenLink link) : fd_(std::move(link.fd)) {
  if (fd_) CloseInForkedChildren(fd_.get());
  if (link.keys) sealed_ = std::make_unique<RecordStream>(*link.keys, error_);
}

Connection::~Connection() {
  if (fd_) ForgetForForks(fd_.get());
}

int Connection::error() {
  int pending = 0;
  socklen_t length = sizeof pending;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &pending, &length) == 0) error_.Keep(pending);
  return error_.value();
}

size_t Connection::Available(const OutgoingMessage& message) const {
  return sealed_ ? RecordStream::Available(message) : message.Available();
}

Flow Connection::Send(OutgoingMessage& message) {
  if (!sealed_) return SendPlain(message);
  const Flow flow = sealed_->Send(fd_.get(), message);
  sending_ = sealed_->sending() || (message.sent > 0 && message.sent < message.total());
  return flow;
}

Flow Connection::SendPlain(OutgoingMessage& message) {
  const size_t available = message.Available();
  const size_t turn = std::min(available, message.sent + kTurnBytes);
  while (message.sent < turn) {
    std::array<iovec, 2> parts{};
    const size_t header_sent = std::min(message.sent, message.header.size());
    const size_t payload_sent = message.sent - header_sent;
    parts[0] = {message.header.data() + header_sent, message.header.size() - header_sent};
    // sendmsg does not write to the payload.
    parts[1] = {const_cast<uint8_t*>(message.payload.data()) + payload_sent,
                turn - message.header.size() - payload_sent};
    msghdr out{};
    out.msg_iov = parts.data();
    out.msg_iovlen = parts.size();
    Ancillary ancillary{};
    if (message.descriptor >= 0 && message.sent == 0) Attach(out, ancillary, message.descriptor);
    const ssize_t sent = sendmsg(fd_.get(), &out, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return error_.Stop(sent);
    message.sent += static_cast<size_t>(sent);
    sending_ = message.sent < message.total();
  }
  return message.sent == message.total() ? Flow::kDone : Flow::kBlocked;
}

Flow Connection::Receive(std::span<uint8_t> into, size_t& got) {
  for (;;) {
    const ssize_t received = recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (received > 0) {
      got = static_cast<size_t>(received);
      return Flow::kDone;
    }
    if (received < 0 && errno == EINTR) continue;
    return error_.Stop(received);
  }
}

Flow Connection::Fill() {
  std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_), buffer_.begin() + static_cast<ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  iovec part{buffer_.data() + end_, buffer_.size() - end_};
  msghdr in{};
  in.msg_iov = &part;
  in.msg_iovlen = 1;
  Ancillary ancillary{};
  in.msg_control = &ancillary;
  in.msg_controllen = sizeof ancillary.bytes;
  for (;;) {
    const ssize_t received = recvmsg(fd_.get(), &in, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received > 0) {
      end_ += static_cast<size_t>(received);
      KeepDescriptor(in);
      return Flow::kDone;
    }
    if (received < 0 && errno == EINTR) continue;
    return error_.Stop(received);
  }
}

// Descriptors travel with the first byte of a header, and headers come only by Fill.
void Connection::KeepDescriptor(msghdr& message) {
  const cmsghdr* control = message.msg_controllen > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) return;
  if (control->cmsg_len != CMSG_LEN(sizeof(int))) return;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  descriptor_.Reset(descriptor);
}

std::string Connection::PrivateDirectoryName() const {
  std::string path = net::LocalAddress(fd_.get()).path();
  if (path.empty()) path = net::PeerAddress(fd_.get()).path();
  const size_t end = path.rfind('/');
  if (end == std::string::npos || end == 0) return "";
  const size_t begin = path.rfind('/', end - 1);
  return begin == std::string::npos ? "" : path.substr(begin + 1, end - begin - 1);
}

Flow Connection::ReadHeader() {
  if (header_) return Flow::kDone;
  if (sealed_) return ReadSealedHeader();
  while (end_ - begin_ < kFrameHeaderBytes) {
    if (const Flow flow = Fill(); flow != Flow::kDone) return flow;
  }
  header_ =
      DecodeFrame(std::span<const uint8_t, kFrameHeaderBytes>(buffer_.data() + begin_, kFrameHeaderBytes));
  begin_ += kFrameHeaderBytes;
  return header_ ? Flow::kDone : Flow::kBroken;
}

Flow Connection::ReadSealedHeader() {
  FrameBytes bytes{};
  if (const Flow flow = sealed_->ReadHeader(fd_.get(), bytes); flow != Flow::kDone) return flow;
  header_ = DecodeFrame(bytes);
  if (header_) sealed_->BeginPayload(header_->payload);
  return header_ ? Flow::kDone : Flow::kBroken;
}

Flow Connection::ReadPayload(std::span<uint8_t> into, size_t& got) {
  if (sealed_) return sealed_->ReadPayload(fd_.get(), into, got);
  const size_t buffered = std::min(into.size(), end_ - begin_);
  if (buffered > 0) std::memcpy(into.data(), buffer_.data() + begin_, buffered);
  begin_ += buffered;
  got = buffered;
  while (got < into.size()) {
    size_t received = 0;
    if (const Flow flow = Receive(into.subspan(got), received); flow != Flow::kDone) return flow;
    got += received;
  }
  return Flow::kDone;
}

bool Connection::HoldsLeave() const {
  if (header_) return header_->kind == FrameKind::kLeave;
  if (sealed_) return sealed_->HoldsLeave(fd_.get());
  const Bytes unread = Unread(fd_.get(), {buffer_.data() + begin_, end_ - begin_});
  ByteView rest = unread;
  while (rest.size() >= kFrameHeaderBytes) {
    const std::optional<Frame> frame = DecodeFrame(rest.first<kFrameHeaderBytes>());
    if (!frame) return false;
    if (frame->kind == FrameKind::kLeave) return true;
    rest = rest.subspan(kFrameHeaderBytes);
    rest = rest.subspan(std::min<uint64_t>(rest.size(), frame->payload));
  }
  return false;
}

namespace {

void GrowSendBuffer(int fd) {
  int size = 0;
  socklen_t length = sizeof size;
  // The kernel doubles the size that is set.
  if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0)
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

}  // namespace

void Connection::SendLeave(uint64_t communicator) {
  if (sending_) return;  // it would be read as part of that message
  Frame frame;
  frame.kind = FrameKind::kLeave;
  frame.call.communicator = communicator;
  OutgoingMessage message;
  message.header = EncodeFrame(frame);
  Flow flow = Send(message);
  if (flow == Flow::kBlocked) {  // messages that the peer has not received fill the buffer
    GrowSendBuffer(fd_.get());
    flow = Send(message);
  }
  if (flow == Flow::kDone) shutdown(fd_.get(), SHUT_WR);
}

}  // namespace muster::socket
