#include "comm/rendezvous/discovery/root_address_file.h"

#include <fmt/core.h>

#include "comm/auth/crypto.h"

namespace muster::rendezvous {
namespace {

std::string CheckOf(std::string_view root_address) {
  const auth::Digest digest = auth::Blake2b({}, {AsBytes("muster notice file"), AsBytes(root_address)});
  std::string text;
  for (size_t i = 0; i < 16; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

}  // namespace

std::string EncodeRootAddressFile(std::string_view root_address) {
  return fmt::format("{}\n{}\n", root_address, CheckOf(root_address));
}

std::optional<std::string> DecodeRootAddressFile(std::string_view content) {
  if (content.size() > kLongestRootAddressFile) return std::nullopt;
  const std::string_view root_address = content.substr(0, content.find('\n'));
  if (content != EncodeRootAddressFile(root_address)) return std::nullopt;
  return std::string(root_address);
}

}  // namespace muster::rendezvous
