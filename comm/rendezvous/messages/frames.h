// A whole frame: the message's type, one byte, which a decoder's caller has checked, and its fields. For the files that
// have the fields of messages alone.
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

// Of a message with one type; `kWhat` as above.
template <typename M>
inline constexpr ControlType kTypeOf{};
template <typename M>
inline constexpr std::string_view kWhat;

template <typename M>
Bytes Encode(const M& message) {
  return EncodeFields(kTypeOf<M>, message);
}
template <typename M>
Bytes Encode(const M& message, ControlType type) {
  return EncodeFields(type, message);
}
template <typename M>
Result<M> Decode(ByteView frame) {
  return DecodeFrame<M>(frame, kWhat<M>);
}

// Behind the message's Fields.
#define MUSTER_MESSAGE(M, type, what)                   \
  template <>                                           \
  constexpr ControlType kTypeOf<M> = ControlType::type; \
  template <>                                           \
  constexpr std::string_view kWhat<M> = what;           \
  template Bytes Encode(const M& message);              \
  template Result<M> Decode(ByteView frame)

// Of a message with a type for each way.
#define MUSTER_MESSAGE_BOTH_WAYS(M, what)                    \
  template <>                                                \
  constexpr std::string_view kWhat<M> = what;                \
  template Bytes Encode(const M& message, ControlType type); \
  template Result<M> Decode(ByteView frame)

}  // namespace muster::rendezvous
