// The encoder and decoder of messages. Each struct names its fields once, in the order in which they travel, in a
// function beside it, in its namespace:
//
//   void Fields(auto& wire, Is<Survey> auto& survey) { wire(survey.number, survey.milliseconds, survey.stacks); }
//
// Decoding is as strict as WireReader. For the files that encode and decode.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/slice.h"
#include "comm/base/wire.h"

namespace muster {

// T, or T that cannot be changed, since it is encoded.
template <typename Argument, typename T>
concept Is = std::same_as<std::remove_const_t<Argument>, T>;

// True if the argument `wire` of a Fields is a FieldReader: kReads<decltype(wire)>.
template <typename Wire>
inline constexpr bool kReads = std::remove_reference_t<Wire>::kIsReader;

// A field of one byte; other values than `first` to `last` are malformed.
template <typename T>
struct OneByte {
  T& value;
  std::remove_const_t<T> first;
  std::remove_const_t<T> last;
};
template <typename T>
OneByte<T> Between(T& value, std::remove_const_t<T> first, std::remove_const_t<T> last) {
  return {value, first, last};
}
template <typename T>
OneByte<T> UpTo(T& value, std::remove_const_t<T> last) {
  return {value, {}, last};
}
template <typename T>
OneByte<T> AnyByte(T& value) {
  return {value, {}, static_cast<std::remove_const_t<T>>(0xff)};
}

// A text of at most `bytes`: a longer one is cut when it is encoded, and is malformed.
template <typename Text>
struct AtMost {
  AtMost(Text& text, size_t most) : value(text), bytes(most) {}
  Text& value;
  size_t bytes;
};

class FieldWriter {
 public:
  static constexpr bool kIsReader = false;

  void operator()(const auto&... fields) { (Put(fields), ...); }
  void Count(const auto& items, size_t) { writer_.U32(static_cast<uint32_t>(items.size())); }
  void Require(bool) {}
  Bytes Take() { return writer_.Take(); }

 private:
  void Put(bool value) { writer_.U8(value ? 1 : 0); }
  void Put(uint8_t value) { writer_.U8(value); }
  void Put(uint16_t value) { writer_.U16(value); }
  void Put(uint32_t value) { writer_.U32(value); }
  void Put(uint64_t value) { writer_.U64(value); }
  void Put(int value) { writer_.I32(value); }
  void Put(int64_t value) { writer_.I64(value); }
  void Put(Duration value) {
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(value).count();
    writer_.U64(static_cast<uint64_t>(std::max<int64_t>(microseconds, 0)));
  }
  void Put(std::string_view value) { writer_.String(value); }
  void Put(const std::string& value) { writer_.String(value); }
  void Put(ByteView value) { writer_.Blob(value); }
  void Put(const Bytes& value) { writer_.Blob(value); }
  void Put(const Slice& value) { writer_.Blob(value.view()); }
  template <size_t N>
  void Put(const std::array<uint8_t, N>& value) {
    writer_.Raw(value);
  }
  template <typename T>
  void Put(const OneByte<T>& field) {
    writer_.U8(static_cast<uint8_t>(field.value));
  }
  template <typename Text>
  void Put(const AtMost<Text>& field) {
    writer_.String(std::string_view(field.value).substr(0, field.bytes));
  }
  template <typename A, typename B>
  void Put(const std::pair<A, B>& value) {
    (*this)(value.first, value.second);
  }
  template <typename T>
  void Put(const std::vector<T>& items) {
    Count(items, 0);
    for (const T& item : items) Put(item);
  }
  // An enumeration, one byte, or a message. Only OneByte reads an enumeration: its limits are needed.
  template <typename T>
  void Put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      writer_.U8(static_cast<uint8_t>(value));
    } else {
      Fields(*this, value);
    }
  }

  WireWriter writer_;
};

// An empty item takes the fewest bytes.
template <typename T>
size_t ShortestOf() {
  FieldWriter writer;
  writer(T{});
  return writer.Take().size();
}

class FieldReader {
 public:
  static constexpr bool kIsReader = true;

  // `owner`, if any, holds `bytes` and is kept by each Slice.
  explicit FieldReader(ByteView bytes, std::shared_ptr<const Bytes> owner = nullptr)
      : reader_(bytes), owner_(std::move(owner)) {}

  void operator()(auto&&... fields) { (Get(fields), ...); }
  // Makes room for the following number of items, of at least `shortest` bytes each.
  void Count(auto& items, size_t shortest) { items.resize(reader_.Count(shortest)); }
  void Require(bool good) {
    if (!good) reader_.MarkBad();
  }
  void SkipRest() { reader_.Raw(reader_.remaining()); }
  bool ok() const { return reader_.ok(); }
  size_t remaining() const { return reader_.remaining(); }
  Status Finish(std::string_view what) const { return reader_.Finish(what); }

 private:
  void Get(bool& value) {
    const uint8_t byte = reader_.U8();
    Require(byte <= 1);
    value = byte == 1;
  }
  void Get(uint8_t& value) { value = reader_.U8(); }
  void Get(uint16_t& value) { value = reader_.U16(); }
  void Get(uint32_t& value) { value = reader_.U32(); }
  void Get(uint64_t& value) { value = reader_.U64(); }
  void Get(int& value) { value = reader_.I32(); }
  void Get(int64_t& value) { value = reader_.I64(); }
  void Get(Duration& value) {
    constexpr uint64_t kLongest =
        std::chrono::duration_cast<std::chrono::microseconds>(Duration::max()).count();
    value = std::chrono::microseconds(std::min(reader_.U64(), kLongest));
  }
  void Get(std::string& value) { value = reader_.String(); }
  void Get(ByteView& value) { value = reader_.Blob(); }
  void Get(Bytes& value) {
    const ByteView bytes = reader_.Blob();
    value.assign(bytes.begin(), bytes.end());
  }
  void Get(Slice& value) { value = Slice(owner_, reader_.Blob()); }
  template <size_t N>
  void Get(std::array<uint8_t, N>& value) {
    std::ranges::copy(reader_.Raw(N), value.begin());
  }
  template <typename T>
  void Get(OneByte<T>& field) {
    const uint8_t byte = reader_.U8();
    Require(byte >= static_cast<uint8_t>(field.first) && byte <= static_cast<uint8_t>(field.last));
    field.value = static_cast<T>(byte);
  }
  template <typename Text>
  void Get(AtMost<Text>& field) {
    Get(field.value);
    Require(field.value.size() <= field.bytes);
  }
  template <typename A, typename B>
  void Get(std::pair<A, B>& value) {
    (*this)(value.first, value.second);
  }
  template <typename T>
  void Get(std::vector<T>& items) {
    static const size_t shortest = ShortestOf<T>();
    Count(items, shortest);
    for (T& item : items) Get(item);
  }
  template <typename T>
  void Get(T& message) {
    Fields(*this, message);
  }

  WireReader reader_;
  std::shared_ptr<const Bytes> owner_;
};

template <typename... T>
Bytes EncodeFields(const T&... fields) {
  FieldWriter writer;
  writer(fields...);
  return writer.Take();
}

void Fields(auto& wire, Is<Error> auto& error) {
  wire(UpTo(error.code, Code::kWorkFailed), error.message, error.hint);
}

// `what` is for the error, if the bytes are too few, too many or malformed.
template <typename T>
Result<T> DecodeFields(FieldReader& reader, std::string_view what) {
  T message{};
  reader(message);
  MUSTER_CHECK(reader.Finish(what));
  return message;
}
template <typename T>
Result<T> DecodeFields(ByteView bytes, std::string_view what) {
  FieldReader reader(bytes);
  return DecodeFields<T>(reader, what);
}

}  // namespace muster
