#include "comm/rendezvous/link/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "comm/auth/crypto.h"

namespace muster::rendezvous {
namespace {

uint64_t HashToNumber(std::string_view use, std::string_view key, uint64_t index) {
  const auth::Digest digest = auth::Blake2b({}, {AsBytes(use), AsBytes(key), AsBytes(std::to_string(index))});
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest.at(i);
  return number;
}

std::string HashToText(std::string_view use, std::string_view meeting_key, std::string_view node) {
  const auth::Digest digest = auth::Blake2b({}, {AsBytes(use), AsBytes(meeting_key), AsBytes(node)});
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(12), ""));
}

}  // namespace

// The beginning of a Fisher-Yates shuffle.
std::vector<uint16_t> PortLadder(std::string_view seed, PortRange ports, const std::vector<uint16_t>& but_not,
                                 size_t most) {
  std::vector<uint16_t> ladder(size_t{ports.last} - ports.first + 1);
  std::iota(ladder.begin(), ladder.end(), ports.first);
  if (!but_not.empty())
    std::erase_if(ladder, [&](uint16_t port) { return std::ranges::count(but_not, port) > 0; });
  if (ladder.empty()) return PortLadder(seed, ports, {}, most);
  const size_t wanted = std::min(ladder.size(), most);
  for (size_t i = 0; i < wanted; ++i) {
    std::swap(ladder[i], ladder[i + HashToNumber("muster port", seed, i) % (ladder.size() - i)]);
  }
  ladder.resize(wanted);
  ladder.shrink_to_fit();
  return ladder;
}

std::vector<std::string> LadderSeeds(std::string_view meeting_key,
                                     const std::optional<auth::JobSecret>& secret) {
  std::vector<std::string> seeds;
  if (secret) {
    const auth::SecretKey psk = secret->Psk();
    const auth::Digest digest =
        auth::Blake2b(psk.view(), {AsBytes("muster port ladder"), AsBytes(meeting_key)});
    seeds.emplace_back(AsText(digest));
  }
  seeds.emplace_back(meeting_key);
  return seeds;
}

std::string LocalSocketName(std::string_view meeting_key, std::string_view node) {
  return "leader-" + HashToText("muster local socket", meeting_key, node);
}

std::string EndpointTopic(std::string_view meeting_key) {
  return fmt::format("muster/{}/root", HashToText("muster bulletin", meeting_key, ""));
}

std::string EndpointStoreFile(std::string_view meeting_key) {
  return "root-" + HashToText("muster bulletin", meeting_key, "");
}

}  // namespace muster::rendezvous
