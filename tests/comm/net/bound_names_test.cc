#include "comm/net/bound_names.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/comm/net/test_base.h"

namespace muster::net {
namespace {

std::string of_other;

// A name that exit() has removed may be another process's meanwhile.
TEST(BoundNames, AreNotRemovedTwiceAtExit) {
  const TestBase base;
  const std::string directory = base.path + "/directory";
  std::filesystem::create_directory(directory);
  of_other = directory + "/name";
  const pid_t child = fork();
  if (child == 0) {
    // A handler that is registered first runs last.
    std::atexit([] {
      const bool removed = access(of_other.c_str(), F_OK) != 0;
      _exit(removed && !ForgetBoundName(of_other) ? 0 : 1);
    });
    RememberBoundName(of_other, directory);
    if (!ForgetBoundName(of_other) || ForgetBoundName(of_other)) _exit(3);
    close(open(of_other.c_str(), O_CREAT | O_CLOEXEC | O_RDONLY, 0600));
    RememberBoundName(of_other, directory);
    std::exit(2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace muster::net
