// The messages of the handshake as bytes; README.md shows their directions. Every one begins with the magic
// and its type. The layout up to and including the meeting is the same in all protocol versions, so that
// versions can recognise each other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/auth/crypto.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::auth {

inline constexpr std::string_view kHandshakeMagic = "MUSTER";
inline constexpr uint16_t kProtocolVersion = 7;

// Distinguishes the processes of one launch from all others. Not secret: it goes over the wire in clear.
using MeetingId = std::array<uint8_t, 16>;
MeetingId MeetingIdOf(std::string_view meeting_key);

using HandshakeNonce = std::array<uint8_t, 32>;

enum class MessageType : uint8_t { kHello = 1, kAnswer = 2, kReject = 3, kProof = 4, kVerdict = 5 };

enum class RejectReason : uint8_t {
  kWrongMeeting = 1,
  kOtherVersion = 2,
  kOtherMethod = 3,
  kBadProof = 4,  // the message does not prove the sender's identity
  kNoProof = 5,   // the sender cannot make its own proof
  kMalformed = 6,
  kOtherClock = 7,  // as kBadProof, because the two clocks differ
};

// Client to server. Of another version only version, method and meeting are read.
struct HelloMessage {
  uint16_t version = kProtocolVersion;
  AuthMethod method = AuthMethod::kNone;
  MeetingId meeting{};
  HandshakeNonce nonce{};
  PublicKey public_key{};
  std::optional<Digest> mac = {};  // where there is a job secret: HelloMac
};
inline constexpr size_t kHelloBytesBeforeMac = 6 + 1 + 2 + 1 + 16 + 32 + 32;

// Server to client, with the sealed proof behind it. Of another version only version and method are read.
struct AnswerMessage {
  uint16_t version = kProtocolVersion;
  AuthMethod method = AuthMethod::kNone;
  HandshakeNonce nonce{};
  PublicKey public_key{};
};
inline constexpr size_t kAnswerBytes = 6 + 1 + 2 + 1 + 32 + 32;

// Either way, in clear: it proves nothing.
struct RejectMessage {
  uint16_t version = kProtocolVersion;
  AuthMethod method = AuthMethod::kNone;
  RejectReason reason = RejectReason::kMalformed;
};

// Server to client, sealed: accepted, or refused with the server's reason.
struct VerdictMessage {
  bool accepted = false;
  std::string message;
  std::string hint;
};

Bytes Encode(const HelloMessage& hello);
// The end of a hello if a secret exists: over all bytes before it. `psk` is the prover's. With it the server
// rejects a peer without the secret before any public-key arithmetic.
Digest HelloMac(ByteView psk, ByteView hello);
Bytes Encode(const AnswerMessage& answer);
Bytes Encode(const RejectMessage& reject);
Bytes EncodeSealed(MessageType type, ByteView sealed);  // kProof, kVerdict
Bytes EncodeVerdict(const VerdictMessage& verdict);     // before sealing

// Absent: not a message of muster's.
std::optional<MessageType> TypeOf(ByteView message);
// For a message whose TypeOf is known. Absent: malformed.
std::optional<HelloMessage> ParseHello(ByteView message);
std::optional<AnswerMessage> ParseAnswer(ByteView message);
std::optional<RejectMessage> ParseReject(ByteView message);
ByteView SealedPartOf(ByteView message);  // of kProof and kVerdict
std::optional<VerdictMessage> ParseVerdict(ByteView opened);

// "hello", "answer", ...
std::string_view MessageTypeName(MessageType type);

}  // namespace muster::auth
