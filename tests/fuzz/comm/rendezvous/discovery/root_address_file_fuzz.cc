// A file in a shared directory under the name of a root's address: only a whole file is read, and only as it
// was written; then its address is judged as any other.
#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/discovery/file_endpoint_store.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

void CheckParts(std::string_view whole) {
  for (size_t length = 0; length < whole.size(); length += 1 + length / 8) {
    Require(!rendezvous::DecodeRootAddressFile(whole.substr(0, length)), "{} of {} bytes are not whole",
            length, whole.size());
  }
  Require(!rendezvous::DecodeRootAddressFile(std::string(whole) + "\n"),
          "more than the whole is not the whole");
}

void One(ByteView input) {
  const std::string_view text = AsText(input);
  if (const auto root_address = rendezvous::DecodeRootAddressFile(text)) {
    Require(rendezvous::EncodeRootAddressFile(*root_address) == text, "\"{}\" is written as it was read",
            *root_address);
    (void)rendezvous::DecodeRootAddress(*root_address);
  }
  const std::string line(text.substr(0, text.find('\n')));
  const std::string written = rendezvous::EncodeRootAddressFile(line);
  const auto read = rendezvous::DecodeRootAddressFile(written);
  Require(read.has_value() == (written.size() <= rendezvous::kLongestRootAddressFile), "{} bytes are read",
          written.size());
  Require(!read || *read == line, "\"{}\" is read back", line);
  if (read) CheckParts(written);
}

std::vector<Bytes> Seeds() {
  return {
      ToBytes(rendezvous::EncodeRootAddressFile("muster-notice 1 - 10.1.2.3:61000")),
      ToBytes(rendezvous::EncodeRootAddressFile(fmt::format("muster-notice 1 {} [fd00::1]:61000", kSecret))),
      ToBytes(rendezvous::EncodeRootAddressFile("")), ToBytes("muster-notice 1 - 10.1.2.3:61000\n")};
}

std::vector<std::string> Words() {
  return {"muster-notice 1 ", "\n", "- ", std::string(kSecret), " [::1]:1"};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz
