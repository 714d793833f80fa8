// Helpers for the tests of OpenForWriting, and their fixture.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "comm/log/open_for_writing.h"
#include "tests/comm/base/another_user.h"

namespace muster {

// Appends a word; "" or the error.
inline std::string Append(const std::string& path) {
  const auto file = OpenForWriting(path);
  if (!file) return file.error().message;
  return write(file->get(), "new", 3) == 3 ? "" : std::strerror(errno);
}
inline std::string AppendAsVictim(const std::string& path) {
  return As(kVictim, [&] { return Append(path); });
}

// Makes the directories; "" or the error.
inline std::string Made(const std::string& path) {
  const Status made = MakeDirectories(path);
  return made ? "" : made.error().message;
}

// "there", "absent" or the error.
inline std::string FoundDirectory(const std::string& path) {
  const auto found = FindDirectoryForWriting(path);
  if (!found) return found.error().message;
  return *found ? "there" : "absent";
}

// As the user of the test.
class OpenForWritingTest : public testing::Test {
 protected:
  SharedFolder folder;
  uid_t own = geteuid();
};

}  // namespace muster
