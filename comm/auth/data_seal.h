// Seals a data connection after its handshake (rendezvous.protect: all): separate keys for each connection
// and direction, and records under them. A record is ciphertext and tag; its number in its direction is the
// nonce. So a record that is changed, repeated, left out, moved or sent back does not open.
//
// Threads: one for each object. Nothing here blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/auth/crypto.h"
#include "comm/auth/member_proof.h"
#include "comm/base/bytes.h"

namespace muster::auth {

// The values on which both ends of a connection have agreed, on one of them.
struct DataKeys {
  Cipher cipher = Cipher::kChaCha20Poly1305;
  SecretKey outgoing;
  SecretKey incoming;
};

// From the group key and all that the handshake has proven: MemberContext selects the connection, the nonces
// this instance of it.
DataKeys DeriveDataKeys(const MemberContext& context, MemberSide own, Cipher cipher,
                        const Challenge& connector, const Challenge& acceptor);

// A set of ciphers: the bits are the values of Cipher.
using CipherSet = uint8_t;
// The ciphers that this processor supports. After CryptoReady.
CipherSet OwnCiphers();
// AES-256-GCM if both have it, else ChaCha20-Poly1305; absent without a common one.
std::optional<Cipher> ChooseCipher(CipherSet one, CipherSet other);

// Number of records that are sealed with one key (256 GiB in the longest ones); the next key is derived from
// it. Well within the limits of AES-GCM.
inline constexpr uint64_t kRecordsPerKey = uint64_t{1} << 22;

// The numbers and keys of one direction, in the same sequence at both ends.
class RecordKeys {
 public:
  RecordKeys(Cipher cipher, const SecretKey& key, uint64_t records_per_key);
  RecordKeys(const RecordKeys& other);
  RecordKeys& operator=(const RecordKeys&) = delete;

  const AeadKey& key() const { return *prepared_; }
  uint64_t number() const { return number_; }
  void Next();

 private:
  const Cipher cipher_;
  const uint64_t records_per_key_;
  SecretKey key_;
  std::optional<AeadKey> prepared_;
  uint64_t number_ = 0;
};

class RecordSealer {
 public:
  RecordSealer(Cipher cipher, const SecretKey& key, uint64_t records_per_key = kRecordsPerKey)
      : keys_(cipher, key, records_per_key) {}

  // Writes plaintext.size() + kSealOverhead bytes.
  void Seal(ByteView plaintext, uint8_t* record);

 private:
  RecordKeys keys_;
};

// A copy goes on by itself, to look at records that this one opens later.
class RecordOpener {
 public:
  RecordOpener(Cipher cipher, const SecretKey& key, uint64_t records_per_key = kRecordsPerKey)
      : keys_(cipher, key, records_per_key) {}

  // The records must come in the order they were sealed in. Writes record.size() - kSealOverhead bytes. After
  // false every call fails: the connection is unusable. `plaintext` may be `record`.
  [[nodiscard]] bool Open(ByteView record, uint8_t* plaintext);

 private:
  RecordKeys keys_;
  bool broken_ = false;
};

}  // namespace muster::auth
