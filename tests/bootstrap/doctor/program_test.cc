#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bootstrap/doctor/findings.h"

namespace muster::doctor {
namespace {

namespace fs = std::filesystem;

TEST(LookAtProgram, TheFirstInPathMayBeThisOneByALink) {
  const fs::path folder = fs::path(testing::TempDir()) / "program";
  for (const char* name : {"own", "other", "none"}) fs::create_directories(folder / name);
  fs::create_symlink("/proc/self/exe", folder / "own/muster");
  std::ofstream(folder / "other/muster") << "#!/bin/sh\n";
  fs::permissions(folder / "other/muster", fs::perms::owner_all);
  std::ofstream(folder / "none/muster") << "no program";
  const auto look = [&](const std::string& path) {
    return LookAtProgram(Environment::FromVariables({{"PATH", path}}));
  };
  const std::string own = folder / "own";
  const std::string other = folder / "other";
  const std::string none = folder / "none";
  EXPECT_EQ(look(none + ":" + own + ":" + other).in_path, own + "/muster");
  EXPECT_TRUE(look(none + ":" + own + ":" + other).same);
  EXPECT_EQ(look(other + ":" + own).in_path, other + "/muster");
  EXPECT_FALSE(look(other + ":" + own).same);
  EXPECT_EQ(look(none).in_path, "");
  EXPECT_EQ(look(none).path, fs::read_symlink("/proc/self/exe").string());
}

TEST(AddProgram, AnotherOneIsANote) {
  Finding finding{.subject = "system", .found = "Linux 6.1"};
  AddProgram({"/home/ada/.local/bin/muster", "/opt/conda/bin/muster", false}, finding);
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_EQ(
      finding.found,
      "Linux 6.1; this is /home/ada/.local/bin/muster, and PATH has another muster: /opt/conda/bin/muster");
  EXPECT_EQ(finding.remedy, "put this one first: export PATH=\"/home/ada/.local/bin:$PATH\"");
  const std::vector<std::pair<std::string, std::string>> facts = {
      {"program", "/home/ada/.local/bin/muster"}, {"program_in_path", "/opt/conda/bin/muster"}};
  EXPECT_EQ(finding.facts, facts);
}

TEST(AddProgram, TheSameAndNoneAreNot) {
  Finding finding{.subject = "system", .found = "Linux 6.1"};
  AddProgram({"/usr/bin/muster", "/usr/bin/muster", true}, finding);
  AddProgram({"/usr/bin/muster", "", false}, finding);
  AddProgram({"", "/usr/bin/muster", false}, finding);
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_EQ(finding.found, "Linux 6.1");
}

}  // namespace
}  // namespace muster::doctor
