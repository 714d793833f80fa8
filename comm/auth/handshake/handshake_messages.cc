#include "comm/auth/handshake/handshake_messages.h"

#include <algorithm>

#include "comm/base/fields.h"

namespace muster::auth {
namespace {

constexpr size_t kHeaderBytes = kHandshakeMagic.size() + 1;
// The client shows it in one line; more could only fill its log.
constexpr size_t kMaxVerdictText = 1000;

std::array<uint8_t, kHeaderBytes> HeaderOf(MessageType type) {
  std::array<uint8_t, kHeaderBytes> header{};
  std::ranges::copy(kHandshakeMagic, header.begin());
  header.back() = static_cast<uint8_t>(type);
  return header;
}

// Text from another process may carry anything; a log line must not.
std::string Printable(std::string_view text) {
  std::string printable(text.substr(0, kMaxVerdictText));
  std::replace_if(
      printable.begin(), printable.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return printable;
}

template <typename... T>
bool ReadWhole(ByteView bytes, T&... fields) {
  FieldReader reader(bytes);
  reader(fields...);
  return reader.ok() && reader.remaining() == 0;
}

template <typename T>
std::optional<T> ParseBody(ByteView message) {
  T body;
  return ReadWhole(message.subspan(kHeaderBytes), body) ? std::optional(body) : std::nullopt;
}

}  // namespace

void Fields(auto& wire, Is<HelloMessage> auto& hello) {
  wire(hello.version, AnyByte(hello.method), hello.meeting);
  if constexpr (kReads<decltype(wire)>) {
    if (hello.version != kProtocolVersion) return wire.SkipRest();
  }
  wire(hello.nonce, hello.public_key);
  if constexpr (kReads<decltype(wire)>) {
    if (hello.method != AuthMethod::kNone && wire.remaining() > 0) hello.mac.emplace();
  }
  if (hello.mac) wire(*hello.mac);
}

void Fields(auto& wire, Is<AnswerMessage> auto& answer) {
  wire(answer.version, AnyByte(answer.method));
  if constexpr (kReads<decltype(wire)>) {
    if (answer.version != kProtocolVersion) return wire.SkipRest();
  }
  wire(answer.nonce, answer.public_key);
}

void Fields(auto& wire, Is<RejectMessage> auto& reject) {
  wire(reject.version, AnyByte(reject.method), AnyByte(reject.reason));
}

MeetingId MeetingIdOf(std::string_view meeting_key) {
  const Digest digest = Blake2b({}, {AsBytes("muster meeting"), AsBytes(meeting_key)});
  MeetingId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Bytes Encode(const HelloMessage& hello) { return EncodeFields(HeaderOf(MessageType::kHello), hello); }

Digest HelloMac(ByteView psk, ByteView hello) {
  const SecretKey key = DeriveKey(psk, {AsBytes("muster hello key")});
  return Blake2b(key.view(),
                 {AsBytes("muster hello"), hello.first(std::min(hello.size(), kHelloBytesBeforeMac))});
}

Bytes Encode(const AnswerMessage& answer) { return EncodeFields(HeaderOf(MessageType::kAnswer), answer); }

Bytes Encode(const RejectMessage& reject) { return EncodeFields(HeaderOf(MessageType::kReject), reject); }

Bytes EncodeSealed(MessageType type, ByteView sealed) {
  Bytes message = EncodeFields(HeaderOf(type));
  message.insert(message.end(), sealed.begin(), sealed.end());
  return message;
}

Bytes EncodeVerdict(const VerdictMessage& verdict) {
  return EncodeFields(verdict.accepted, AtMost(verdict.message, kMaxVerdictText),
                      AtMost(verdict.hint, kMaxVerdictText));
}

std::optional<MessageType> TypeOf(ByteView message) {
  if (message.size() < kHeaderBytes) return std::nullopt;
  if (AsText(message.first(kHandshakeMagic.size())) != kHandshakeMagic) return std::nullopt;
  const uint8_t type = message[kHandshakeMagic.size()];
  if (type < static_cast<uint8_t>(MessageType::kHello) ||
      type > static_cast<uint8_t>(MessageType::kVerdict)) {
    return std::nullopt;
  }
  return static_cast<MessageType>(type);
}

std::optional<HelloMessage> ParseHello(ByteView message) { return ParseBody<HelloMessage>(message); }

std::optional<AnswerMessage> ParseAnswer(ByteView message) {
  return ParseBody<AnswerMessage>(message.first(std::min(message.size(), kAnswerBytes)));
}

std::optional<RejectMessage> ParseReject(ByteView message) { return ParseBody<RejectMessage>(message); }

ByteView SealedPartOf(ByteView message) { return message.subspan(kHeaderBytes); }

std::optional<VerdictMessage> ParseVerdict(ByteView opened) {
  uint8_t accepted = 0;
  std::string message;
  std::string hint;
  if (!ReadWhole(opened, accepted, message, hint)) return std::nullopt;
  return VerdictMessage{accepted == 1, Printable(message), Printable(hint)};
}

std::string_view MessageTypeName(MessageType type) {
  constexpr std::array<std::string_view, 6> kNames = {"", "hello", "answer", "reject", "proof", "verdict"};
  return kNames.at(static_cast<size_t>(type));
}

}  // namespace muster::auth
