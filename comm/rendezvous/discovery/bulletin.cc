#include "comm/rendezvous/discovery/bulletin.h"

#include "comm/address.h"
#include "comm/base/parse.h"

namespace muster {
namespace {

constexpr std::string_view kHeading = "muster-notice";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kNoSecret = "-";
constexpr size_t kLongestNotice = 8 * 1024;
constexpr size_t kMostAddresses = 64;

tl::unexpected<Error> NoNotice(std::string_view problem) {
  return Fail(Code::kDisagreement, "what the root left there is no notice of this release of muster: {}",
              problem);
}

Result<SocketAddress> DecodeAddress(std::string_view text) {
  const Result<Endpoint> endpoint = ParseEndpoint(text);
  if (!endpoint) return NoNotice(endpoint.error().message);
  const auto address = SocketAddress::FromNumeric(endpoint->host, endpoint->port);
  if (!address) return NoNotice(fmt::format("\"{}\" is not an address", text));
  return *address;
}

}  // namespace

std::string Encode(const Notice& notice) {
  std::string text = fmt::format("{} {} {}", kHeading, kVersion,
                                 notice.secret ? notice.secret->Text() : std::string(kNoSecret));
  for (const SocketAddress& address : notice.addresses) text += " " + address.ToString();
  return text;
}

Result<Notice> DecodeNotice(std::string_view text) {
  if (text.size() > kLongestNotice) return NoNotice(fmt::format("it has {} bytes", text.size()));
  const std::vector<std::string_view> words = Split(text, ' ');
  if (words[0] != kHeading) return NoNotice("it does not begin as one");
  if (words.size() < 2 || words[1] != kVersion) return NoNotice("it has another version");
  if (words.size() < 4) return NoNotice("it has no address");
  if (words.size() - 3 > kMostAddresses)
    return NoNotice(fmt::format("it has {} addresses", words.size() - 3));
  Notice notice;
  if (words[2] != kNoSecret) {
    const Result<JobSecret> secret = JobSecret::Parse(words[2], "its second word");
    if (!secret) return NoNotice(secret.error().message);
    notice.secret = *secret;
  }
  for (size_t i = 3; i < words.size(); ++i) {
    MUSTER_TRY(SocketAddress address, DecodeAddress(words[i]));
    notice.addresses.push_back(address);
  }
  return notice;
}

}  // namespace muster
