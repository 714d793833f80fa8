#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "bootstrap/doctor/findings.h"

namespace muster::doctor {
namespace {

net::LocalInterface At(const std::string& name, const std::string& address) {
  return {name, *net::SocketAddress::FromNumeric(address, 0)};
}

TEST(ExamineSockets, LeavesNothing) {
  const std::filesystem::path base = std::filesystem::path(testing::TempDir()) / "bases";
  std::filesystem::create_directories(base);
  const Finding finding = ExamineSockets({base});
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_EQ(finding.found, "in " + base.string() + ", in a directory that no other user can enter");
  EXPECT_TRUE(std::filesystem::is_empty(base));
}

TEST(ExamineSockets, NowhereIsAProblem) {
  const Finding finding = ExamineSockets({"/nonexistent/base"});
  EXPECT_EQ(finding.health, Health::kProblem);
  EXPECT_NE(finding.found.find("/nonexistent/base"), std::string::npos) << finding.found;
}

TEST(ExamineSockets, WithoutAMappingOfTheUserTheRemedyIsAMapping) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER) != 0) _exit(2);
    const Finding finding = ExamineSockets({testing::TempDir()});
    _exit(finding.remedy == "map the user: unshare --map-current-user" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "unshare is not allowed";
  EXPECT_EQ(status, 0);
}

TEST(JudgeNetwork, BridgesAndLoopbackLeadNowhere) {
  const Finding finding = JudgeNetwork({At("lo", "127.0.0.1"), At("docker0", "172.17.0.1"),
                                        At("ib0", "10.1.0.5"), At("ib0", "fd00::5"), At("eth0", "fe80::1")},
                                       {"mlx5_0"});
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_EQ(finding.found,
            "ib0 10.1.0.5, ib0 fd00::5; InfiniBand: mlx5_0, for NCCL and MPI; muster's own data go over TCP");
  const std::vector<std::pair<std::string, std::string>> facts = {{"ib0", "10.1.0.5 fd00::5"},
                                                                  {"infiniband", "mlx5_0"}};
  EXPECT_EQ(finding.facts, facts);
}

TEST(JudgeNetwork, ShowsWhatRendezvousInterfaceChooses) {
  const std::vector<net::LocalInterface> interfaces = {At("eth0", "192.0.2.1"), At("hsn0", "10.1.0.5"),
                                                       At("hsn1", "10.1.0.6")};
  const Finding chosen = JudgeNetwork(interfaces, {}, "hsn*");
  EXPECT_EQ(chosen.health, Health::kOk);
  EXPECT_EQ(
      chosen.found,
      "eth0 192.0.2.1, hsn0 10.1.0.5, hsn1 10.1.0.6; rendezvous.interface hsn* chooses 10.1.0.5 10.1.0.6");
  EXPECT_EQ(chosen.facts.back(), (std::pair<std::string, std::string>("chosen", "10.1.0.5 10.1.0.6")));
  const Finding none = JudgeNetwork(interfaces, {}, "ib0");
  EXPECT_EQ(none.health, Health::kNote);
  EXPECT_EQ(none.found,
            "eth0 192.0.2.1, hsn0 10.1.0.5, hsn1 10.1.0.6; rendezvous.interface ib0 matches none of them");
  EXPECT_EQ(none.remedy, "choose one of these by name, glob or network, or remove rendezvous.interface");
}

TEST(JudgeNetwork, LoopbackAloneIsANote) {
  const Finding finding = JudgeNetwork({At("lo", "127.0.0.1")}, {});
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_EQ(finding.found, "no interface that leads to other nodes");
  EXPECT_EQ(finding.remedy, "bring up an interface with an address that other nodes reach: ip address");
}

}  // namespace
}  // namespace muster::doctor
