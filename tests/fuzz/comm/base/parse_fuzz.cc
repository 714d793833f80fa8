// Values as a user writes them: durations, endpoints, addresses, interface patterns, secrets. An accepted
// value is written out and read back as the same.
#include <cctype>

#include "comm/address.h"
#include "comm/auth/secret.h"
#include "comm/base/parse.h"
#include "comm/net/hosts.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void CheckDuration(std::string_view text) {
  const auto duration = ParseDuration(text);
  if (!duration) {
    Require(duration.error().code == Code::kConfiguration, "{}", duration.error().message);
    return;
  }
  Require(*duration >= Duration::zero() && *duration <= std::chrono::hours(24 * 366 * 100),
          "at most 100 years");
  const std::string written = FormatDuration(*duration);
  const auto again = ParseDuration(written);
  Require(again == *duration, "\"{}\" is written as {}, which is the same", text, written);
  FormatSeconds(*duration);
}

void CheckEndpoint(std::string_view text) {
  const auto endpoint = ParseEndpoint(text);
  if (!endpoint) {
    Require(endpoint.error().code == Code::kConfiguration, "{}", endpoint.error().message);
    return;
  }
  Require(endpoint->port > 0 && !endpoint->host.empty(), "an endpoint is whole");
  const auto again = ParseEndpoint(ToString(*endpoint));
  Require(again == *endpoint, "\"{}\" is written as {}, which is the same", text, ToString(*endpoint));
}

void CheckAddress(std::string_view text) {
  if (const auto address = net::SocketAddress::FromNumeric(text, 61000)) {
    Require(address->port() == 61000, "the port is kept");
    const auto again = net::SocketAddress::FromNumeric(address->Host(), 61000);
    Require(again && *again == *address, "{} is read back", address->Host());
  }
  for (const char* local : {"10.1.2.3", "fd00::1", "127.0.0.1"}) {
    net::MatchesInterface({"eth0", *net::SocketAddress::FromNumeric(local, 0)}, text);
  }
  const auto path = net::SocketAddress::Path(text);
  Require(!path || path->ToString().starts_with("unix:"), "a Unix socket");
}

void CheckSecret(std::string_view text) {
  const auto secret = auth::JobSecret::Parse(text, "MUSTER_SECRET");
  if (!secret) {
    Require(secret.error().message.starts_with("MUSTER_SECRET"), "{} names its source",
            secret.error().message);
    return;
  }
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  Require(secret->Text() == lower, "a secret is read back");
}

template <typename T>
void CheckInteger(std::string_view text) {
  const auto value = ParseInteger<T>(text);
  if (value) Require(ParseInteger<T>(std::to_string(*value)) == *value, "\"{}\" is {}", text, *value);
}

void FuzzOne(ByteView input) {
  const std::string_view text = AsText(input);
  CheckDuration(text);
  CheckEndpoint(text);
  CheckAddress(text);
  CheckSecret(text);
  CheckInteger<int>(text);
  CheckInteger<uint16_t>(text);
  CheckInteger<int64_t>(text);
  CheckInteger<uint64_t>(text);
  std::string joined;
  for (const std::string_view part : Split(text, ',')) joined += std::string(part) + ",";
  Require(joined == std::string(text) + ",", "what was split is the same joined");
  Require(text.find(Trim(text)) != std::string_view::npos, "what was trimmed is part of it");
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* text : {"500ms",
                           "30s",
                           "16h40m",
                           "1.5h",
                           "0.25",
                           "52d",
                           "36500d",
                           "100000000000000000000",
                           "0.0000000001",
                           "gpu01:61000",
                           "[fe80::1%eth0]:61000",
                           "::1:5",
                           "[::1]",
                           "10.1.2.3:1",
                           "gpu01:0",
                           "gpu01:65536",
                           "10.1.0.0/16",
                           "fd00::/8",
                           "10.0.0.0/33",
                           "eth*",
                           "ib[0-1]",
                           "[",
                           "fe80::1%eth0",
                           "-1",
                           "9223372036854775808",
                           "a,b,,c",
                           "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef"}) {
    seeds.push_back(ToBytes(text));
  }
  return seeds;
}

std::vector<std::string> Words() {
  return {"ms",         "s", "m",  "h", "d", ".", "e", ":",
          "[",          "]", "::", "%", "/", "*", "?", "18446744073709551615",
          "0.000000001"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz
