// Sealed messages that were lost, repeated, swapped or changed on the way: only the very next one opens, and
// after the first that does not, none opens.
#include "comm/auth/sealed_channel.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

void FuzzOne(ByteView input) {
  ValueSource source(input);
  auth::SecretKey key;
  key.mutable_view()[0] = 7;
  auth::Sealer sealer(key);
  auth::Opener opener(key, "peer");
  std::vector<Bytes> plain;
  std::vector<Bytes> sealed;
  size_t next = 0;
  bool broken = false;
  while (!source.empty()) {
    if (sealed.empty() || source.Flag()) {
      const ByteView message = source.Blob();
      plain.emplace_back(message.begin(), message.end());
      sealed.push_back(sealer.Seal(message));
      Require(sealed.back().size() == message.size() + auth::kSealOverhead, "the overhead is constant");
      continue;
    }
    // Two of three times the next one: a broken channel teaches nothing more.
    size_t chosen = source.Below(3) > 0 ? next : source.Below(sealed.size());
    if (chosen >= sealed.size()) continue;
    Bytes message = sealed[chosen];
    if (source.Byte() > 240) {
      uint8_t& byte = message[source.Byte() % message.size()];
      byte = static_cast<uint8_t>(byte ^ (1U << source.Below(8)));
    }
    if (source.Byte() > 250) message.resize(source.Byte() % message.size());
    const bool intact = message == sealed[chosen] && chosen == next;
    const auto opened = opener.Open(message);
    Require(opened.has_value() == (intact && !broken), "message {} opens as number {}", chosen, next);
    if (!opened) {
      broken = true;
      Require(opened.error().code == Code::kAuthentication, "{}", opened.error().message);
      continue;
    }
    Require(*opened == plain[chosen], "it is what was sealed");
    ++next;
  }
}

std::vector<Bytes> Seeds() {
  return {{1, 3, 'a', 'b', 'c', 0, 1, 0, 0, 1, 0, 0, 1, 0, 0},
          {1, 0, 1, 1, 'x', 0, 2, 0, 0, 0, 2, 0, 0},
          {1, 2, 'a', 'b', 0, 1, 250, 3, 1, 0}};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
