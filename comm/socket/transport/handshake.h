// Proves a fresh data connection, on a non-blocking descriptor. Four messages of fixed length:
//
//   connector -> acceptor   u32 magic, i32 connector, i32 acceptor, u8 purpose, u64 communicator,
//                           u8 ciphers, 32 B nonce
//   acceptor  -> connector  u8 cipher, 32 B nonce, 32 B answer
//   connector -> acceptor   32 B answer
//   acceptor  -> connector  u8 1: taken
//
// The answers are member_proof.h's, with purpose, communicator and both fields of ciphers bound in: a change
// to any of them makes an answer wrong. `ciphers`: those that the connector supports; `cipher`: the
// acceptor's choice among them. Both are 0 if the connection stays plain (rendezvous.protect: control, and
// any Unix socket).
//
// The reason for the last byte: the acceptor may time out while the third message travels. Until the byte has
// come the connector may try another address; after it both sides have the connection. Nothing is read beyond
// a message, so frames may follow immediately.
//
// Threads: one at a time. Nothing here blocks or owns the descriptor.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "comm/auth/data_seal.h"
#include "comm/auth/member_proof.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/socket/transport/proven_link.h"

namespace muster::socket {

enum class Purpose : uint8_t {
  kCollective = 1,
  kPointToPoint = 2,
  kInquiry = 3,  // inquiry.h
};

// The purpose of a connection; a rank has at most one of each, except inquiries.
struct LinkKey {
  uint64_t communicator = 0;
  Purpose purpose = Purpose::kCollective;
  int peer = 0;  // rank in the whole group

  friend auto operator<=>(const LinkKey&,
                          const LinkKey&) = default;  // NOLINT(modernize-use-nullptr): LLVM 14
};

// This rank as a member of the group.
struct GroupMember {
  int rank = 0;
  int size = 0;
  GroupKey key{};
  std::string group_id;
  auth::CipherSet ciphers = 0;  // ciphers for connections between nodes; 0: they stay plain
};

// The result of one step.
enum class Shake {
  kPending,
  kDone,
  kClosed,    // the other end closed or the connection broke; error_number() has the cause (0: closed)
  kRejected,  // the other end is not the expected one; reason() has the cause
};

// Reads or writes messages of fixed length without blocking.
class FixedMessages {
 public:
  // Fills `into` over any number of calls.
  Shake Read(int fd, std::span<uint8_t> into);
  // Small messages on a fresh connection always fit into the kernel's buffer.
  Shake Write(int fd, ByteView message);
  size_t got() const { return got_; }
  int error_number() const { return error_number_; }

 private:
  Shake Broken(int error_number);
  size_t got_ = 0;
  int error_number_ = 0;
};

inline constexpr size_t kHelloBytes = 54;
inline constexpr size_t kReplyBytes = 65;

class ConnectorHandshake {
 public:
  // `ciphers`: for sealing the connection; 0: it stays plain, as every Unix socket does.
  ConnectorHandshake(const GroupMember& self, const LinkKey& key, auth::CipherSet ciphers = 0);

  // Sends the hello; the descriptor is connected.
  Shake Start(int fd);
  // Until the acceptor has proven to be the peer. The next step waits for Prove, so that of several
  // connections to one peer exactly one is used.
  Shake ReadReply(int fd);
  Shake Prove(int fd);
  // Until the acceptor has taken the connection.
  Shake ReadTaken(int fd);
  // After that: the keys that seal it.
  std::optional<auth::DataKeys> Keys() const;

  int error_number() const { return messages_.error_number(); }
  const std::string& reason() const { return reason_; }

 private:
  Shake Reject(std::string reason);
  bool Choose(uint8_t cipher);

  const GroupMember self_;
  LinkKey key_;
  const auth::CipherSet offered_;
  std::optional<auth::Cipher> cipher_;
  auth::MemberContext context_;
  auth::Challenge mine_{};
  auth::Challenge theirs_{};
  std::array<uint8_t, kReplyBytes> reply_{};
  std::array<uint8_t, 1> taken_{};
  FixedMessages messages_;
  std::string reason_;
};

class AcceptorHandshake {
 public:
  // `self` outlives it. `ciphers`: as the connector's.
  explicit AcceptorHandshake(const GroupMember& self, auth::CipherSet ciphers = 0)
      : self_(self), ciphers_(ciphers) {}

  // Goes on as far as the bytes that have arrived allow. kDone: proven, but Take has still to be called.
  Shake Advance(int fd);
  Shake Take(int fd);

  // Valid after kDone.
  const LinkKey& key() const { return key_; }
  std::optional<auth::DataKeys> Keys() const;
  // A well-formed hello of this group's size has come: perhaps a peer that timed out, not a foreign client.
  bool greeted() const { return greeted_; }
  const std::string& reason() const { return reason_; }

 private:
  Shake ReadHello(int fd);
  Shake Reply(int fd);
  Shake Reject(std::string reason);

  const GroupMember& self_;
  const auth::CipherSet ciphers_;
  bool greeted_ = false;
  LinkKey key_;
  auth::CipherSet offered_ = 0;
  std::optional<auth::Cipher> cipher_;
  auth::MemberContext context_;
  auth::Challenge mine_{};
  auth::Challenge theirs_{};
  std::array<uint8_t, kHelloBytes> hello_{};
  std::array<uint8_t, 32> answer_{};
  FixedMessages messages_;
  std::string reason_;
};

}  // namespace muster::socket
