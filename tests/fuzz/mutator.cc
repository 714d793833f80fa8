#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::fuzz {
namespace {

constexpr size_t kLongest = size_t{64} << 10;

// Bounds of integer types, lengths and counts, and what stands just beyond them.
constexpr std::array<uint64_t, 14> kEdges = {0,          1,          2,           0x7f,    0x80,
                                             0xff,       0x7fff,     0xffff,      0x10000, 0x7fffffff,
                                             0x80000000, 0xffffffff, 0x100000000, ~0ULL};
constexpr std::array<uint8_t, 12> kBytes = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', ',', '=', '-', '0', '9'};

}  // namespace

Mutator::Mutator(uint32_t random_seed, std::vector<Bytes> inputs, std::vector<std::string> words)
    : random_(random_seed), inputs_(std::move(inputs)), words_(std::move(words)) {}

Bytes Mutator::Next() {
  const ByteView input = AnyInput();
  Bytes bytes(input.begin(), input.end());
  for (size_t changes = size_t{1} << Below(5); changes > 0; --changes) Change(bytes);
  if (bytes.size() > kLongest) bytes.resize(kLongest);
  return bytes;
}

void Mutator::Change(Bytes& bytes) {
  switch (Below(words_.empty() ? 7 : 9)) {
    case 0:
    case 1:
      return SetByte(bytes);
    case 2:
      return Cut(bytes);
    case 3:
      return Insert(bytes, Piece(bytes));
    case 4:
      return Insert(bytes, Piece(AnyInput()));
    case 5:
      return Overwrite(bytes, Integer());
    case 6:
      return Overwrite(bytes, Piece(AnyInput()));
    case 7:
      return Insert(bytes, AsBytes(words_[Below(words_.size())]));
    default:
      return Overwrite(bytes, AsBytes(words_[Below(words_.size())]));
  }
}

void Mutator::SetByte(Bytes& bytes) {
  if (bytes.empty()) return;
  uint8_t& byte = bytes[Below(bytes.size())];
  switch (Below(3)) {
    case 0:
      byte = static_cast<uint8_t>(byte ^ (1U << Below(8)));
      return;
    case 1:
      byte = kBytes[Below(kBytes.size())];
      return;
    default:
      byte = static_cast<uint8_t>(random_());
  }
}

void Mutator::Insert(Bytes& bytes, ByteView what) {
  const auto at = static_cast<ptrdiff_t>(Below(bytes.size() + 1));
  bytes.insert(bytes.begin() + at, what.begin(), what.end());
}

void Mutator::Overwrite(Bytes& bytes, ByteView what) {
  if (bytes.empty()) return;
  const size_t at = Below(bytes.size());
  std::copy_n(what.begin(), std::min(what.size(), bytes.size() - at),
              bytes.begin() + static_cast<ptrdiff_t>(at));
}

void Mutator::Cut(Bytes& bytes) {
  if (bytes.empty()) return;
  const size_t at = Below(bytes.size());
  const size_t count = 1 + Below(std::min<size_t>(bytes.size() - at, 32));
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
  bytes.erase(begin, begin + static_cast<ptrdiff_t>(count));
}

Bytes Mutator::Piece(ByteView bytes) {
  if (bytes.empty()) return {};
  const size_t at = Below(bytes.size());
  const ByteView piece = bytes.subspan(at, 1 + Below(std::min<size_t>(bytes.size() - at, 64)));
  return {piece.begin(), piece.end()};
}

Bytes Mutator::Integer() {
  const uint64_t value = kEdges[Below(kEdges.size())];
  Bytes bytes(size_t{1} << Below(4));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  return bytes;
}

}  // namespace muster::fuzz
