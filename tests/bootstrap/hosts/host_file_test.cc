#include "bootstrap/hosts/host_file.h"

#include <gtest/gtest.h>

namespace muster::hosts {
namespace {

TEST(HostFile, NamesMachinesInOrder) {
  EXPECT_EQ(ParseHostFile("alpha\n\n  beta # the slow one\r\n# gamma\n10.1.2.3", "f"),
            (HostFile{{"alpha", "beta", "10.1.2.3"}, {}}));
}

TEST(HostFile, MaySayHowManyRanks) {
  EXPECT_EQ(ParseHostFile("alpha slots=8\nbeta\tslots=8\n", "f"), (HostFile{{"alpha", "beta"}, 8}));
}

TEST(HostFile, RefusesEverythingElse) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "hosts.txt names no machine"},
      {"# none\n", "hosts.txt names no machine"},
      {"alpha\n-oProxyCommand=x\n", "hosts.txt:2: \"-oProxyCommand=x\" is not the name of a machine"},
      {"slots=4\n", "hosts.txt:1: \"slots=4\" is not the name of a machine"},
      {"alpha\nbeta\nalpha\n", "hosts.txt:3: alpha is named twice"},
      {"alpha slots=0\n", "hosts.txt:1: \"0\" is not a number of ranks"},
      {"alpha slots=x\n", "hosts.txt:1: \"x\" is not a number of ranks"},
      {"alpha cpus=4\n", "hosts.txt:1: \"cpus=4\" is not slots=N"},
      {"alpha slots=4 more\n", "hosts.txt:1: \"more\" is not slots=N"},
      {"alpha slots=4\nbeta slots=2\n",
       "hosts.txt:2: alpha has slots=4, beta slots=2; all machines must have the same number of ranks"},
      {"alpha slots=4\nbeta\n",
       "hosts.txt:2: alpha has slots=4, beta slots=?; all machines must have the same number of ranks"},
  };
  for (const auto& [text, message] : cases) {
    const auto hosts = ParseHostFile(text, "hosts.txt");
    ASSERT_FALSE(hosts) << text;
    EXPECT_EQ(hosts.error().code, Code::kConfiguration);
    EXPECT_EQ(hosts.error().message, message);
  }
}

TEST(HostFile, MayBeginWithAByteOrderMark) {
  EXPECT_EQ(ParseHostFile("\xef\xbb\xbf"
                          "alpha\r\n",
                          "f"),
            (HostFile{{"alpha"}, {}}));
}

// The first machine's is the endpoint of all.
TEST(HostFile, HasAddressesWithoutWhatIsForSsh) {
  for (const char* host : {"alpha", "ada@alpha", "ssh://alpha", "ssh://alpha:22", "ssh://ada@alpha:22"})
    EXPECT_EQ(AddressOf(host), "alpha") << host;
  for (const char* host : {"fd00::5", "ada@fd00::5", "ssh://[fd00::5]", "ssh://ada@[fd00::5]:22"})
    EXPECT_EQ(AddressOf(host), "fd00::5") << host;
}

TEST(HostFile, OfMpirunHasARemedy) {
  const auto hosts = ParseHostFile("alpha:4\n", "hosts.txt");
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error(),
            (Error{Code::kConfiguration, "hosts.txt:1: \"alpha:4\" is not the name of a machine",
                   "write \"alpha slots=4\""}));
  EXPECT_EQ(ParseHostFile("fd00::5\nssh://alpha:22\n", "f"), (HostFile{{"fd00::5", "ssh://alpha:22"}, {}}));
}

}  // namespace
}  // namespace muster::hosts
