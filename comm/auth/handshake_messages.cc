#include "comm/auth/handshake_messages.h"

#include <algorithm>

#include "comm/base/wire.h"

namespace muster::auth {
namespace {

constexpr size_t kHeaderBytes = kHandshakeMagic.size() + 1;
// The client shows it in one line; more would only be a way to fill its log.
constexpr size_t kMaxVerdictText = 1000;

void Header(WireWriter& writer, MessageType type) {
  writer.Raw(AsBytes(kHandshakeMagic));
  writer.U8(static_cast<uint8_t>(type));
}

void VersionAndMethod(WireWriter& writer, uint16_t version, AuthMethod method) {
  writer.U16(version);
  writer.U8(static_cast<uint8_t>(method));
}

template <size_t N>
void ReadInto(WireReader& reader, std::array<uint8_t, N>& out) {
  const ByteView raw = reader.Raw(N);
  std::copy(raw.begin(), raw.end(), out.begin());
}

WireReader ReaderBehindHeader(ByteView message) { return WireReader(message.subspan(kHeaderBytes)); }

// Text from another process may carry anything; a log line must not.
std::string Printable(std::string_view text) {
  std::string printable(text.substr(0, kMaxVerdictText));
  std::replace_if(
      printable.begin(), printable.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return printable;
}

template <typename T>
std::optional<T> IfWhole(const WireReader& reader, T value) {
  if (!reader.ok() || reader.remaining() != 0) return std::nullopt;
  return value;
}

}  // namespace

MeetingId MeetingIdOf(std::string_view meeting_key) {
  const Digest digest = Blake2b({}, {AsBytes("muster meeting"), AsBytes(meeting_key)});
  MeetingId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Bytes Encode(const HelloMessage& hello) {
  WireWriter writer;
  Header(writer, MessageType::kHello);
  VersionAndMethod(writer, hello.version, hello.method);
  writer.Raw(hello.meeting);
  writer.Raw(hello.nonce);
  writer.Raw(hello.public_key);
  if (hello.mac) writer.Raw(*hello.mac);
  return writer.Take();
}

Digest HelloMac(ByteView psk, ByteView hello) {
  const SecretKey key = DeriveKey(psk, {AsBytes("muster hello key")});
  return Blake2b(key.view(),
                 {AsBytes("muster hello"), hello.first(std::min(hello.size(), kHelloBytesBeforeMac))});
}

Bytes Encode(const AnswerMessage& answer) {
  WireWriter writer;
  Header(writer, MessageType::kAnswer);
  VersionAndMethod(writer, answer.version, answer.method);
  writer.Raw(answer.nonce);
  writer.Raw(answer.public_key);
  return writer.Take();
}

Bytes Encode(const RejectMessage& reject) {
  WireWriter writer;
  Header(writer, MessageType::kReject);
  VersionAndMethod(writer, reject.version, reject.method);
  writer.U8(static_cast<uint8_t>(reject.reason));
  return writer.Take();
}

Bytes EncodeSealed(MessageType type, ByteView sealed) {
  WireWriter writer;
  Header(writer, type);
  writer.Raw(sealed);
  return writer.Take();
}

Bytes EncodeVerdict(const VerdictMessage& verdict) {
  WireWriter writer;
  writer.U8(verdict.accepted ? 1 : 0);
  writer.String(verdict.message.substr(0, kMaxVerdictText));
  writer.String(verdict.hint.substr(0, kMaxVerdictText));
  return writer.Take();
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

std::optional<HelloMessage> ParseHello(ByteView message) {
  WireReader reader = ReaderBehindHeader(message);
  HelloMessage hello;
  hello.version = reader.U16();
  hello.method = static_cast<AuthMethod>(reader.U8());
  ReadInto(reader, hello.meeting);
  if (reader.ok() && hello.version != kProtocolVersion) return hello;
  ReadInto(reader, hello.nonce);
  ReadInto(reader, hello.public_key);
  if (hello.method == AuthMethod::kSecret && reader.remaining() > 0) {
    ReadInto(reader, hello.mac.emplace());
  }
  return IfWhole(reader, hello);
}

std::optional<AnswerMessage> ParseAnswer(ByteView message) {
  if (message.size() > kAnswerBytes) message = message.first(kAnswerBytes);
  WireReader reader = ReaderBehindHeader(message);
  AnswerMessage answer;
  answer.version = reader.U16();
  answer.method = static_cast<AuthMethod>(reader.U8());
  if (reader.ok() && answer.version != kProtocolVersion) return answer;
  ReadInto(reader, answer.nonce);
  ReadInto(reader, answer.public_key);
  return IfWhole(reader, answer);
}

std::optional<RejectMessage> ParseReject(ByteView message) {
  WireReader reader = ReaderBehindHeader(message);
  RejectMessage reject;
  reject.version = reader.U16();
  reject.method = static_cast<AuthMethod>(reader.U8());
  reject.reason = static_cast<RejectReason>(reader.U8());
  return IfWhole(reader, reject);
}

ByteView SealedPartOf(ByteView message) { return message.subspan(kHeaderBytes); }

std::optional<VerdictMessage> ParseVerdict(ByteView opened) {
  WireReader reader(opened);
  VerdictMessage verdict;
  verdict.accepted = reader.U8() == 1;
  verdict.message = Printable(reader.String());
  verdict.hint = Printable(reader.String());
  return IfWhole(reader, verdict);
}

std::string_view MessageTypeName(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return "hello";
    case MessageType::kAnswer:
      return "answer";
    case MessageType::kReject:
      return "reject";
    case MessageType::kProof:
      return "proof";
    case MessageType::kVerdict:
      return "verdict";
  }
  return "unknown";
}

}  // namespace muster::auth
