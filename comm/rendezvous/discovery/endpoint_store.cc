#include "comm/rendezvous/discovery/endpoint_store.h"

#include "comm/address.h"
#include "comm/base/parse.h"

namespace muster::rendezvous {
namespace {

constexpr std::string_view kHeading = "muster-notice";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kNoSecret = "-";
constexpr size_t kLongestRootAddress = 8 * 1024;
constexpr size_t kMostAddresses = 64;

tl::unexpected<Error> NoRootAddress(std::string_view problem) {
  return Fail(Code::kDisagreement, "the root address found there is not of this release of muster: {}",
              problem);
}

Result<net::SocketAddress> DecodeAddress(std::string_view text) {
  const Result<Endpoint> endpoint = ParseEndpoint(text);
  if (!endpoint) return NoRootAddress(endpoint.error().message);
  const auto address = net::SocketAddress::FromNumeric(endpoint->host, endpoint->port);
  if (!address) return NoRootAddress(fmt::format("\"{}\" is not an address", text));
  return *address;
}

}  // namespace

std::string Encode(const RootAddress& root_address) {
  std::string text = fmt::format("{} {} {}", kHeading, kVersion,
                                 root_address.secret ? root_address.secret->Text() : std::string(kNoSecret));
  for (const net::SocketAddress& address : root_address.addresses) text += " " + address.ToString();
  return text;
}

Result<RootAddress> DecodeRootAddress(std::string_view text) {
  if (text.size() > kLongestRootAddress) return NoRootAddress(fmt::format("it has {} bytes", text.size()));
  const std::vector<std::string_view> words = Split(text, ' ');
  if (words[0] != kHeading) return NoRootAddress("it does not begin as one");
  if (words.size() < 2 || words[1] != kVersion) return NoRootAddress("it has another version");
  if (words.size() < 4) return NoRootAddress("it has no address");
  if (words.size() - 3 > kMostAddresses)
    return NoRootAddress(fmt::format("it has {} addresses", words.size() - 3));
  RootAddress root_address;
  if (words[2] != kNoSecret) {
    const Result<auth::JobSecret> secret = auth::JobSecret::Parse(words[2], "its second word");
    if (!secret) return NoRootAddress(secret.error().message);
    root_address.secret = *secret;
  }
  for (size_t i = 3; i < words.size(); ++i) {
    MUSTER_TRY(net::SocketAddress address, DecodeAddress(words[i]));
    root_address.addresses.push_back(address);
  }
  return root_address;
}

}  // namespace muster::rendezvous
