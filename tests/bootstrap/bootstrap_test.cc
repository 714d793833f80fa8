#include "bootstrap/bootstrap.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace muster {
namespace {

// The group is one per process: each case has a process of its own. The result of `body` is that process's
// exit status.
int InNewProcess(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int OpenDescriptors() {
  int open = 0;
  for (int fd = 0; fd < 256; ++fd) open += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return open;
}

bool HasPort() {
  for (int fd = 0; fd < 256; ++fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    const bool is_socket = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0;
    if (is_socket && (domain == AF_INET || domain == AF_INET6)) return true;
  }
  return false;
}

// `port` distinguishes the launch. `body`: 0, or the exit status.
int RunRankOfTwo(const char* rank, const std::string& port, const std::function<int(Communicator&)>& body) {
  for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, rank, 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", port.c_str(), 1);
  const Result<Communicator*> group = Init();
  if (!group || (*group)->size() != 2) return 1;
  if (!(*group)->Barrier()) return 2;
  if (const int failed = body(**group); failed != 0) return failed;
  return Shutdown() ? 0 : 3;
}

int InTwoRanks(
    const std::function<int(Communicator&)>& body, const std::function<void()>& before = [] {}) {
  return InNewProcess([&] {
    before();
    const std::string port = std::to_string(20000 + getpid() % 20000);
    const pid_t other = fork();
    if (other == 0) _exit(RunRankOfTwo("1", port, body));
    const int own = RunRankOfTwo("0", port, body);
    int status = 0;
    waitpid(other, &status, 0);
    return own != 0 ? own : status;
  });
}

TEST(Init, WithoutALauncherIsAWorldOfOneAtNoCost) {
  EXPECT_EQ(0, InNewProcess([] {
              const int before = OpenDescriptors();
              const Result<Communicator*> group = Init();
              if (!group || (*group)->size() != 1 || (*group)->rank() != 0) return 1;
              if (!(*group)->Barrier()) return 2;
              std::array<int32_t, 2> values = {3, 4};
              if (!(*group)->AllReduce(std::span<int32_t>(values), ReduceOp::kSum) || values[1] != 4)
                return 3;
              if (OpenDescriptors() != before) return 4;
              if (InitializedTuple() == nullptr || InitializedTuple()->launcher != "none") return 5;
              return Shutdown() ? 0 : 6;
            }));
}

TEST(Init, RanksOfALaunchOfOneNodeOpenNoPort) {
  EXPECT_EQ(0, InTwoRanks([](Communicator&) { return HasPort() ? 4 : 0; }));
}

// A daemon may have none, and opens others in their place: nothing of the group may be there.
TEST(Init, LeavesClosedStandardDescriptorsToTheProgram) {
  const auto is_closed = [](int fd) { return fcntl(fd, F_GETFD) < 0; };
  EXPECT_EQ(
      0, InTwoRanks(
             [&](Communicator&) {
               return is_closed(STDIN_FILENO) && is_closed(STDOUT_FILENO) && is_closed(STDERR_FILENO) ? 0 : 5;
             },
             [] {
               for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
             }));
}

TEST(Init, ASecondCallIsTheFirstGroup) {
  EXPECT_EQ(0, InNewProcess([] {
              const Result<Communicator*> first = Init();
              const Result<Communicator*> second = Init();
              return first && second && *first == *second ? 0 : 1;
            }));
}

TEST(Init, ASecondCallWithOtherOptionsIsRefused) {
  EXPECT_EQ(0, InNewProcess([] {
              if (!Init()) return 1;
              const Result<Communicator*> second = Init({std::nullopt, {"timeouts.collective=1h"}});
              if (second) return 2;
              const Error expected{Code::kConfiguration,
                                   "a second muster::Init has another configuration than the first", ""};
              return second.error() == expected ? 0 : 3;
            }));
}

TEST(Init, IsRefusedInAForkedChild) {
  EXPECT_EQ(0, InNewProcess([] {
              if (!Init()) return 1;
              const pid_t parent = getpid();
              return InNewProcess([parent] {
                const Result<Communicator*> again = Init();
                if (again || again.error().code != Code::kUsage) return 2;
                const std::string expected = fmt::format(
                    "muster::Init in a forked child: its group belongs to the parent, pid {}", parent);
                return again.error().message == expected ? 0 : 3;
              });
            }));
}

// Another thread of the parent is in Init, which waits for the second rank.
TEST(Init, IsRefusedInAChildThatWasForkedDuringACall) {
  EXPECT_EQ(0, InNewProcess([] {
              for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, "1", 1);
              setenv("WORLD_SIZE", "2", 1);
              setenv("MASTER_ADDR", "127.0.0.1", 1);
              setenv("MASTER_PORT", std::to_string(20000 + getpid() % 20000).c_str(), 1);
              const int before = OpenDescriptors();
              std::thread([] { static_cast<void>(Init()); }).detach();
              while (OpenDescriptors() == before) std::this_thread::yield();
              return InNewProcess([] {
                alarm(60);  // it did not return
                if (InitializedTuple() != nullptr || !Shutdown()) return 2;
                const Result<Communicator*> again = Init();
                if (again || again.error().code != Code::kUsage) return 3;
                return again.error().message ==
                               "muster::Init in a child that was forked during a call of muster in the parent"
                           ? 0
                           : 4;
              });
            }));
}

TEST(Init, ABadConfigurationIsNamed) {
  EXPECT_EQ(
      0, InNewProcess([] {
        const Result<Communicator*> group = Init({std::nullopt, {"timeouts.colective=1h"}});
        if (group || group.error().code != Code::kConfiguration) return 1;
        return group.error().message ==
                       "--set: unknown key \"timeouts.colective\"; did you mean \"timeouts.collective\"?"
                   ? 0
                   : 2;
      }));
}

TEST(Init, AnAllocationWithoutARankIsRefused) {
  EXPECT_EQ(0, InNewProcess([] {
              setenv("SLURM_JOB_ID", "7", 1);
              setenv("SLURM_JOB_NODELIST", "gpu[01-02]", 1);
              setenv("SLURM_JOB_NUM_NODES", "2", 1);
              setenv("SLURM_NTASKS", "4", 1);
              setenv("SLURM_TASKS_PER_NODE", "2(x2)", 1);
              const Result<Communicator*> group = Init();
              return !group && group.error().code == Code::kNotLaunched ? 0 : 1;
            }));
}

TEST(Init, MayBeCalledAgainAfterAnErrorAndAfterShutdown) {
  EXPECT_EQ(0, InNewProcess([] {
              if (Init({std::nullopt, {"timeouts.colective=1h"}})) return 1;
              for (int group = 0; group < 2; ++group) {
                const Result<Communicator*> formed = Init();
                if (!formed || !(*formed)->Barrier()) return 2;
                if (!Shutdown() || InitializedTuple() != nullptr) return 3;
              }
              return 0;
            }));
}

// The group is the parent's; the child's own Shutdown and Abandon leave it as it is.
TEST(Shutdown, InAForkedChildDoesNothing) {
  EXPECT_EQ(0, InNewProcess([] {
              const Result<Communicator*> group = Init();
              if (!group) return 1;
              const int child = InNewProcess([] {
                Abandon("gave up");
                return Shutdown() ? 0 : 2;
              });
              return child == 0 && (*group)->Barrier() && InitializedTuple() != nullptr ? 0 : 3;
            }));
}

TEST(BeginMap, BeforeInitAndInAForkedChildIsRefused) {
  EXPECT_EQ(0, InNewProcess([] {
              const auto refused = [] {
                const auto member = BeginMap({}, {});
                return !member && member.error().code == Code::kUsage;
              };
              if (!refused()) return 1;
              if (!Init()) return 2;
              return InNewProcess([&] { return refused() ? 0 : 3; });
            }));
}

TEST(InitializedTimeouts, AreThoseOfTheConfiguration) {
  EXPECT_EQ(0, InNewProcess([] {
              if (InitializedTimeouts() != nullptr) return 1;
              if (!Init({std::nullopt, {"timeouts.collective=2h"}})) return 2;
              if (InitializedTimeouts()->collective != std::chrono::hours(2)) return 3;
              return Shutdown() && InitializedTimeouts() == nullptr ? 0 : 4;
            }));
}

TEST(Abandon, WithoutAGroupDoesNothing) {
  EXPECT_EQ(0, InNewProcess([] {
              Abandon("gave up");
              return Init() ? 0 : 1;
            }));
}

TEST(Shutdown, BeforeInitDoesNothing) {
  EXPECT_EQ(0, InNewProcess([] { return Shutdown() && InitializedTuple() == nullptr ? 0 : 1; }));
}

}  // namespace
}  // namespace muster
