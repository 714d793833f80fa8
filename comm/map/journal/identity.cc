#include "comm/map/journal/identity.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <span>

namespace muster::map {

struct KeyDigest::State {
  crypto_generichash_state hash;
};

Digest DigestOf(ByteView bytes) {
  Digest digest{};
  crypto_generichash(digest.data(), digest.size(), bytes.data(), bytes.size(), nullptr, 0);
  return digest;
}

KeyDigest::KeyDigest() : state_(new State) {
  crypto_generichash_init(&state_->hash, nullptr, 0, std::tuple_size_v<Digest>);
}

KeyDigest::~KeyDigest() { delete state_; }

void KeyDigest::Add(std::string_view key) {
  std::array<uint8_t, 8> length{};
  for (size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<uint8_t>(uint64_t{key.size()} >> (8 * i));
  crypto_generichash_update(&state_->hash, length.data(), length.size());
  crypto_generichash_update(&state_->hash, AsBytes(key).data(), key.size());
}

Digest KeyDigest::Finish() {
  Digest digest{};
  crypto_generichash_final(&state_->hash, digest.data(), digest.size());
  return digest;
}

std::string ShortName(const Digest& digest) {
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(8), ""));
}

}  // namespace muster::map
