#include "comm/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

struct GoodCase {
  const char* text;
  Endpoint endpoint;
};
class GoodEndpointTest : public testing::TestWithParam<GoodCase> {};

TEST_P(GoodEndpointTest, ReadsAndWritesBack) {
  const Result<Endpoint> parsed = ParseEndpoint(GetParam().text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, GetParam().endpoint);
  EXPECT_EQ(ToString(*parsed), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(All, GoodEndpointTest,
                         testing::Values(GoodCase{"gpu01:61000", {"gpu01", 61000}},
                                         GoodCase{"10.1.2.3:1", {"10.1.2.3", 1}},
                                         GoodCase{"[fe80::1%eth0]:65535", {"fe80::1%eth0", 65535}}));

struct BadCase {
  const char* text;
  const char* why;
};
class BadEndpointTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadEndpointTest, SaysWhatIsWrong) {
  const Result<Endpoint> parsed = ParseEndpoint(GetParam().text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kConfiguration);
  EXPECT_EQ(parsed.error().message,
            fmt::format("\"{}\" is not an endpoint: {}", GetParam().text, GetParam().why));
  EXPECT_EQ(parsed.error().hint, "write host:port, for example gpu01:61000 or [2001:db8::1]:61000");
}

INSTANTIATE_TEST_SUITE_P(All, BadEndpointTest,
                         testing::Values(BadCase{"", "the port is missing"},
                                         BadCase{"gpu01", "the port is missing"},
                                         BadCase{":1", "the host is missing"},
                                         BadCase{"[]:1", "the host is missing"},
                                         BadCase{"fe80::1:1", "an IPv6 address needs brackets"},
                                         BadCase{"a b:1", "the host has stray characters"},
                                         BadCase{"http://a:1", "an IPv6 address needs brackets"},
                                         BadCase{"//a:1", "the host has stray characters"},
                                         BadCase{"a]:1", "the host has stray characters"},
                                         BadCase{"a:", "the port is not a number from 1 to 65535"},
                                         BadCase{"a:0", "the port is not a number from 1 to 65535"},
                                         BadCase{"a:65536", "the port is not a number from 1 to 65535"},
                                         BadCase{"a:-1", "the port is not a number from 1 to 65535"},
                                         BadCase{"a:80x", "the port is not a number from 1 to 65535"}));

}  // namespace
}  // namespace muster
