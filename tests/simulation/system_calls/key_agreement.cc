// X25519 is a third of what a handshake costs. Most seeds have a cheap agreement with its property: two ends that have exchanged
// their public keys have one secret. It hides nothing.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/simulation/machine/random.h"
#include "tests/simulation/system_calls/system_call.h"

using namespace muster::simulation;

namespace {

using Words = std::array<uint64_t, 4>;
constexpr Words kBasePoint = {9, 0, 0, 0};

bool IsReal() { return World::Caller() == nullptr || World::Running()->machines().real_key_agreement; }

Words WordsOf(const unsigned char* bytes) {
  Words words{};
  std::memcpy(words.data(), bytes, sizeof words);
  return words;
}

// One value for (a, b) and (b, a).
Words Mix(const Words& a, const Words& b) {
  uint64_t all = 0;
  for (size_t i = 0; i < a.size(); ++i) all = Random(all ^ Random(a[i] ^ b[i]).Next() ^ (a[i] + b[i])).Next();
  Random sequence(all);
  Words mixed{};
  std::ranges::generate(mixed, [&] { return sequence.Next(); });
  return mixed;
}

}  // namespace

extern "C" {

int __real_crypto_scalarmult_base(unsigned char*, const unsigned char*);
int __wrap_crypto_scalarmult_base(unsigned char* point, const unsigned char* secret) {
  if (IsReal()) return __real_crypto_scalarmult_base(point, secret);
  const Words words = Mix(WordsOf(secret), kBasePoint);
  std::memcpy(point, words.data(), sizeof words);
  return 0;
}

int __real_crypto_scalarmult(unsigned char*, const unsigned char*, const unsigned char*);
int __wrap_crypto_scalarmult(unsigned char* shared, const unsigned char* secret, const unsigned char* point) {
  if (IsReal()) return __real_crypto_scalarmult(shared, secret, point);
  const Words peer = WordsOf(point);
  if (peer == Words{}) return -1;  // as of any point of small order
  const Words words = Mix(Mix(WordsOf(secret), kBasePoint), peer);
  std::memcpy(shared, words.data(), sizeof words);
  return 0;
}

}  // extern "C"
