#include "comm/rendezvous/names.h"

#include <fmt/core.h>

#include <algorithm>

#include "comm/auth/crypto.h"

namespace muster {
namespace {

uint64_t HashToNumber(std::string_view use, std::string_view key, uint64_t index) {
  const Digest digest = Blake2b({}, {AsBytes(use), AsBytes(key), AsBytes(std::to_string(index))});
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest.at(i);
  return number;
}

std::string HashToText(std::string_view use, std::string_view meeting_key, std::string_view node) {
  const Digest digest = Blake2b({}, {AsBytes(use), AsBytes(meeting_key), AsBytes(node)});
  std::string text;
  for (size_t i = 0; i < 12; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

}  // namespace

std::vector<uint16_t> PortLadder(std::string_view meeting_key, PortRange ports) {
  const int count = ports.last - ports.first + 1;
  const auto wanted = static_cast<size_t>(std::min(count, kLadderLength));
  std::vector<uint16_t> ladder;
  for (uint64_t index = 0; ladder.size() < wanted; ++index) {
    const uint64_t offset = HashToNumber("muster port", meeting_key, index) % static_cast<uint64_t>(count);
    const auto port = static_cast<uint16_t>(ports.first + offset);
    if (std::ranges::find(ladder, port) == ladder.end()) ladder.push_back(port);
  }
  return ladder;
}

std::string LocalSocketName(std::string_view meeting_key, std::string_view node) {
  return "leader-" + HashToText("muster local socket", meeting_key, node);
}

std::string BulletinTopic(std::string_view meeting_key) {
  return fmt::format("muster/{}/root", HashToText("muster bulletin", meeting_key, ""));
}

std::string BulletinFile(std::string_view meeting_key) {
  return "root-" + HashToText("muster bulletin", meeting_key, "");
}

}  // namespace muster
