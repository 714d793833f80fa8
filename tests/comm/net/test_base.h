// A folder of a test's own for private directories, in memory: some file systems take a millisecond for each.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace muster::net {

struct TestBase {
  // Short: a test's own folder is too long for the name of a socket.
  TestBase() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  TestBase(const TestBase&) = delete;
  TestBase& operator=(const TestBase&) = delete;
  ~TestBase() { std::filesystem::remove_all(path); }

  std::string path = "/dev/shm/muster-test-XXXXXX";
};

}  // namespace muster::net
