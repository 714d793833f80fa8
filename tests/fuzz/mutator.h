// Deterministic changes of inputs, for runs that must be the same everywhere.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "comm/base/bytes.h"

namespace muster::fuzz {

class Mutator {
 public:
  // `inputs` must not be empty.
  Mutator(uint32_t random_seed, std::vector<Bytes> inputs, std::vector<std::string> words);

  // One of the inputs with a few changes.
  Bytes Next();

 private:
  size_t Below(size_t count) { return random_() % count; }
  ByteView AnyInput() { return inputs_[Below(inputs_.size())]; }
  void Change(Bytes& bytes);
  void SetByte(Bytes& bytes);
  void Insert(Bytes& bytes, ByteView what);
  void Overwrite(Bytes& bytes, ByteView what);
  void Cut(Bytes& bytes);
  Bytes Piece(ByteView bytes);
  Bytes Integer();

  std::mt19937 random_;
  std::vector<Bytes> inputs_;
  std::vector<std::string> words_;
};

}  // namespace muster::fuzz
