// The messages between one rank and one peer in one round of an operation: two queues that move independently
// of each other. So two ranks that send to each other at the same time never block each other.
//
// Threads: one. Nothing here blocks. Ownership: buffers stay the caller's until the round is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/data_type.h"
#include "comm/ops/call.h"
#include "comm/socket/transport/connection.h"

namespace muster::socket {

// Arithmetic on what arrives: out = own op incoming, or incoming op own. `out` may be `own`.
struct Combining {
  DataType type = DataType::kU8;
  ReduceOp operation = ReduceOp::kSum;
  const uint8_t* own = nullptr;
  uint8_t* out = nullptr;
  size_t bytes = 0;
  bool own_first = true;
};

// A message that is due. Exactly one of `into`, `grow` and `combine` is its destination.
struct IncomingMessage {
  std::span<uint8_t> into;
  Bytes* grow = nullptr;           // takes what comes, and memory as it comes
  std::optional<uint64_t> length;  // of `grow`; absent: whatever comes
  std::optional<Combining> combine;
  ArrivedBytes* arrival = nullptr;  // receives the number of bytes in place; may be null
  size_t got = 0;                   // payload bytes
  bool begun = false;

  size_t bytes() const { return combine ? combine->bytes : into.size(); }
};

enum class StreamEvent {
  kNothing,  // nothing could move
  kMoved,
  kBroken,       // the peer closed the connection, or it was reset
  kTampered,     // data from a sealed connection is not the peer's
  kLeave,        // the peer left
  kMismatch,     // the peer's message is for another call: connection().header().call
  kWrongLength,  // the call agrees and the length does not: a bug
  kNoMemory,     // the announced length cannot be allocated
};

// Makes room for a length that came over the wire. False if there is not that much memory: it must not end the process.
// TryReserve takes addresses alone: a page of memory counts once it is written to.
bool TryReserve(Bytes& bytes, uint64_t size);
bool TryResize(Bytes& bytes, uint64_t size);

class PeerStream {
 public:
  // Ready for the next round with `rank`.
  void Reset(int rank, Connection* connection);

  int rank() const { return rank_; }
  Connection* connection() const { return connection_; }
  void set_connection(Connection* connection) { connection_ = connection; }

  void Queue(const OutgoingMessage& message) { out_.push_back(message); }
  void Queue(const IncomingMessage& message) { in_.push_back(message); }

  bool WantsToSend() const { return sent_ < out_.size(); }
  bool WantsToReceive() const { return received_ < in_.size(); }
  bool done() const { return !WantsToSend() && !WantsToReceive(); }
  // True if the next message may go on, as far as the message that it follows allows.
  bool MaySend() const { return WantsToSend() && out_[sent_].sent < connection_->Available(out_[sent_]); }
  // It might not when it was last tried.
  bool held() const { return held_; }

  // Moves what can be moved now. `scratch` is for arithmetic, a multiple of 8 bytes.
  StreamEvent Advance(const Call& call, std::span<uint8_t> scratch);

 private:
  StreamEvent AdvanceSending();
  StreamEvent AdvanceReceiving(const Call& call, std::span<uint8_t> scratch);
  StreamEvent BeginMessage(const Call& call, IncomingMessage& message);
  Flow Read(IncomingMessage& message, std::span<uint8_t> scratch);
  Flow ReadInto(IncomingMessage& message);
  Flow ReadGrowing(IncomingMessage& message);
  Flow ReadCombining(IncomingMessage& message, std::span<uint8_t> scratch);

  int rank_ = -1;
  Connection* connection_ = nullptr;  // null: not made
  std::vector<OutgoingMessage> out_;
  std::vector<IncomingMessage> in_;
  size_t sent_ = 0;
  size_t received_ = 0;
  std::array<uint8_t, 8> partial_{};  // the bytes of an element that has come in part
  bool moved_ = false;
  bool held_ = false;
};

}  // namespace muster::socket
