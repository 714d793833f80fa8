#include "comm/socket/transport/record_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace muster::socket {
namespace {

constexpr size_t kHeaderRecord = kFrameHeaderBytes + auth::kSealOverhead;
// Limit of the extra bytes read with a header or a last record in one system call.
constexpr size_t kReadAhead = 4096;
constexpr size_t kLargest = RecordStream::kRecordBytes + auth::kSealOverhead + kReadAhead;

// Two sizes only: most connections carry nothing long.
size_t CapacityFor(size_t bytes) { return bytes <= kReadAhead ? kReadAhead : kLargest; }

}  // namespace

RecordStream::RecordStream(const auth::DataKeys& keys, ConnectionError& error)
    : error_(error), sealer_(keys.cipher, keys.outgoing), opener_(keys.cipher, keys.incoming) {}

size_t RecordStream::Available(const OutgoingMessage& message) {
  const size_t available = message.Available();
  if (available == message.total() || available < message.header.size()) return available;
  return available - (available - message.header.size()) % kRecordBytes;
}

Flow RecordStream::Send(int fd, OutgoingMessage& message) {
  const size_t available = Available(message);
  const size_t turn = std::min(available, message.sent + kTurnBytes);
  while (message.sent < turn) {
    if (!sending()) SealNext(message, available);
    if (const Flow flow = Flush(fd); flow != Flow::kDone) return flow;
    message.sent += out_holds_;
  }
  return message.sent == message.total() ? Flow::kDone : Flow::kBlocked;
}

// The next record of the payload, behind the header's if that is due.
void RecordStream::SealNext(const OutgoingMessage& message, size_t available) {
  const size_t header = message.sent == 0 ? message.header.size() : 0;
  const size_t begin = message.sent + header - message.header.size();
  const size_t bytes = std::min(kRecordBytes, available - message.header.size() - begin);
  const size_t needed = (header > 0 ? kHeaderRecord : 0) + bytes + auth::kSealOverhead;
  if (needed > out_capacity_) {
    out_capacity_ = CapacityFor(needed);
    out_ = std::make_unique_for_overwrite<uint8_t[]>(out_capacity_);
  }
  out_begin_ = 0;
  out_end_ = 0;
  if (header > 0) {
    sealer_.Seal(message.header, out_.get());
    out_end_ = kHeaderRecord;
  }
  if (bytes > 0) {
    sealer_.Seal(message.payload.subspan(begin, bytes), out_.get() + out_end_);
    out_end_ += bytes + auth::kSealOverhead;
  }
  out_holds_ = header + bytes;
}

Flow RecordStream::Flush(int fd) {
  while (sending()) {
    const ssize_t sent =
        send(fd, out_.get() + out_begin_, out_end_ - out_begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return error_.Stop(sent);
    out_begin_ += static_cast<size_t>(sent);
  }
  return Flow::kDone;
}

void RecordStream::MakeRoom(size_t bytes) {
  if (in_begin_ + bytes <= in_capacity_ && in_begin_ < in_end_) return;
  const size_t have = in_end_ - in_begin_;
  if (bytes > in_capacity_) {
    const size_t capacity = CapacityFor(bytes);
    auto larger = std::make_unique_for_overwrite<uint8_t[]>(capacity);
    if (have > 0) std::memcpy(larger.get(), in_.get() + in_begin_, have);
    in_ = std::move(larger);
    in_capacity_ = capacity;
  } else if (have > 0) {
    std::memmove(in_.get(), in_.get() + in_begin_, have);
  }
  in_begin_ = 0;
  in_end_ = have;
}

// Until `bytes` bytes are there; at most `read_ahead` beyond them.
Flow RecordStream::Need(int fd, size_t bytes, size_t read_ahead) {
  if (in_end_ - in_begin_ >= bytes) return Flow::kDone;
  MakeRoom(bytes);
  while (in_end_ - in_begin_ < bytes) {
    const size_t missing = bytes - (in_end_ - in_begin_);
    const size_t room = std::min(in_capacity_ - in_end_, missing + read_ahead);
    const ssize_t received = recv(fd, in_.get() + in_end_, room, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return error_.Stop(received);
    in_end_ += static_cast<size_t>(received);
  }
  return Flow::kDone;
}

bool RecordStream::Open(size_t record_bytes, uint8_t* into) {
  const ByteView record(in_.get() + in_begin_, record_bytes);
  in_begin_ += record_bytes;
  return opener_.Open(record, into);
}

Flow RecordStream::ReadHeader(int fd, FrameBytes& into) {
  if (const Flow flow = Need(fd, kHeaderRecord, kReadAhead); flow != Flow::kDone) return flow;
  return Open(kHeaderRecord, into.data()) ? Flow::kDone : Flow::kTampered;
}

Flow RecordStream::ReadPayload(int fd, std::span<uint8_t> into, size_t& got) {
  got = 0;
  while (got < into.size()) {
    const std::span<uint8_t> rest = into.subspan(got);
    if (plain_begin_ < plain_end_) {
      const size_t bytes = std::min(rest.size(), plain_end_ - plain_begin_);
      std::memcpy(rest.data(), in_.get() + plain_begin_, bytes);
      plain_begin_ += bytes;
      got += bytes;
      continue;
    }
    const size_t bytes = std::min<uint64_t>(kRecordBytes, payload_left_);
    if (bytes == 0) return Flow::kBroken;  // no caller reads more than was announced
    // Beyond the last record the next header may have come; beyond another one there is only more of the same.
    const size_t read_ahead = bytes == payload_left_ ? kReadAhead : 0;
    if (const Flow flow = Need(fd, bytes + auth::kSealOverhead, read_ahead); flow != Flow::kDone) return flow;
    const bool fits = bytes <= rest.size();
    const size_t at = in_begin_;
    if (!Open(bytes + auth::kSealOverhead, fits ? rest.data() : in_.get() + at)) return Flow::kTampered;
    payload_left_ -= bytes;
    got += fits ? bytes : 0;
    plain_begin_ = at;
    plain_end_ = fits ? at : at + bytes;
  }
  return Flow::kDone;
}

bool RecordStream::HoldsLeave(int fd) const {
  const Bytes unread = Unread(fd, {in_.get() + in_begin_, in_end_ - in_begin_});
  auth::RecordOpener opener = opener_;
  Bytes plain(kRecordBytes);
  ByteView rest = unread;
  uint64_t payload_left = 0;
  for (;;) {
    const bool header = payload_left == 0;
    const size_t bytes = header ? kFrameHeaderBytes : std::min<uint64_t>(kRecordBytes, payload_left);
    const size_t record_bytes = bytes + auth::kSealOverhead;
    if (rest.size() < record_bytes || !opener.Open(rest.first(record_bytes), plain.data())) return false;
    rest = rest.subspan(record_bytes);
    if (!header) {
      payload_left -= bytes;
      continue;
    }
    const std::optional<Frame> frame =
        DecodeFrame(std::span<const uint8_t, kFrameHeaderBytes>(plain.data(), kFrameHeaderBytes));
    if (!frame) return false;
    if (frame->kind == FrameKind::kLeave) return true;
    payload_left = frame->payload;
  }
}

}  // namespace muster::socket
