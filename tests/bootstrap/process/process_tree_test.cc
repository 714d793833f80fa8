#include "bootstrap/process/process_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "comm/system/proc_file.h"
#include "tests/bootstrap/process/finish_child.h"

namespace muster::process {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// When it has written `expected` to its standard error.
std::unique_ptr<Child> Up(const ChildOptions& options, const std::string& expected) {
  auto child = Started(options);
  const UniqueFd said = child->TakeStderr();
  std::string text;
  while (text.size() < expected.size() && WaitReadable(said.get())) {
    char buffer[16];
    const ssize_t got = read(said.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_EQ(text, expected);
  return child;
}

std::unique_ptr<Child> StartedAndUp(const std::string& script, const std::string& expected) {
  return Up(Shell(script), expected);
}

// The kernel names a process by its program when execve replaces it.
bool AwaitName(pid_t pid, const std::string& name) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(20));
  while (!deadline.Expired()) {
    if (ReadProcFile(fmt::format("/proc/{}/comm", pid)) == name) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// A shell with two children, one of which has a child; all of them wait.
std::unique_ptr<Child> Family() {
  return StartedAndUp("sh -c 'sleep 1000 & echo up >&2; wait' & sleep 1000 & echo up >&2; wait", "up\nup\n");
}

TEST(ProcessTree, HasEverybodyBelowParentsFirst) {
  const auto child = Family();
  const std::vector<pid_t> tree = ProcessTree(child->pid());
  ASSERT_THAT(tree, SizeIs(4));
  EXPECT_EQ(tree[0], child->pid());
}

TEST(ProcessTree, OfSomebodyAlone) {
  const auto child = Started(Shell("exec sleep 1000"));
  EXPECT_THAT(ProcessTree(child->pid()), ElementsAre(child->pid()));
}

TEST(IdentityOf, TellsOneProgramFromTheNextInTheSameProcess) {
  int input[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  const UniqueFd read_end(input[0]);
  const UniqueFd write_end(input[1]);
  ChildOptions options = Shell("echo up >&2; read -r line; exec sleep 1000");
  options.stdin_end = read_end.get();
  // The kernel sets the address of its stack after the start has returned.
  const auto child = Up(options, "up\n");
  const auto shell = IdentityOf(child->pid());
  ASSERT_TRUE(shell);
  EXPECT_EQ(shell->pid, child->pid());
  EXPECT_EQ(IdentityOf(child->pid()), shell);
  ASSERT_EQ(write(write_end.get(), "\n", 1), 1);
  ASSERT_TRUE(AwaitName(child->pid(), "sleep\n"));
  const auto program = IdentityOf(child->pid());
  ASSERT_TRUE(program);
  EXPECT_EQ(program->pid, shell->pid);
  EXPECT_EQ(program->started, shell->started);
  EXPECT_NE(program, shell);
}

TEST(IdentityOf, AZombieHasNone) {
  const auto child = Started(Shell("exit 0"));
  ASSERT_TRUE(AwaitExit(*child));
  EXPECT_EQ(IdentityOf(child->pid()), std::nullopt);
}

TEST(HoldsSocket, KnowsOwnSockets) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  struct stat status {};
  ASSERT_EQ(fstat(one.get(), &status), 0);
  EXPECT_TRUE(HoldsSocket(getpid(), status.st_ino));
  one.Reset();
  EXPECT_FALSE(HoldsSocket(getpid(), status.st_ino));
  EXPECT_FALSE(HoldsSocket(1, 0));
}

}  // namespace
}  // namespace muster::process
