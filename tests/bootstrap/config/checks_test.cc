#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bootstrap/config/load.h"

namespace muster::config {
namespace {

Error ErrorOf(const std::vector<std::string>& sets) {
  const auto loaded = LoadConfig({}, {{"MUSTER_LIVENESS_HEARTBEAT", "2s"}}, sets);
  return loaded ? Error{Code::kInternal, "no error", ""} : loaded.error();
}

TEST(CheckConfig, WantsLivenessInOrder) {
  EXPECT_EQ(ErrorOf({"liveness.dead_after=3s"}),
            (Error{Code::kConfiguration,
                   "liveness.suspect_after is 5s (default), but liveness.dead_after is 3s (--set)",
                   "set liveness.suspect_after below liveness.dead_after"}));
  EXPECT_EQ(
      ErrorOf({"liveness.suspect_after=2s"}),
      (Error{Code::kConfiguration,
             "liveness.heartbeat is 2s (MUSTER_LIVENESS_HEARTBEAT), but liveness.suspect_after is 2s (--set)",
             "set liveness.heartbeat below liveness.suspect_after"}));
  EXPECT_EQ(ErrorOf({"liveness.suspect_after=2001ms", "liveness.dead_after=2002ms"}).message, "no error");
}

TEST(CheckConfig, RefusesPortsThatOnlyRootMayUse) {
  EXPECT_EQ(ErrorOf({"rendezvous.ports=1-1023"}),
            (Error{Code::kConfiguration, "rendezvous.ports is 1-1023 (--set): all below 1024",
                   "give ports from 1024 on: only root may listen below"}));
  EXPECT_EQ(ErrorOf({"rendezvous.ports=1-1024"}).message, "no error");
}

TEST(CheckConfig, RefusesProtectionWithoutKeys) {
  EXPECT_EQ(
      ErrorOf({"rendezvous.protect=all", "rendezvous.auth=none"}),
      (Error{Code::kConfiguration, "rendezvous.protect is all (--set), but rendezvous.auth is none (--set)",
             "set rendezvous.auth: munge or secret, which gives the keys, or rendezvous.protect: control"}));
  EXPECT_EQ(ErrorOf({"rendezvous.auth=none"}).message, "no error");
}

// Each phase ends at its own limit or at the enclosing one, whichever comes first.
TEST(CheckConfig, LeavesTimeoutsUnordered) {
  EXPECT_EQ(ErrorOf({"timeouts.rendezvous=1s", "timeouts.handshake=1h", "timeouts.connect=2h"}).message,
            "no error");
}

}  // namespace
}  // namespace muster::config
