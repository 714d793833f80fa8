// The files that the documentation recommends: each loads, changes something, and has its purpose in a
// comment.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "bootstrap/config/load.h"
#include "bootstrap/config/text/read_file.h"

namespace muster::config {
namespace {

std::vector<std::filesystem::path> ShippedFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (entry.path().extension() == ".yaml" && entry.path().filename() != "default.yaml") {
      files.push_back(entry.path());
    }
  }
  return files;
}

Config Load(const std::filesystem::path& file) {
  const auto loaded = LoadConfig(file, {}, {});
  EXPECT_TRUE(loaded) << file << ": " << loaded.error().message;
  return loaded ? loaded->config : Config();
}

TEST(ShippedFiles, LoadAndChangeSomething) {
  const auto files = ShippedFiles();
  EXPECT_GE(files.size(), 6U);
  for (const auto& file : files) {
    const auto loaded = LoadConfig(file, {}, {});
    ASSERT_TRUE(loaded) << file << ": " << loaded.error().message;
    EXPECT_NE(loaded->config, Config()) << file;
    EXPECT_TRUE(loaded->warnings.empty()) << file;
  }
}

TEST(ShippedFiles, SayWhatTheyAreForAndWhereTheSchemaIs) {
  for (const auto& file : ShippedFiles()) {
    const auto text = ReadSmallFile(file, 1 << 16);
    ASSERT_TRUE(text) << file;
    EXPECT_TRUE(text->starts_with("# ")) << file;
    EXPECT_NE(text->find("\n# yaml-language-server: $schema=schema.json\n"), std::string::npos) << file;
    // How it is used, by its own name.
    EXPECT_NE(text->find("-c configs/" + file.filename().string()), std::string::npos) << file;
  }
}

TEST(ShippedFiles, EvaluationsMayBeUneven) {
  const Config config = Load("configs/eval.yaml");
  EXPECT_EQ(config.timeouts.collective, std::chrono::seconds(60000));
  EXPECT_EQ(config.timeouts.barrier, std::chrono::seconds(60000));
  EXPECT_EQ(config.liveness, Config().liveness);
}

TEST(ShippedFiles, TheStrictOneGuessesNothing) {
  const Config config = Load("configs/eval-strict.yaml");
  EXPECT_EQ(config.launcher, "slurm");
  EXPECT_EQ(config.rendezvous.auth, AuthMethod::kMunge);
  EXPECT_EQ(config.rendezvous.protect, Protect::kControl);
  EXPECT_TRUE(config.run.stop_on_failure);
}

}  // namespace
}  // namespace muster::config
