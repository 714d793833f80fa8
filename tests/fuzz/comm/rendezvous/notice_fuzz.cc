// What a root has left on a bulletin, or somebody else has: a notice is written out and read back as the
// same; what is refused never shows a secret.
#include "comm/rendezvous/discovery/bulletin.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

void One(ByteView input) {
  const Result<Notice> notice = DecodeNotice(AsText(input));
  if (!notice) {
    const Error& error = notice.error();
    Require(error.code == Code::kDisagreement && error.message.find("no notice") != std::string::npos, "{}",
            error.message);
    return;
  }
  Require(!notice->addresses.empty() && notice->addresses.size() <= 64, "it has {} addresses",
          notice->addresses.size());
  for (const SocketAddress& address : notice->addresses)
    Require(address.port() != 0, "an address has a port");
  const Result<Notice> again = DecodeNotice(Encode(*notice));
  Require(again && *again == *notice, "\"{}\" is read back", Encode(*notice));
}

std::vector<Bytes> Seeds() {
  return {ToBytes("muster-notice 1 - 10.1.2.3:61000"),
          ToBytes(fmt::format("muster-notice 1 {} [fd00::1]:61000 [fe80::1%lo]:61001", kSecret))};
}

std::vector<std::string> Words() {
  return {"muster-notice 1 ", "- ", std::string(kSecret), " [::1]:1", " 127.0.0.1:65535", "0", "%lo",
          "::ffff:1.2.3.4"};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz
