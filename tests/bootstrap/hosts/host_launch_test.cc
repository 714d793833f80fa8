#include "bootstrap/hosts/host_launch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "tests/comm/base/folder.h"
#include "tests/comm/base/log_capture.h"

namespace muster::hosts {
namespace {

// In the place of ssh: a shell on this machine, which is what ssh starts on the other one.
class HostLaunchTest : public testing::Test {
 protected:
  HostLaunchTest() {
    plan.hosts = {"alpha", "beta"};
    plan.ssh = {"/bin/sh", "-c", "HOST=$1 exec /bin/sh -c \"$2\"", "ssh"};
    plan.directory = folder.path();
    plan.environment = {"PATH=/usr/bin:/bin"};
    plan.secret = std::string(64, 'a');
    plan.patience = std::chrono::seconds(20);
    Launch("true");
  }

  // Instead of this muster. env also has --version.
  void Launch(const std::string& script) {
    plan.launch = {"/usr/bin/env", "/bin/sh", "-c", script, "muster"};
  }

  std::string Read(const std::string& name) const { return folder.Read(name); }

  Folder folder;
  HostLaunchPlan plan;
};

TEST_F(HostLaunchTest, TellsEachMachineItsNumberAndTheSecret) {
  plan.command = {"prog", "it's", "a b"};
  plan.variables = {{"MUSTER_LOG_LEVEL", "debug x"}};
  Launch("echo \"$MUSTER_SECRET $MUSTER_LOG_LEVEL $(pwd) $*\" >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 0);
  const std::string common = plan.secret + " debug x " + std::filesystem::canonical(folder.path()).string();
  EXPECT_EQ(Read("alpha"), common + " --node-rank 0 --until-stdin-closes -- prog it's a b\n");
  EXPECT_EQ(Read("beta"), common + " --node-rank 1 --until-stdin-closes -- prog it's a b\n");
}

// Another user may have put something there. A path is the user's own choice.
TEST_F(HostLaunchTest, SshIsNotSearchedInTheWorkingDirectory) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  folder.Write("ssh-here", "#!/bin/sh\n");
  std::filesystem::permissions("ssh-here", std::filesystem::perms::all);
  plan.environment = {"PATH=:.:/usr/bin:/bin"};
  plan.ssh = {"ssh-here"};
  const auto searched = HostLaunch(plan).Run();
  EXPECT_THAT(searched ? "started" : searched.error().message,
              testing::StartsWith("cannot start \"ssh-here\": No such file or directory"));
  plan.ssh = {"./ssh-here"};
  EXPECT_EQ(HostLaunch(plan).Run(), 0);
  std::filesystem::current_path(before);
}

// csh expands "!" within quotes and ends a line that has no closing quote, fish has \\ there.
TEST_F(HostLaunchTest, SendsACommandThatEveryShellTakes) {
  const std::string_view command = RemoteCommand();
  EXPECT_EQ(command.find_first_of("!\\\n`"), std::string_view::npos);
  EXPECT_EQ(std::ranges::count(command, '\''), 2);
}

// Every user of the machine sees the arguments of ssh.
TEST_F(HostLaunchTest, SendsTheRestOverTheStandardInput) {
  plan.command = {"prog", "--token=4711"};
  plan.variables = {{"MUSTER_RUN_ENV", "{TOKEN: 4712}"}};
  plan.ssh = {"/bin/sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline >arguments.$1; exec head -n 1 >input.$1",
              "ssh"};
  plan.ssh[2] = "cd " + folder.path() + "; " + plan.ssh[2];
  EXPECT_EQ(HostLaunch(plan).Run(), 0);
  EXPECT_THAT(Read("arguments.alpha"),
              testing::EndsWith(std::string("ssh alpha ").append(RemoteCommand()) + " "));
  EXPECT_EQ(Read("input.alpha"), RemoteScript(plan, 0));
}

TEST_F(HostLaunchTest, PassesOnAnyText) {
  const std::string long_text(100000, 'x');
  plan.command = {"a\nb", "\n", "\\n $HOME `id` !! \"'", long_text};
  plan.variables = {{"MUSTER_RUN_ENV", "A: 1\nB: 2"}};
  Launch("shift 4; printf '%s|' \"$MUSTER_RUN_ENV\" \"$1\" \"$2\" \"$3\" ${#4} >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 0);
  EXPECT_EQ(Read("beta"), "A: 1\nB: 2|a\nb|\n|\\n $HOME `id` !! \"'|100000|");
}

// Only ssh's own 255 means that a machine cannot be reached.
TEST_F(HostLaunchTest, TellsAProgramsExit255FromSshs) {
  const LogCapture log(LogLevel::kInfo);
  for (const int status : {255, 254}) {
    Launch("exit " + std::to_string(status));
    EXPECT_EQ(HostLaunch(plan).Run(), status);
  }
  EXPECT_EQ(log.Text(), "");
}

TEST_F(HostLaunchTest, SaysThatItsDirectoryIsNotThere) {
  plan.directory = folder.File("nowhere");
  plan.ssh[2] = "exec 2>" + folder.path() + "/$1; " + plan.ssh[2];
  EXPECT_EQ(HostLaunch(plan).Run(), 71);
  EXPECT_THAT(
      Read("beta"),
      testing::EndsWith("muster: error: beta has no ranks of this group: cannot change to the directory " +
                        plan.directory + " (make it there)\n"));
}

TEST_F(HostLaunchTest, EndsTheOthersWhereOneCannotBeReached) {
  const LogCapture log(LogLevel::kInfo);
  plan.ssh[2] = "[ $1 = alpha ] && exit 255; " + plan.ssh[2];
  Launch("cat >/dev/null; echo ended >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 69);
  EXPECT_EQ(Read("beta"), "ended\n");
  EXPECT_EQ(log.Text(),
            "muster: error: alpha has no ranks of this group: /bin/sh ended with exit 255 (check that this "
            "works without a password: " +
                fmt::format("{}", fmt::join(plan.ssh, " ")) + " alpha /usr/bin/env --version)\n");
}

TEST_F(HostLaunchTest, WaitsForTheOthersWhereRanksHaveFailed) {
  plan.patience = std::chrono::seconds(2);  // also for the end of cat
  // 126 and 127: of a program that cannot be started, which its rank has reported.
  for (const std::string code : {"3", "126", "127"}) {
    const LogCapture log(LogLevel::kInfo);
    Launch("[ $HOST = alpha ] || cat >/dev/null; exit " + code);
    const Clock::time_point began = Clock::now();
    EXPECT_EQ(HostLaunch(plan).Run(), std::stoi(code));
    EXPECT_GE(Clock::now() - began, plan.patience) << code;
    EXPECT_EQ(log.Text(), "");
  }
}

TEST_F(HostLaunchTest, EndsTheOthersWhereOneHasNoMuster) {
  const LogCapture log(LogLevel::kInfo);
  plan.launch = {folder.File("muster")};
  EXPECT_EQ(HostLaunch(plan).Run(), 69);
  EXPECT_THAT(log.Text(),
              testing::HasSubstr("has no ranks of this group: /bin/sh ended with exit 255 (check that "));
}

// ssh reads a password from the terminal: the kernel stops a process that is not in the foreground.
TEST_F(HostLaunchTest, NamesAMachineWhoseSshAsksAtTheTerminal) {
  const LogCapture log(LogLevel::kInfo);
  plan.ssh[2] = "[ $1 = alpha ] && kill -TTIN $$; " + plan.ssh[2];
  Launch("cat >/dev/null; echo ended >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 69);
  EXPECT_EQ(Read("beta"), "ended\n");
  EXPECT_EQ(log.Text(),
            "muster: error: alpha has no ranks of this group: /bin/sh needs an answer from the terminal: a "
            "password, a passphrase or yes to a host key (use ssh-agent, and log in there once)\n");
}

// Slurm, and a terminal that closes, send several to one process.
TEST_F(HostLaunchTest, SignalsOfOneRequestLeaveTheRanksTheirTime) {
  plan.hosts = {"alpha"};
  Launch(
      fmt::format("kill -TERM {0}; kill -HUP {0}; cat >/dev/null; sleep 0.3; echo ended >$HOST", getpid()));
  EXPECT_THAT(HostLaunch(plan).Run(), testing::AnyOf(128 + SIGHUP, 128 + SIGTERM));
  EXPECT_EQ(Read("alpha"), "ended\n");
}

TEST_F(HostLaunchTest, ALaterRequestKills) {
  plan.hosts = {"alpha"};
  plan.patience = std::chrono::seconds(100);
  Launch(fmt::format(
      "kill -TERM {0}; cat >/dev/null; sleep 1.1; kill -TERM {0}; until [ -e over ]; do sleep 0.1; done",
      getpid()));
  const Clock::time_point began = Clock::now();
  EXPECT_EQ(HostLaunch(plan).Run(), 128 + SIGTERM);
  EXPECT_LT(Clock::now() - began, plan.patience);
  folder.Write("over", "");
}

// A request for a thread dump. The kernel delivers SIGQUIT before SIGTERM.
TEST_F(HostLaunchTest, SigquitEndsNothing) {
  plan.hosts = {"alpha"};
  Launch(fmt::format("kill -QUIT {0}; kill -TERM {0}; cat >/dev/null; echo ended >$HOST", getpid()));
  EXPECT_EQ(HostLaunch(plan).Run(), 128 + SIGTERM);
  EXPECT_EQ(Read("alpha"), "ended\n");
}

// A pipe for each machine.
TEST_F(HostLaunchTest, NeedsNoMoreThanTheHardLimitOnOpenFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{32, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  plan.hosts.clear();
  for (int i = 0; i < 40; ++i) plan.hosts.push_back("host" + std::to_string(i));
  Launch("ulimit -Sn >$HOST");
  EXPECT_EQ(HostLaunch(plan).Run(), 0);
  EXPECT_EQ(Read("host39"), "32\n");
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace muster::hosts
