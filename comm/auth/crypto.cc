#include "comm/auth/crypto.h"

#include <sodium.h>

#include <cerrno>

#include "comm/system/system_calls.h"

namespace muster::auth {
namespace {

constexpr size_t kTagBytes = crypto_aead_chacha20poly1305_ietf_ABYTES;
using Nonce = std::array<uint8_t, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

static_assert(SecretKey::kBytes == crypto_aead_chacha20poly1305_ietf_KEYBYTES);
static_assert(SecretKey::kBytes == crypto_scalarmult_SCALARBYTES);
static_assert(sizeof(PublicKey) == crypto_scalarmult_BYTES);
static_assert(kSealOverhead == kTagBytes && kSealOverhead == crypto_aead_aes256gcm_ABYTES);
static_assert(SecretKey::kBytes == crypto_aead_aes256gcm_KEYBYTES);
static_assert(std::tuple_size_v<Nonce> == crypto_aead_aes256gcm_NPUBBYTES);
using AesState = crypto_aead_aes256gcm_state;

void AddInteger(crypto_generichash_state& state, uint64_t value) {
  std::array<uint8_t, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  crypto_generichash_update(&state, bytes.data(), bytes.size());
}

void HashInto(std::span<uint8_t, 32> out, ByteView key, std::initializer_list<ByteView> parts) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), out.size());
  for (const ByteView part : parts) {
    AddInteger(state, part.size());
    crypto_generichash_update(&state, part.data(), part.size());
  }
  crypto_generichash_final(&state, out.data(), out.size());
  sodium_memzero(&state, sizeof state);
}

Nonce NonceOf(uint64_t counter) {
  Nonce nonce{};
  for (size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<uint8_t>(counter >> (8 * i));
  return nonce;
}

}  // namespace

Status CryptoReady() {
  // Returns 1 when it was ready already; takes its own lock.
  if (sodium_init() < 0)
    return Fail(Code::kInternal, "libsodium cannot be initialised: no source of randomness");
  return {};
}

void WipeMemory(std::span<uint8_t> memory) { sodium_memzero(memory.data(), memory.size()); }

// libsodium's function makes the same call, but its initialisation first detects the processor's features:
// 0.1 ms in a virtual machine, which every rank of 2048 would pay for its nonces.
void RandomBytes(std::span<uint8_t> out) {
  while (!out.empty()) {
    const ssize_t count = GetRandom(out.data(), out.size());
    if (count > 0) {
      out = out.subspan(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return randombytes_buf(out.data(), out.size());
    }
  }
}

KeyPair MakeKeyPair() {
  KeyPair pair;
  RandomBytes(pair.secret.mutable_view());
  crypto_scalarmult_base(pair.public_key.data(), pair.secret.view().data());
  return pair;
}

std::optional<SecretKey> AgreeOnKey(const SecretKey& secret, const PublicKey& peer) {
  SecretKey shared;
  if (crypto_scalarmult(shared.mutable_view().data(), secret.view().data(), peer.data()) != 0)
    return std::nullopt;
  return shared;
}

Digest Blake2b(ByteView key, std::initializer_list<ByteView> parts) {
  Digest digest{};
  HashInto(digest, key, parts);
  return digest;
}

SecretKey DeriveKey(ByteView key, std::initializer_list<ByteView> parts) {
  SecretKey derived;
  HashInto(derived.mutable_view(), key, parts);
  return derived;
}

Bytes AeadSeal(const SecretKey& key, uint64_t counter, ByteView plaintext) {
  Bytes sealed(plaintext.size() + kTagBytes);
  crypto_aead_chacha20poly1305_ietf_encrypt(sealed.data(), nullptr, plaintext.data(), plaintext.size(),
                                            nullptr, 0, nullptr, NonceOf(counter).data(), key.view().data());
  return sealed;
}

std::optional<Bytes> AeadOpen(const SecretKey& key, uint64_t counter, ByteView sealed) {
  if (sealed.size() < kTagBytes) return std::nullopt;
  Bytes plaintext(sealed.size() - kTagBytes);
  if (crypto_aead_chacha20poly1305_ietf_decrypt(plaintext.data(), nullptr, nullptr, sealed.data(),
                                                sealed.size(), nullptr, 0, NonceOf(counter).data(),
                                                key.view().data()) != 0) {
    return std::nullopt;
  }
  return plaintext;
}

bool HasAesInstructions() { return crypto_aead_aes256gcm_is_available() == 1; }

AeadKey::AeadKey(Cipher cipher, const SecretKey& key) : cipher_(cipher), key_(key) {
  static_assert(sizeof(AesState) == sizeof schedule_ && alignof(AesState) <= 16);
  if (cipher_ == Cipher::kAes256Gcm) {
    crypto_aead_aes256gcm_beforenm(reinterpret_cast<AesState*>(schedule_.data()), key.view().data());
  }
}

AeadKey::~AeadKey() { WipeMemory(schedule_); }

void AeadKey::Seal(uint64_t counter, ByteView plaintext, uint8_t* sealed) const {
  const Nonce nonce = NonceOf(counter);
  if (cipher_ == Cipher::kAes256Gcm) {
    crypto_aead_aes256gcm_encrypt_afternm(sealed, nullptr, plaintext.data(), plaintext.size(), nullptr, 0,
                                          nullptr, nonce.data(),
                                          reinterpret_cast<const AesState*>(schedule_.data()));
    return;
  }
  crypto_aead_chacha20poly1305_ietf_encrypt(sealed, nullptr, plaintext.data(), plaintext.size(), nullptr, 0,
                                            nullptr, nonce.data(), key_.view().data());
}

bool AeadKey::Open(uint64_t counter, ByteView sealed, uint8_t* plaintext) const {
  if (sealed.size() < kSealOverhead) return false;
  const Nonce nonce = NonceOf(counter);
  if (cipher_ == Cipher::kAes256Gcm) {
    return crypto_aead_aes256gcm_decrypt_afternm(plaintext, nullptr, nullptr, sealed.data(), sealed.size(),
                                                 nullptr, 0, nonce.data(),
                                                 reinterpret_cast<const AesState*>(schedule_.data())) == 0;
  }
  return crypto_aead_chacha20poly1305_ietf_decrypt(plaintext, nullptr, nullptr, sealed.data(), sealed.size(),
                                                   nullptr, 0, nonce.data(), key_.view().data()) == 0;
}

bool EqualInConstantTime(ByteView a, ByteView b) {
  // An empty span may carry a null pointer, which sodium_memcmp must not get.
  return a.size() == b.size() && (a.empty() || sodium_memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace muster::auth
