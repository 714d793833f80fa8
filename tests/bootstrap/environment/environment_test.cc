#include "bootstrap/environment/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bootstrap/environment/ancestry.h"
#include "comm/system/proc_file.h"

namespace muster {
namespace {

TEST(Environment, ReadsLines) {
  const auto environment = Environment::FromText("RANK=3\n\n# a comment\nEMPTY=\nEQUALS=a=b=c\nSPACES= x \n");
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->Get("RANK"), "3");
  EXPECT_EQ(environment->Get("EMPTY"), "");
  EXPECT_EQ(environment->Get("EQUALS"), "a=b=c");
  EXPECT_EQ(environment->Get("SPACES"), " x ");
  EXPECT_EQ(environment->Get("OTHER"), std::nullopt);
  EXPECT_EQ(environment->All().size(), 4u);
  EXPECT_FALSE(environment->live());
  EXPECT_EQ(environment->host_name(), std::nullopt);
}

TEST(Environment, PassesOverShellFunctions) {
  const auto environment =
      Environment::FromText("A=1\nBASH_FUNC_ml%%=() {  eval \"$(x)\"\n RANK=9\n}\nB=2\n");
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment->Get("A"), "1");
  EXPECT_EQ(environment->Get("B"), "2");
  EXPECT_FALSE(environment->Has("RANK"));
}

TEST(Environment, ReadsNulSeparated) {
  constexpr std::string_view kText("RANK=3\0TEXT=two\nlines\0\0", 23);
  const auto environment = Environment::FromText(kText);
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->Get("RANK"), "3");
  EXPECT_EQ(environment->Get("TEXT"), "two\nlines");
}

TEST(Environment, NamesTheBadLine) {
  const auto fails = [](std::string_view text, std::string_view message) {
    const auto environment = Environment::FromText(text, "job.env");
    ASSERT_FALSE(environment);
    EXPECT_EQ(environment.error().code, Code::kBadEnvironment);
    EXPECT_EQ(environment.error().message, message);
  };
  fails("A=1\nRANK 3\n", "job.env:2: this line is not NAME=VALUE");
  fails("=3\n", "job.env:1: this line is not NAME=VALUE");
  fails("export RANK=3\n", "job.env:1: \"export RANK\" is not a variable's name");
  fails("A=1\nB=2\nA=3\n", "job.env:3: A is set a second time");
  fails(std::string_view("A=1\0B\0", 6), "job.env:2: this entry is not NAME=VALUE");
}

TEST(Environment, ReadsAFile) {
  const std::string path = testing::TempDir() + "/an.env";
  std::ofstream(path) << "RANK=7\n";
  const auto environment = Environment::FromFile(path);
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->Get("RANK"), "7");
  std::remove(path.c_str());
  const auto missing = Environment::FromFile(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), (Error{Code::kSystem, "cannot read " + path + ": No such file or directory",
                                    "give a file that this user can read"}));
}

TEST(Environment, ReadsTheEnvironmentOfAProcess) {
  const auto environment = Environment::FromFile("/proc/self/environ");
  ASSERT_TRUE(environment);
  EXPECT_TRUE(environment->Has("PATH"));
}

TEST(Environment, CountsStrictly) {
  const auto environment = Environment::FromVariables({{"GOOD", "42"},
                                                       {"EMPTY", ""},
                                                       {"NEGATIVE", "-1"},
                                                       {"TEXT", "x"},
                                                       {"BLANK", " 1"},
                                                       {"LARGE", "2147483648"}});
  EXPECT_EQ(*environment.GetCount("GOOD"), 42);
  EXPECT_EQ(*environment.GetCount("ABSENT"), std::nullopt);
  const auto message = [&](std::string_view name) {
    const auto count = environment.GetCount(name);
    return count ? std::string("no error") : count.error().message;
  };
  EXPECT_EQ(message("EMPTY"), "EMPTY is set but empty");
  EXPECT_EQ(message("NEGATIVE"), "NEGATIVE=-1 is negative");
  EXPECT_EQ(message("TEXT"), "TEXT=\"x\" is not a whole number from 0 to 2147483647");
  EXPECT_EQ(message("BLANK"), "BLANK=\" 1\" is not a whole number from 0 to 2147483647");
  EXPECT_EQ(message("LARGE"), "LARGE=\"2147483648\" is not a whole number from 0 to 2147483647");
}

TEST(Environment, KnowsItsProcess) {
  const Environment environment = Environment::OfThisProcess();
  ASSERT_TRUE(environment.live());
  EXPECT_EQ(environment.process()->pid, ::getpid());
  EXPECT_EQ(environment.process()->parent, ::getppid());
  EXPECT_EQ(environment.process()->uid, ::geteuid());
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(environment.host_name(), std::string(name));
  EXPECT_EQ(environment.Get("PATH"), std::string_view(std::getenv("PATH")));
}

// In a child, so that this test's own environment stays as it is.
template <typename Check>
int ExitOfChild(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(Environment, HasTheLongestHostName) {
  const std::string longest(HOST_NAME_MAX, 'a');
  const int status = ExitOfChild([&] {
    if (::unshare(CLONE_NEWUTS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0) ::_exit(2);
    if (::sethostname(longest.data(), longest.size()) != 0) ::_exit(2);
    return Environment::OfThisProcess().host_name() == longest;
  });
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no host name of its own";
  EXPECT_EQ(status, 0);
}

TEST(Environment, SeesWhatItsAncestorStartedWith) {
  const std::string parent = std::to_string(::getpid());
  const auto with = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  EXPECT_EQ(ExitOfChild([&] {
              with("MUSTER_SUPERVISOR_PID", parent);
              with("SLURM_TASK_PID", "1999999999");
              with("ADDED_LATER", "1");
              const Environment environment = Environment::OfThisProcess();
              const auto& process = *environment.process();
              return environment.Has("ADDED_LATER") && process.supervisor != nullptr &&
                     process.supervisor->Has("PATH") && !process.supervisor->Has("ADDED_LATER") &&
                     process.slurm_task == nullptr && !process.supervisor->live() &&
                     process.below_supervisor == true;
            }),
            0);
}

TEST(Environment, AsksNobodyWhereNobodyIsNamed) {
  EXPECT_EQ(ExitOfChild([] {
              ::unsetenv("SLURM_JOB_ID");
              ::unsetenv("MUSTER_SUPERVISOR_PID");
              const auto process = *Environment::OfThisProcess().process();
              return process.supervisor == nullptr && process.slurm_task == nullptr &&
                     !process.below_supervisor && process.slurm_step.empty() && process.pmi_server == 0;
            }),
            0);
}

TEST(Environment, KnowsWhoHoldsTheOtherEndOfPmi) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const pid_t server = ::getpid();
  EXPECT_EQ(ExitOfChild([&] {
              ::setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
              return Environment::OfThisProcess().process()->pmi_server == server;
            }),
            0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Ancestry, BeginsWithTheParent) {
  Ancestry ancestry;
  EXPECT_EQ(ancestry.At(0), ::getppid());
}

// The first of all processes that are visible has no parent.
TEST(Ancestry, EndsWithAProcessThatHasNoParent) {
  Ancestry ancestry;
  size_t last = 0;
  while (ancestry.At(last + 1)) ++last;
  EXPECT_EQ(ParentOf(*ancestry.At(last)).value_or(0), 0);
  EXPECT_TRUE(ancestry.Has(*ancestry.At(last)));
  EXPECT_FALSE(ancestry.Has(::getpid()));
  EXPECT_FALSE(ancestry.Has(0));
}

TEST(Ancestry, ReadsSlurmstepdsTitle) {
  EXPECT_EQ(SlurmStepOfCommandLine("slurmstepd: [13.0]"), "13.0");
  EXPECT_EQ(SlurmStepOfCommandLine(std::string_view("slurmstepd: [13.batch]\0\0", 24)), "13.batch");
  EXPECT_EQ(SlurmStepOfCommandLine("slurmstepd: [13.interactive]"), "13.interactive");
  // srun A : B in an ordinary allocation; Slurm 24.05 with stepmgr.
  EXPECT_EQ(SlurmStepOfCommandLine("slurmstepd: [13.0+1]"), "13.0");
  EXPECT_EQ(SlurmStepOfCommandLine("slurmstepd: [13.extern stepmgr]"), "13.extern");
  EXPECT_EQ(SlurmStepOfCommandLine("slurmstepd"), "");
  EXPECT_EQ(SlurmStepOfCommandLine("slurmstepd: [13.0"), "");
  EXPECT_EQ(SlurmStepOfCommandLine("bash"), "");
}

TEST(Ancestry, ReadsNoMoreThanItMay) {
  const std::string path = testing::TempDir() + "/long";
  std::ofstream(path) << std::string(100, 'x');
  EXPECT_EQ(ReadAll(path, 100), std::string(100, 'x'));
  EXPECT_EQ(ReadAll(path, 99), std::nullopt);
  std::remove(path.c_str());
}

TEST(Ancestry, ReadsSlurmsControlGroup) {
  EXPECT_EQ(SlurmStepOfCgroup("0::/system.slice/slurmstepd.scope/job_13/step_batch/user/task_0\n"),
            "13.batch");
  EXPECT_EQ(SlurmStepOfCgroup("9:cpuset:/\n4:memory:/slurm/uid_1000/job_13/step_2/task_0\n1:pids:/\n"),
            "13.2");
  EXPECT_EQ(SlurmStepOfCgroup("4:freezer:/slurm_gpu01/uid_0/job_13/step_extern\n"), "13.extern");
  EXPECT_EQ(SlurmStepOfCgroup("0::/slurmstepd.scope/job_13/step_0+1/user/task_0\n"), "13.0");
  // Slurm 26.05: a job's directory with another id.
  const std::string job = "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/";
  EXPECT_EQ(SlurmStepOfCgroup(job + "step_batch/user/task_0\n"), "?.batch");
  EXPECT_EQ(SlurmStepOfCgroup(job + "step_interactive/user/task_0\n"), "?.interactive");
  EXPECT_EQ(SlurmStepOfCgroup(job + "step_extern\n"), "?.extern");
  EXPECT_EQ(SlurmStepOfCgroup(job + "step_0/user/task_0\n"), "");
  EXPECT_EQ(SlurmStepOfCgroup("0::/user.slice/step_batches/x\n"), "");
  for (const char* other :
       {"", "0::/\n", "0::/user.slice/job_x/step_0\n", "0::/job_13\n", "0::/step_0/job_13\n"})
    EXPECT_EQ(SlurmStepOfCgroup(other), "") << other;
}

}  // namespace
}  // namespace muster
