// A root address on an endpoint store, from a root or another writer: it is written out and read back as the
// same; a refusal never shows a secret.
#include "comm/rendezvous/discovery/endpoint_store.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

void One(ByteView input) {
  const Result<rendezvous::RootAddress> root_address = rendezvous::DecodeRootAddress(AsText(input));
  if (!root_address) {
    const Error& error = root_address.error();
    Require(error.code == Code::kDisagreement &&
                error.message.find("root address found there is not of this release") != std::string::npos,
            "{}", error.message);
    return;
  }
  Require(!root_address->addresses.empty() && root_address->addresses.size() <= 64, "it has {} addresses",
          root_address->addresses.size());
  for (const net::SocketAddress& address : root_address->addresses)
    Require(address.port() != 0, "an address has a port");
  const Result<rendezvous::RootAddress> again = rendezvous::DecodeRootAddress(Encode(*root_address));
  Require(again && *again == *root_address, "\"{}\" is read back", Encode(*root_address));
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
