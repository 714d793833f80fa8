#include "bootstrap/cli/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::cli {
namespace {

using testing::ElementsAre;

TEST(ListenAddress, HasAHostAndPerhapsAPort) {
  EXPECT_EQ(ParseListenAddress("gpu01", 29500), (Endpoint{"gpu01", 29500}));
  EXPECT_EQ(ParseListenAddress("gpu01:0", 29500), (Endpoint{"gpu01", 0}));
  EXPECT_EQ(ParseListenAddress("10.1.0.5:61000", 29500), (Endpoint{"10.1.0.5", 61000}));
  EXPECT_EQ(ParseListenAddress("::1", 29500), (Endpoint{"::1", 29500}));
  EXPECT_EQ(ParseListenAddress("[::1]", 29500), (Endpoint{"::1", 29500}));
  EXPECT_EQ(ParseListenAddress("[fe80::1%eth0]:7", 29500), (Endpoint{"fe80::1%eth0", 7}));
}

TEST(ListenAddress, WhatIsNoneIsNamed) {
  for (const std::string text :
       {"", ":29500", "host:", "host:x", "host:65536", "host:-1", "[::1", "[]:1", "[::1]x", "[::1]:"}) {
    const auto endpoint = ParseListenAddress(text, 29500);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error(), (Error{Code::kUsage, "--listen: \"" + text + "\" is no address",
                                       "write HOST, HOST:PORT or [ADDRESS]:PORT; port 0 is any free port"}));
  }
}

TEST(ParseRankList, TakesNumbersAndRanges) {
  EXPECT_THAT(*ParseRankList("5", "--ranks"), ElementsAre(5));
  EXPECT_THAT(*ParseRankList("7,0-2,1", "--ranks"), ElementsAre(0, 1, 2, 7));
}

TEST(ParseRankList, RefusesAnythingElse) {
  for (const char* text : {"", "a", "1,", "2-1", "-1", "1-", "0-4096", "0-2147483647"}) {
    EXPECT_EQ(ParseRankList(text, "--ranks").error(),
              (Error{Code::kUsage, fmt::format("--ranks \"{}\" is not a list of ranks", text),
                     "write it as 0-3,7; at most 4096 ranks"}));
  }
}

}  // namespace
}  // namespace muster::cli
