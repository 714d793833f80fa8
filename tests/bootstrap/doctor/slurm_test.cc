#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "bootstrap/doctor/findings.h"

namespace muster::doctor {
namespace {

void Script(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  chmod(path.c_str(), 0755);
}

Environment With(const std::string& path) {
  return Environment::FromVariables({{"PATH", path}, {"SLURM_JOB_ID", "7"}, {"MUSTER_SECRET", "hidden"}});
}

constexpr Duration kEach = std::chrono::seconds(20);

TEST(LookAtSlurm, AsksSrunAndTheHelper) {
  const std::string folder = testing::TempDir();
  Script(folder + "/srun", "[ -z \"$MUSTER_SECRET\" ] && echo \"slurm 23.11.4\"");
  Script(folder + "/helper", "echo usage");
  const SlurmFacts facts = LookAtSlurm(With(folder), folder + "/helper", kEach);
  ASSERT_TRUE(facts.version);
  EXPECT_EQ(*facts.version, "slurm 23.11.4");
  EXPECT_TRUE(facts.helper);
  EXPECT_EQ(JudgeSlurm(facts).found, "slurm 23.11.4, in job 7");
  EXPECT_EQ(JudgeSlurm(facts).health, Health::kOk);
}

TEST(LookAtSlurm, AHelperThatDoesNotRunIsANote) {
  const std::string folder = testing::TempDir();
  Script(folder + "/srun", "echo slurm 20.11.7");
  const Finding finding = JudgeSlurm(LookAtSlurm(With(folder), "/nonexistent/muster-slurm", kEach));
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_TRUE(finding.found.starts_with("slurm 20.11.7, in job 7; ")) << finding.found;
}

// Of 20 s each takes 15.
TEST(LookAtSlurm, ASlowSrunLeavesTheHelperItsTime) {
  const std::string folder = testing::TempDir();
  const std::string slow = "printf 123456789012345 >>" + folder + "/clock; ";
  Script(folder + "/srun", slow + "echo slurm 23.11.4");
  Script(folder + "/helper", slow + "echo usage");
  setenv("CLOCK_AHEAD", (folder + "/clock").c_str(), 1);
  const SlurmFacts facts = LookAtSlurm(With(folder), folder + "/helper", kEach);
  unsetenv("CLOCK_AHEAD");
  EXPECT_TRUE(facts.version);
  EXPECT_TRUE(facts.helper) << facts.helper.error().message;
}

TEST(JudgeSlurm, NoSlurmIsFineOutsideAJob) {
  SlurmFacts facts{Fail(Code::kConfiguration, "no srun"), {}, ""};
  EXPECT_EQ(JudgeSlurm(facts).found, "no srun in PATH");
  EXPECT_EQ(JudgeSlurm(facts).health, Health::kOk);
  facts.job = "7";
  EXPECT_EQ(JudgeSlurm(facts).health, Health::kNote);
  EXPECT_EQ(JudgeSlurm(facts).remedy,
            "add the directory of srun to PATH, for example with the module of Slurm");
  facts.version = Fail(Code::kSystem, "srun ended with 1: no configuration");
  EXPECT_EQ(JudgeSlurm(facts).found, "srun ended with 1: no configuration");
  EXPECT_EQ(JudgeSlurm(facts).remedy, "run srun --version: it must print its version");
}

}  // namespace
}  // namespace muster::doctor
