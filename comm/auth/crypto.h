// The part of libsodium that muster uses, and the only code that depends on it. Each function names its
// algorithm; none blocks (the random source is the kernel's getrandom). Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::auth {

// To be called before X25519 and ChaCha20 are used; again costs next to nothing. Error: kInternal.
Status CryptoReady();

void WipeMemory(std::span<uint8_t> memory);

// 32 secret bytes, wiped on destruction.
class SecretKey {
 public:
  static constexpr size_t kBytes = 32;

  SecretKey() = default;
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey() { WipeMemory(bytes_); }

  ByteView view() const { return bytes_; }
  std::span<uint8_t, kBytes> mutable_view() { return bytes_; }

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

using Digest = std::array<uint8_t, 32>;
using PublicKey = std::array<uint8_t, 32>;

// For keys as well as for nonces.
void RandomBytes(std::span<uint8_t> out);

// X25519 (RFC 7748), for one handshake.
struct KeyPair {
  SecretKey secret;
  PublicKey public_key{};
};
KeyPair MakeKeyPair();
// Absent if `peer` is a point that makes the result independent of our secret.
std::optional<SecretKey> AgreeOnKey(const SecretKey& secret, const PublicKey& peer);

// BLAKE2b with 32 bytes of output over the parts, each behind its length, so that two different lists of
// parts differ. The first part names the use ("muster ..."). `key` has 0 to 64 bytes.
Digest Blake2b(ByteView key, std::initializer_list<ByteView> parts);
SecretKey DeriveKey(ByteView key, std::initializer_list<ByteView> parts);

// ChaCha20-Poly1305 (RFC 8439). A counter is used once with a key.
Bytes AeadSeal(const SecretKey& key, uint64_t counter, ByteView plaintext);
std::optional<Bytes> AeadOpen(const SecretKey& key, uint64_t counter, ByteView sealed);

// The growth of a message by sealing; the same for both ciphers.
inline constexpr size_t kSealOverhead = 16;

enum class Cipher : uint8_t {
  kChaCha20Poly1305 = 1,  // RFC 8439
  kAes256Gcm = 2,         // NIST SP 800-38D; only if HasAesInstructions
};

// True if this processor has instructions for AES-256-GCM. After CryptoReady.
bool HasAesInstructions();

// A key prepared for many messages, sealed from and opened into the caller's memory (sealed and plaintext may
// be the same). A counter is used once with a key. Const functions may run on several threads.
class AeadKey {
 public:
  AeadKey(Cipher cipher, const SecretKey& key);
  AeadKey(const AeadKey&) = delete;
  AeadKey& operator=(const AeadKey&) = delete;
  ~AeadKey();

  // Writes plaintext.size() + kSealOverhead bytes.
  void Seal(uint64_t counter, ByteView plaintext, uint8_t* sealed) const;
  // Writes sealed.size() - kSealOverhead bytes; after false they are undefined.
  [[nodiscard]] bool Open(uint64_t counter, ByteView sealed, uint8_t* plaintext) const;

 private:
  Cipher cipher_;
  SecretKey key_;                                    // kChaCha20Poly1305
  alignas(16) std::array<uint8_t, 512> schedule_{};  // kAes256Gcm
};

// In a time that does not depend on the position of a difference. False for different lengths.
bool EqualInConstantTime(ByteView a, ByteView b);

}  // namespace muster::auth
