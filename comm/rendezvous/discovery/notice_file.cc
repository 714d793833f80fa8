#include "comm/rendezvous/discovery/notice_file.h"

#include <fmt/core.h>

#include "comm/auth/crypto.h"

namespace muster {
namespace {

std::string CheckOf(std::string_view notice) {
  const Digest digest = Blake2b({}, {AsBytes("muster notice file"), AsBytes(notice)});
  std::string text;
  for (size_t i = 0; i < 16; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

}  // namespace

std::string EncodeNoticeFile(std::string_view notice) {
  return fmt::format("{}\n{}\n", notice, CheckOf(notice));
}

std::optional<std::string> DecodeNoticeFile(std::string_view content) {
  if (content.size() > kLongestNoticeFile) return std::nullopt;
  const std::string_view notice = content.substr(0, content.find('\n'));
  if (content != EncodeNoticeFile(notice)) return std::nullopt;
  return std::string(notice);
}

}  // namespace muster
