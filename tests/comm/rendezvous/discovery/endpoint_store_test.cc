#include "comm/rendezvous/discovery/endpoint_store.h"

#include <gtest/gtest.h>

#include "comm/address.h"
#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

const std::string kSecret(64, 'a');

std::string WhyNot(std::string_view text) {
  const Result<RootAddress> root_address = DecodeRootAddress(text);
  if (root_address) return "it is one";
  EXPECT_EQ(root_address.error().code, Code::kDisagreement);
  EXPECT_EQ(root_address.error().message.find(kSecret.substr(1)), std::string::npos)
      << root_address.error().message;
  return root_address.error().message;
}

TEST(RootAddress, IsOneLineThatIsReadBack) {
  const RootAddress root_address{{*net::SocketAddress::FromNumeric("10.1.2.3", 61000),
                                  *net::SocketAddress::FromNumeric("fd00::1", 61001)},
                                 *auth::JobSecret::Parse(kSecret, "test")};
  EXPECT_EQ(Encode(root_address), "muster-notice 1 " + kSecret + " 10.1.2.3:61000 [fd00::1]:61001");
  EXPECT_EQ(DecodeRootAddress(Encode(root_address)), Result<RootAddress>(root_address));
}

TEST(RootAddress, MayHaveNoSecret) {
  const RootAddress root_address{{*net::SocketAddress::FromNumeric("10.1.2.3", 61000)}, std::nullopt};
  EXPECT_EQ(Encode(root_address), "muster-notice 1 - 10.1.2.3:61000");
  EXPECT_EQ(DecodeRootAddress(Encode(root_address)), Result<RootAddress>(root_address));
}

TEST(RootAddress, AnythingElseIsRefused) {
  const std::string what = "the root address found there is not of this release of muster: ";
  EXPECT_EQ(WhyNot(""), what + "it does not begin as one");
  EXPECT_EQ(WhyNot("5"), what + "it does not begin as one");
  EXPECT_EQ(WhyNot("muster-notice"), what + "it has another version");
  EXPECT_EQ(WhyNot("muster-notice 2 - 10.1.2.3:61000"), what + "it has another version");
  EXPECT_EQ(WhyNot("muster-notice 1 -"), what + "it has no address");
  EXPECT_EQ(
      WhyNot("muster-notice 1 " + kSecret.substr(1) + " 10.1.2.3:61000"),
      what + "its second word is not a job secret: it has 63 characters, 64 hexadecimal digits are expected");
  EXPECT_EQ(WhyNot("muster-notice 1 - gpu01:61000"), what + "\"gpu01:61000\" is not an address");
  EXPECT_EQ(WhyNot("muster-notice 1 - 10.1.2.3:61000 "), what + ParseEndpoint("").error().message);
  EXPECT_EQ(WhyNot("muster-notice 1 - 10.1.2.3:0"), what + ParseEndpoint("10.1.2.3:0").error().message);
  EXPECT_EQ(WhyNot(std::string(9000, 'x')), what + "it has 9000 bytes");
  std::string many = "muster-notice 1 -";
  for (int i = 0; i < 65; ++i) many += " 10.1.2.3:61000";
  EXPECT_EQ(WhyNot(many), what + "it has 65 addresses");
}

}  // namespace
}  // namespace muster::rendezvous
