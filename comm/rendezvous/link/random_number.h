// A random number: spreads processes that would act in step, and identifies one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "comm/auth/crypto.h"

namespace muster::rendezvous {

inline uint64_t RandomNumber() {
  std::array<uint8_t, sizeof(uint64_t)> random{};
  auth::RandomBytes(random);
  return std::bit_cast<uint64_t>(random);
}

}  // namespace muster::rendezvous
