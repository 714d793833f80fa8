#include "comm/socket/engine/peer_stream.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "comm/socket/reduce/reduce_kernels.h"

namespace muster::socket {
namespace {

// A message that grows takes so much memory at a time. Whole turns: nothing of the piece that follows has been read ahead.
constexpr size_t kGrowBytes = size_t{1} << 20;
static_assert(kGrowBytes % kTurnBytes == 0);

// Of a flow that has not ended.
StreamEvent EventOf(Flow flow) {
  if (flow == Flow::kTampered) return StreamEvent::kTampered;
  return flow == Flow::kBroken ? StreamEvent::kBroken : StreamEvent::kNothing;
}

}  // namespace

bool TryReserve(Bytes& bytes, uint64_t size) {
  try {
    bytes.reserve(size);
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {
    return false;
  }
  return true;
}

bool TryResize(Bytes& bytes, uint64_t size) {
  if (!TryReserve(bytes, size)) return false;
  bytes.resize(size);
  return true;
}

void PeerStream::Reset(int rank, Connection* connection) {
  rank_ = rank;
  connection_ = connection;
  out_.clear();
  in_.clear();
  sent_ = 0;
  received_ = 0;
  held_ = false;
}

StreamEvent PeerStream::Advance(const Call& call, std::span<uint8_t> scratch) {
  moved_ = false;
  // Receiving first: data in a broken connection may name the cause.
  if (const StreamEvent event = AdvanceReceiving(call, scratch); event != StreamEvent::kNothing) return event;
  if (const StreamEvent event = AdvanceSending(); event != StreamEvent::kNothing) return event;
  return moved_ ? StreamEvent::kMoved : StreamEvent::kNothing;
}

StreamEvent PeerStream::AdvanceSending() {
  held_ = false;
  while (WantsToSend()) {
    OutgoingMessage& message = out_[sent_];
    const size_t before = message.sent;
    const Flow flow = connection_->Send(message);
    moved_ = moved_ || message.sent != before;
    if (flow == Flow::kBroken) return StreamEvent::kBroken;
    if (flow == Flow::kBlocked) {
      held_ = !MaySend();
      break;
    }
    ++sent_;
  }
  return StreamEvent::kNothing;
}

StreamEvent PeerStream::AdvanceReceiving(const Call& call, std::span<uint8_t> scratch) {
  while (WantsToReceive()) {
    IncomingMessage& message = in_[received_];
    if (!message.begun) {
      const Flow flow = connection_->ReadHeader();
      if (flow != Flow::kDone) return EventOf(flow);
      if (const StreamEvent event = BeginMessage(call, message); event != StreamEvent::kNothing) return event;
    }
    const size_t before = message.got;
    const Flow flow = Read(message, scratch);
    moved_ = moved_ || message.got != before;
    if (flow == Flow::kBlocked) break;
    if (flow != Flow::kDone) return EventOf(flow);
    connection_->FinishMessage();
    ++received_;
    moved_ = true;
  }
  return StreamEvent::kNothing;
}

StreamEvent PeerStream::BeginMessage(const Call& call, IncomingMessage& message) {
  const Frame& frame = connection_->header();
  if (frame.kind == FrameKind::kLeave) return StreamEvent::kLeave;
  if (frame.kind != FrameKind::kData) return StreamEvent::kBroken;
  if (!Match(call, frame.call)) return StreamEvent::kMismatch;
  if (message.grow != nullptr) {
    if (message.length.value_or(frame.payload) != frame.payload) return StreamEvent::kWrongLength;
    if (!TryReserve(*message.grow, frame.payload)) return StreamEvent::kNoMemory;
    message.grow->clear();
  } else if (frame.payload != message.bytes()) {
    return StreamEvent::kWrongLength;
  }
  message.begun = true;
  moved_ = true;
  return StreamEvent::kNothing;
}

Flow PeerStream::Read(IncomingMessage& message, std::span<uint8_t> scratch) {
  const Flow flow = message.combine           ? ReadCombining(message, scratch)
                    : message.grow != nullptr ? ReadGrowing(message)
                                              : ReadInto(message);
  if (message.arrival == nullptr) return flow;
  // Of an element that has come in part nothing has been combined.
  const size_t partial = message.combine ? message.got % SizeOf(message.combine->type) : 0;
  *message.arrival = flow == Flow::kDone ? kAllArrived : message.got - partial;
  return flow;
}

Flow PeerStream::ReadInto(IncomingMessage& message) {
  const std::span<uint8_t> rest = message.into.subspan(message.got);
  size_t got = 0;
  const Flow flow = connection_->ReadPayload(rest.first(std::min(rest.size(), kTurnBytes)), got);
  message.got += got;
  return flow == Flow::kDone && got < rest.size() ? Flow::kBlocked : flow;
}

// The bytes stay in place: there is room for all.
Flow PeerStream::ReadGrowing(IncomingMessage& message) {
  const uint64_t bytes = connection_->header().payload;
  if (message.got == message.grow->size()) {
    message.grow->resize(std::min<uint64_t>(bytes, message.got + kGrowBytes));
    message.into = *message.grow;
  }
  const Flow flow = ReadInto(message);
  return flow == Flow::kDone && message.got < bytes ? Flow::kBlocked : flow;
}

// Piece by piece, so that a piece is combined while it is still in the cache and the next one arrives
// meanwhile. Bytes of an incomplete element wait in partial_.
Flow PeerStream::ReadCombining(IncomingMessage& message, std::span<uint8_t> scratch) {
  const Combining& combine = *message.combine;
  const size_t element = SizeOf(combine.type);
  const size_t turn = std::min(combine.bytes, message.got + kTurnBytes);
  while (message.got < turn) {
    const size_t partial = message.got % element;
    const size_t start = message.got - partial;
    std::memcpy(scratch.data(), partial_.data(), partial);
    const size_t room = std::min(scratch.size(), combine.bytes - start) - partial;
    size_t got = 0;
    const Flow flow = connection_->ReadPayload(scratch.subspan(partial, room), got);
    const size_t whole = (partial + got) / element;
    const void* own = combine.own + start;
    const void* left = combine.own_first ? own : scratch.data();
    const void* right = combine.own_first ? scratch.data() : own;
    Combine(combine.type, combine.operation, combine.out + start, left, right, whole);
    message.got += got;
    const size_t rest = message.got % element;
    std::memcpy(partial_.data(), scratch.data() + whole * element, rest);
    if (flow != Flow::kDone) return flow;
  }
  return message.got == combine.bytes ? Flow::kDone : Flow::kBlocked;
}

}  // namespace muster::socket
