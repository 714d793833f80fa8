// A YAML file for one test case.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace muster::config {

class TemporaryYaml {
 public:
  explicit TemporaryYaml(const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + ".yaml")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryYaml(const TemporaryYaml&) = delete;
  TemporaryYaml& operator=(const TemporaryYaml&) = delete;
  ~TemporaryYaml() { std::filesystem::remove(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace muster::config
