// Decodes a whole frame: the message's type, one byte, which the caller has checked, and its fields. For the files
// that decode messages alone; they encode with EncodeFields(type, message).
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "comm/base/fields.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

// `what` is for the error; `owner` as FieldReader's.
template <typename T>
Result<T> DecodeFrame(ByteView frame, std::string_view what, std::shared_ptr<const Bytes> owner = nullptr) {
  FieldReader reader(frame, std::move(owner));
  uint8_t type = 0;
  reader(type);
  return DecodeFields<T>(reader, what);
}

}  // namespace muster::rendezvous
