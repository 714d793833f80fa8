#include "bootstrap/run/host_launch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/comm/base/log_capture.h"

namespace muster {
namespace {

// In the place of ssh: a shell on this machine, which is what ssh starts on the other one.
class HostLaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/hosts-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    plan.hosts = {"alpha", "beta"};
    plan.ssh = {"/bin/sh", "-c", "HOST=$1 exec /bin/sh -c \"$2\"", "ssh"};
    plan.directory = folder;
    plan.environment = {"PATH=/usr/bin:/bin"};
    plan.secret = std::string(64, 'a');
    plan.patience = std::chrono::seconds(20);
  }

  // Instead of this muster.
  void Launch(const std::string& script) { plan.launch = {"/bin/sh", "-c", script, "muster"}; }

  std::string Read(const std::string& name) const {
    std::ifstream file(folder + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder;
  HostLaunchPlan plan;
};

TEST_F(HostLaunchTest, TellsEachMachineItsNumberAndTheSecret) {
  plan.command = {"prog", "it's", "a b"};
  plan.variables = {{"MUSTER_LOG_LEVEL", "debug x"}};
  Launch("echo \"$MUSTER_SECRET $MUSTER_LOG_LEVEL $(pwd) $*\" >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 0);
  const std::string common = plan.secret + " debug x " + std::filesystem::canonical(folder).string();
  EXPECT_EQ(Read("alpha"), common + " --node-rank 0 --until-stdin-closes -- prog it's a b\n");
  EXPECT_EQ(Read("beta"), common + " --node-rank 1 --until-stdin-closes -- prog it's a b\n");
}

TEST_F(HostLaunchTest, KeepsTheSecretOutOfTheCommandLine) {
  EXPECT_EQ(RemoteCommandLine(plan, 0).find(plan.secret), std::string::npos);
}

TEST_F(HostLaunchTest, EndsTheOthersWhereOneCannotBeReached) {
  const LogCapture log(LogLevel::kInfo);
  Launch("[ $HOST = alpha ] && exit 255; cat >/dev/null; echo ended >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 69);
  EXPECT_EQ(Read("beta"), "ended\n");
  EXPECT_EQ(log.Text(), "muster: error: alpha has no ranks of this group: /bin/sh ended with exit 255\n");
}

TEST_F(HostLaunchTest, WaitsForTheOthersWhereRanksHaveFailed) {
  const LogCapture log(LogLevel::kInfo);
  Launch(
      "[ $HOST = alpha ] && exit 3; while [ ! -e go ]; do read -r line || break; done; echo ended >$HOST; "
      "exit 3");
  std::ofstream(folder + "/go").flush();
  EXPECT_EQ(HostLaunch(plan).Run(), 3);
  EXPECT_EQ(Read("beta"), "ended\n");
  EXPECT_EQ(log.Text(), "");
}

}  // namespace
}  // namespace muster
