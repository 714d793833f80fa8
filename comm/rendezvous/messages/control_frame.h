// What all messages of the control plane have in common: a frame is the message's type, one byte, and its
// body. For the files that encode and decode them (*messages.cc) alone.
#pragma once

#include <string_view>
#include <utility>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/wire.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous::control_frame {

inline WireWriter Begin(ControlType type) {
  WireWriter writer;
  writer.U8(static_cast<uint8_t>(type));
  return writer;
}

// The caller has looked at the type.
inline WireReader Body(ByteView frame) {
  WireReader reader(frame);
  reader.U8();
  return reader;
}

// `what` is for the error, where the frame was too short, too long or malformed.
template <typename T>
Result<T> Finish(const WireReader& reader, T value, std::string_view what) {
  MUSTER_CHECK(reader.Finish(what));
  return value;
}

}  // namespace muster::rendezvous::control_frame
