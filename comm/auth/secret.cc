#include "comm/auth/secret.h"

namespace muster::auth {
namespace {

constexpr size_t kDigits = 2 * SecretKey::kBytes;

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

tl::unexpected<Error> NotASecret(std::string_view source, const std::string& problem) {
  return WithHint(Fail(Code::kConfiguration, "{} is not a job secret: {}", source, problem),
                  "export MUSTER_SECRET=$(muster secret) in the batch script, before srun");
}

}  // namespace

Result<JobSecret> JobSecret::Generate() {
  MUSTER_CHECK(CryptoReady());
  JobSecret secret;
  RandomBytes(secret.key_.mutable_view());
  return secret;
}

Result<JobSecret> JobSecret::Parse(std::string_view text, std::string_view source) {
  MUSTER_CHECK(CryptoReady());
  if (text.size() != kDigits) {
    return NotASecret(source, fmt::format("it has {} characters, {} hexadecimal digits are expected",
                                          text.size(), kDigits));
  }
  JobSecret secret;
  for (size_t i = 0; i < kDigits; i += 2) {
    const int high = DigitValue(text[i]);
    const int low = DigitValue(text[i + 1]);
    if (high < 0 || low < 0) {
      return NotASecret(source,
                        fmt::format("character {} is not a hexadecimal digit", high < 0 ? i + 1 : i + 2));
    }
    secret.key_.mutable_view()[i / 2] = static_cast<uint8_t>(16 * high + low);
  }
  return secret;
}

std::string JobSecret::Text() const {
  std::string text;
  text.reserve(kDigits);
  for (const uint8_t byte : key_.view()) {
    text.push_back("0123456789abcdef"[byte >> 4]);
    text.push_back("0123456789abcdef"[byte & 15]);
  }
  return text;
}

SecretKey JobSecret::Psk() const { return DeriveKey(key_.view(), {AsBytes("muster job secret: handshake")}); }

}  // namespace muster::auth
