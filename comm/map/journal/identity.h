// The identity of a map: its items and their processing. A journal is for one identity, and all ranks of a
// map have the same.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/bytes.h"

namespace muster::map {

using Digest = std::array<uint8_t, 32>;

struct Identity {
  uint64_t items = 0;
  Digest keys{};        // of all keys, in the order of the items (KeyDigest)
  Digest work{};        // of the processing of an item (DigestOf a command, a function's name)
  std::string subject;  // the same for users: "python eval.py {model}"; not compared

  friend bool operator==(const Identity& a, const Identity& b) {
    return a.items == b.items && a.keys == b.keys && a.work == b.work;
  }
};

// BLAKE2b-256 (RFC 7693), as libsodium's crypto_generichash.
Digest DigestOf(ByteView bytes);

// The digest of a sequence of keys: of each key's length (u64, little-endian) and bytes.
class KeyDigest {
 public:
  KeyDigest();
  ~KeyDigest();
  KeyDigest(const KeyDigest&) = delete;
  KeyDigest& operator=(const KeyDigest&) = delete;

  void Add(std::string_view key);
  Digest Finish();  // once

 private:
  struct State;
  State* state_;
};

// The first eight bytes in hexadecimal: enough for users to distinguish two.
std::string ShortName(const Digest& digest);

}  // namespace muster::map
