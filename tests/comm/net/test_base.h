// A folder of a test's own for private directories, in memory: some file systems take a millisecond for each.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "comm/net/private_directory.h"

namespace muster::net {

struct TestBase {
  // Short: a test's own folder is too long for the name of a socket.
  TestBase() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  TestBase(const TestBase&) = delete;
  TestBase& operator=(const TestBase&) = delete;
  ~TestBase() { std::filesystem::remove_all(path); }

  // The directory that has a socket of that name, bound or dead.
  std::optional<PrivateDirectory> Find(std::string_view socket) const {
    for (PrivateDirectory& directory : PrivateDirectory::FindIn(path)) {
      if (directory.Has(socket)) return std::move(directory);
    }
    return std::nullopt;
  }

  std::string path = "/dev/shm/muster-test-XXXXXX";
};

}  // namespace muster::net
