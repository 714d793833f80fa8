// Nodes whose loopback interface does not have the usual addresses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "tests/bootstrap/cli/run_muster.h"

namespace muster::cli {
namespace {

const std::string kOnlyIpv6 =
    "ip link set lo up && ip addr del 127.0.0.1/8 dev lo && ip addr | grep -q ::1/128";

// A prefix of a command: in a network namespace of its own, after `command`.
std::string InNetwork(const std::string& command) {
  return "MUSTER_LOG_TIME=none unshare -rn sh -c '" + command + " && exec \"$@\"' sh";
}

bool Allowed(const std::string& network) { return std::system((network + " true 2>/dev/null").c_str()) == 0; }

TEST(Loopback, MayHaveIpv6Alone) {
  const std::string network = InNetwork(kOnlyIpv6);
  if (!Allowed(InNetwork("true"))) GTEST_SKIP() << "needs root: unshare is not allowed";
  ASSERT_TRUE(Allowed(network)) << "no IPv6";
  const Outcome outcome = RunMuster(
      "launch -n 2 -- python3 -c 'import os, socket as s; "
      "s.create_connection((os.environ[\"MASTER_ADDR\"], os.environ[\"MASTER_PORT\"])); "
      "print(os.environ[\"MASTER_ADDR\"])'",
      network);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "::1\n::1\n");
}

TEST(Loopback, WithoutAnAddressIsReportedWithTheNode) {
  const std::string network = InNetwork("ip link set lo up && ip addr flush dev lo");
  if (!Allowed(InNetwork("true"))) GTEST_SKIP() << "needs root: unshare is not allowed";
  std::array<char, 256> node{};
  ASSERT_EQ(gethostname(node.data(), node.size() - 1), 0);
  const Outcome outcome = RunMuster("launch -n 2 -- true", network);
  EXPECT_EQ(outcome.status, 71);
  EXPECT_EQ(outcome.err, std::string("muster: error: rank 0 on ") + node.data() +
                             ": cannot serve the store: this node has no address, not even 127.0.0.1 or ::1 "
                             "(give its loopback interface one: ip addr add 127.0.0.1/8 dev lo)\n");
}

}  // namespace
}  // namespace muster::cli
