// One proven data connection: messages (frame.h) out and in, without blocking; sealed if the handshake has
// agreed on keys (record_stream.h).
//
// Threads: one may send while another receives. Ownership: owns the descriptor.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/base/bytes.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/transport/frame.h"
#include "comm/socket/transport/proven_link.h"

namespace muster::socket {

enum class Flow {
  kDone,      // all requested bytes
  kBlocked,   // no more for now: kernel's buffer, the message that it follows, or the other way's turn
  kBroken,    // closed by the peer or reset
  kTampered,  // sealed, and the received bytes are not the peer's
};

// The first error of a connection's calls, in whichever direction.
class ConnectionError {
 public:
  // Of a call that has moved nothing: `result` is its own, the error in errno.
  Flow Stop(ssize_t result) {
    if (result < 0 && errno == EAGAIN) return Flow::kBlocked;
    if (result < 0) Keep(errno);
    return Flow::kBroken;
  }
  void Keep(int error) {
    int none = 0;
    error_.compare_exchange_strong(none, error);
  }
  int value() const { return error_; }

 private:
  std::atomic<int> error_ = 0;
};

// Bytes that move one way before the other way has its turn. Data under way between two ranks then stays in
// the processor's cache on its way through the kernel; measured, 64 KiB and 1 MiB are both slower.
inline constexpr size_t kTurnBytes = size_t{256} * 1024;

// The number of bytes of a message in place; kAllArrived if it is complete, which is the only event of an
// empty one.
using ArrivedBytes = size_t;
inline constexpr ArrivedBytes kAllArrived = SIZE_MAX;

// A message to be sent. The payload stays the caller's until it is sent.
struct OutgoingMessage {
  FrameBytes header{};
  ByteView payload;
  size_t sent = 0;                        // bytes of header and payload
  int descriptor = -1;                    // goes along, on a Unix socket; stays the caller's
  const ArrivedBytes* follows = nullptr;  // limit of the payload that may be sent now; null: all of it

  size_t total() const { return header.size() + payload.size(); }
  // The number of bytes that may be sent now.
  size_t Available() const {
    if (follows == nullptr) return total();
    return *follows == 0 ? 0 : header.size() + std::min(payload.size(), *follows);
  }
};

// The bytes that a receiver has before it: `read_ahead`, then those in the kernel's buffer, where they stay.
Bytes Unread(int fd, ByteView read_ahead);

class RecordStream;

class Connection {
 public:
  explicit Connection(ProvenLink link);
  explicit Connection(UniqueFd fd) : Connection(ProvenLink{std::move(fd)}) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const { return fd_.get(); }
  // The kernel's reason for its end, as errno; 0: the peer has closed it.
  int error();

  // The number of bytes of `message` that may be sent now.
  size_t Available(const OutgoingMessage& message) const;
  Flow Send(OutgoingMessage& message);

  // The header of the next message, once it is all there; it stays until FinishMessage. A malformed one is
  // kBroken.
  Flow ReadHeader();
  const Frame& header() const { return *header_; }
  // Some of the payload, `got` bytes of it; kDone when `into` is full.
  Flow ReadPayload(std::span<uint8_t> into, size_t& got);
  void FinishMessage() { header_.reset(); }
  // The descriptor that came with the last message that had one; empty: none.
  UniqueFd TakeDescriptor() { return std::move(descriptor_); }
  // The name of the private directory in which one end of a Unix socket is bound; empty over TCP.
  std::string PrivateDirectoryName() const;

  // True if the unread messages, of which there may be any number, end in a leave message. They stay unread. Receives,
  // between two messages: copies all that is unread, so it is for a connection that is broken.
  bool HoldsLeave() const;
  // Notifies the peer that nothing will follow. Best effort: the connection is closed in any case.
  void SendLeave(uint64_t communicator);

 private:
  // Small messages then cost one system call with their header.
  static constexpr size_t kReadAhead = 4096;

  Flow SendPlain(OutgoingMessage& message);
  Flow ReadSealedHeader();
  Flow Fill();
  Flow Receive(std::span<uint8_t> into, size_t& got);

  void KeepDescriptor(msghdr& message);

  UniqueFd fd_;
  ConnectionError error_;
  std::unique_ptr<RecordStream> sealed_;  // null: plain
  UniqueFd descriptor_;
  bool sending_ = false;  // in the middle of a message
  std::optional<Frame> header_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::array<uint8_t, kReadAhead> buffer_;
};

}  // namespace muster::socket
