// The sealed form of a Connection's messages (rendezvous.protect: all). Each direction is a sequence of
// records (comm/auth/data_seal.h), and nothing else:
//
//   a message   one record of its header (44 bytes), then its payload in records of kRecordBytes, the last
//               one shorter
//
// No length is on the wire: that of a header is fixed, and an opened header contains the length of its
// payload. So an attacker that changes a byte cannot make the receiver wait for bytes that will not come.
//
// Threads: one may send while another receives. The descriptor is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/auth/data_seal.h"
#include "comm/socket/transport/connection.h"
#include "comm/socket/transport/frame.h"

namespace muster::socket {

class RecordStream {
 public:
  // Both ends must agree on it. Measured between two processes on one machine (tests/bench): 16 KiB cost a
  // third more, 256 KiB gained nothing and would not fit the scratch memory of reductions.
  static constexpr size_t kRecordBytes = size_t{64} * 1024;
  // A turn ends with a record, so that no opened record is left in a place that the kernel cannot announce.
  static_assert(kTurnBytes % kRecordBytes == 0);

  // `error` must outlive this.
  RecordStream(const auth::DataKeys& keys, ConnectionError& error);
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // As OutgoingMessage::Available, in whole records.
  static size_t Available(const OutgoingMessage& message);
  // As Connection's. The bytes of a record count as sent once all of it has been given to the kernel.
  Flow Send(int fd, OutgoingMessage& message);
  // A record has been sent in part.
  bool sending() const { return out_begin_ < out_end_; }

  Flow ReadHeader(int fd, FrameBytes& into);
  // The length that the header has announced; ReadPayload then gives that number of bytes.
  void BeginPayload(uint64_t bytes) { payload_left_ = bytes; }
  Flow ReadPayload(int fd, std::span<uint8_t> into, size_t& got);
  // As Connection's, between two messages.
  bool HoldsLeave(int fd) const;

 private:
  void SealNext(const OutgoingMessage& message, size_t available);
  Flow Flush(int fd);
  Flow Need(int fd, size_t bytes, size_t read_ahead);
  void MakeRoom(size_t bytes);
  bool Open(size_t record_bytes, uint8_t* into);

  ConnectionError& error_;
  auth::RecordSealer sealer_;
  std::unique_ptr<uint8_t[]> out_;
  size_t out_capacity_ = 0;
  size_t out_begin_ = 0;
  size_t out_end_ = 0;
  size_t out_holds_ = 0;  // bytes of the message in what is in out_

  auth::RecordOpener opener_;
  std::unique_ptr<uint8_t[]> in_;
  size_t in_capacity_ = 0;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  uint64_t payload_left_ = 0;  // still sealed
  size_t plain_begin_ = 0;     // of a record that was opened in place
  size_t plain_end_ = 0;
};

}  // namespace muster::socket
