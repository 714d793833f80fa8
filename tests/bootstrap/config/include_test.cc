// Files that include others: whose values win, and what an error names.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bootstrap/config/explain.h"
#include "bootstrap/config/load.h"

namespace muster::config {
namespace {

using Files = std::map<std::string, std::string>;  // path, text

Result<EffectiveConfig> Load(const Files& files, const std::string& file) {
  return LoadConfig(file, {}, {}, [&](const std::filesystem::path& path) -> Result<std::string> {
    const auto found = files.find(path.native());
    if (found == files.end()) return Fail(Code::kConfiguration, "cannot read {}", path.native());
    return found->second;
  });
}

void ExpectError(const Files& files, const std::string& message, const std::string& hint = "") {
  const auto loaded = Load(files, "d/a.yaml");
  ASSERT_FALSE(loaded) << message;
  EXPECT_EQ(loaded.error().code, Code::kConfiguration);
  EXPECT_EQ(loaded.error().message, message);
  EXPECT_EQ(loaded.error().hint, hint);
}

TEST(Include, HasTheFilesValuesBeforeItsOwn) {
  const Files files = {
      {"d/a.yaml", "timeouts: {init: 1s}\ninclude: [b.yaml, ../c.yaml]\nbackend: socket\n"},
      {"d/b.yaml", "timeouts: {init: 2s, barrier: 2s, connect: 2s}\nbackend: nccl\n"},
      {"d/../c.yaml", "timeouts: {barrier: 3s}\nrun: {env: {A: b}}\n"},
  };
  const auto loaded = Load(files, "d/a.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Config& config = loaded->config;
  EXPECT_EQ(config.timeouts.init, std::chrono::seconds(1));
  EXPECT_EQ(config.timeouts.barrier, std::chrono::seconds(3));
  EXPECT_EQ(config.timeouts.connect, std::chrono::seconds(2));
  EXPECT_EQ(config.backend, Backend::kSocket);
  EXPECT_EQ(loaded->origins.at("timeouts.init"), "d/a.yaml:1:18");
  EXPECT_EQ(loaded->origins.at("timeouts.barrier"), "d/../c.yaml:1:21");
  EXPECT_EQ(loaded->origins.at("timeouts.connect"), "d/b.yaml:1:44");
  EXPECT_EQ(loaded->origins.at("include"), "d/a.yaml:2:10");
  // It is read: a process that receives the configuration as text needs no file.
  EXPECT_EQ(config.include, Includes());
  const auto again = LoadConfigText(ToYaml(*loaded, true), "text");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->config, config);
}

TEST(Include, MayBeNestedAbsoluteTwiceTheSameAndNull) {
  const Files files = {
      {"d/a.yaml", "include: [e/b.yaml, e/c.yaml]\n"},
      {"d/e/b.yaml", "include: c.yaml\ntimeouts: {init: 2s}\n"},
      {"d/e/c.yaml", "include: /f.yaml\ntimeouts: {init: 3s}\n"},
      {"/f.yaml", "include: null\ntimeouts: {init: 4s, barrier: 4s}\n"},
  };
  const auto loaded = Load(files, "d/a.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.timeouts.init, std::chrono::seconds(3));
  EXPECT_EQ(loaded->config.timeouts.barrier, std::chrono::seconds(4));
}

TEST(Include, ErrorsNameTheFileInWhichTheyAre) {
  const std::string a = "timeouts: {init: 1s}\ninclude:\n  - b.yaml\n";
  ExpectError({{"d/a.yaml", a}}, "d/a.yaml:3:5: include: cannot read d/b.yaml");
  ExpectError({{"d/a.yaml", a}, {"d/b.yaml", "\ntimeouts: {init: soon}\n"}},
              "d/b.yaml:2:18: timeouts.init: \"soon\" is not a duration: a number is expected",
              "write for example 500ms, 30s, 10m or 16h40m; a bare number is seconds");
  ExpectError({{"d/a.yaml", a}, {"d/b.yaml", "[\n"}},
              "d/b.yaml:2:1: broken YAML: end of sequence flow not found");
  ExpectError({{"d/a.yaml", a}, {"d/b.yaml", "include: {x: y}\n"}},
              "d/b.yaml:1:10: include: a file, a list of files, or null is expected, not a map");
  ExpectError({{"d/a.yaml", "include: ['']\n"}}, "d/a.yaml:1:10: include: the name of a file is empty");
}

TEST(Include, RefusesACycle) {
  const std::string hint = "remove one of the includes";
  ExpectError({{"d/a.yaml", "include: ../d/a.yaml\n"}},
              "d/a.yaml:1:10: include: a cycle: d/a.yaml includes d/a.yaml", hint);
  ExpectError({{"d/a.yaml", "include: b.yaml\n"},
               {"d/b.yaml", "include: c.yaml\n"},
               {"d/c.yaml", "include: [b.yaml]\n"}},
              "d/c.yaml:1:11: include: a cycle: d/b.yaml includes d/c.yaml includes d/b.yaml", hint);
}

TEST(Include, ReadsABoundedNumberOfFiles) {
  Files files;
  for (int i = 0; i < 64; ++i) {
    files[fmt::format("{}.yaml", i)] = fmt::format("include: {}.yaml\n", i + 1);
  }
  files["64.yaml"] = "backend: socket\n";
  EXPECT_TRUE(Load(files, "1.yaml"));
  const auto loaded = Load(files, "0.yaml");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "63.yaml:1:10: include: more than 64 files for one configuration");
}

TEST(Include, IsForFilesOnly) {
  const auto set = LoadConfig({}, {}, {"include=a.yaml"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message, "--set include: only a file can include files");
  const auto text = LoadConfigText("include: a.yaml\n", "muster run");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "muster run:1:10: include: only a file can include files");
  // A site's module may have a variable of this name, for the headers.
  const auto variable = LoadConfig({}, {{"MUSTER_INCLUDE", "/opt/muster/include"}}, {});
  ASSERT_TRUE(variable);
  EXPECT_TRUE(variable->warnings.empty());
}

}  // namespace
}  // namespace muster::config
