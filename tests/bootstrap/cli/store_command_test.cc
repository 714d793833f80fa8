// `muster store` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/parse.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/tcp_store/client.h"
#include "comm/rendezvous/tcp_store/request.h"
#include "tests/comm/base/folder.h"
#include "tests/comm/net/other_user.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// A running store; its first line has been read.
class RunningStore {
 public:
  explicit RunningStore(std::vector<std::string> arguments) {
    int out[2] = {-1, -1};
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      freopen(log_.c_str(), "w", stderr);
      // A test runner in the background may have it ignored.
      signal(SIGINT, SIG_DFL);
      setenv("MUSTER_LOG_TIME", "none", 1);
      arguments.insert(arguments.begin(), {"muster", "store"});
      std::vector<char*> words;
      for (std::string& argument : arguments) words.push_back(argument.data());
      words.push_back(nullptr);
      execv("bootstrap/cli/muster", words.data());
      _exit(127);
    }
    close(out[1]);
    FILE* lines = fdopen(out[0], "r");
    char line[512] = "";
    EXPECT_NE(fgets(line, sizeof line, lines), nullptr);
    fclose(lines);
    said = line;
  }
  ~RunningStore() { End(SIGKILL); }

  // Its exit status; 128 and the signal's number where that ended it.
  int End(int number) {
    if (pid_ < 0) return -1;
    kill(pid_, number);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  uint16_t Port() const {
    const size_t colon = said.rfind(':');
    return ParseInteger<uint16_t>(Trim(said.substr(colon + 1))).value_or(0);
  }
  std::string Errors() const { return ContentOf(log_); }

  std::string said;

 private:
  pid_t pid_ = -1;
  std::string log_ = testing::TempDir() + "/store_command_test.log";
};

Result<std::unique_ptr<tcp_store::Client>> Connect(uint16_t port) {
  return tcp_store::Client::Connect(*net::SocketAddress::FromNumeric("127.0.0.1", port),
                                    Deadline::After(std::chrono::seconds(10)));
}

TEST(StoreCommand, ServesUntilCtrlC) {
  RunningStore store({"--listen", "127.0.0.1:0"});
  EXPECT_THAT(store.said, MatchesRegex("listening on 127\\.0\\.0\\.1:[0-9]+\n"));
  const auto client = Connect(store.Port());
  ASSERT_TRUE(client) << client.error().message;
  const Deadline soon = Deadline::After(std::chrono::seconds(10));
  EXPECT_TRUE((*client)->Set("n", "3", soon));
  EXPECT_EQ((*client)->Get("n", soon), Result<std::string>("3"));
  EXPECT_EQ(store.End(SIGINT), 0);
  EXPECT_THAT(store.Errors(),
              MatchesRegex("muster: store 127.0.0.1:[0-9]+: ends with 1 clients and 1 keys\n"));
}

TEST(StoreCommand, SaysWhereInJson) {
  RunningStore store({"--json", "--listen", "localhost:0"});
  EXPECT_THAT(store.said, MatchesRegex("\\{\"listen\":\".*:[0-9]+\",\"host\":\".*\",\"port\":[0-9]+\\}\n"));
  EXPECT_EQ(store.End(SIGTERM), 0);
}

TEST(StoreCommand, WarnsWhereOthersCanReachIt) {
  RunningStore store({"--listen", "0.0.0.0:0"});
  EXPECT_THAT(store.said, StartsWith("listening on 0.0.0.0:"));
  EXPECT_EQ(store.End(SIGTERM), 0);
  EXPECT_THAT(store.Errors(), HasSubstr("warning: store 0.0.0.0:"));
  EXPECT_THAT(store.Errors(),
              HasSubstr("the protocol has no authentication; every process of another machine that "
                        "reaches this address may read and write\n"));
}

// Of a client that only sends: greeting, and a key.
Bytes GreetingAndKey() {
  Bytes bytes;
  tcp_store::Encode({tcp_store::Operation::kValidate, {}, tcp_store::kValidationNumber}, bytes);
  tcp_store::Encode({tcp_store::Operation::kSet, {"stranger", "1"}}, bytes);
  return bytes;
}

// True if the store has closed the connection, or the connection is closed here without a wait for that.
bool IsClosedOut(uint16_t port, bool waits) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = *net::SocketAddress::FromNumeric("127.0.0.1", port);
  const Bytes bytes = GreetingAndKey();
  if (connect(fd.get(), address.get(), address.length()) != 0) return false;
  send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  const timeval limit{20, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char byte = 0;
  return !waits || recv(fd.get(), &byte, 1, 0) == 0 || errno == ECONNRESET;
}

class OtherUsersOfTheMachineTest : public testing::TestWithParam<const char*> {};

TEST_P(OtherUsersOfTheMachineTest, AreClosedOut) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
  RunningStore store({"--listen", GetParam()});
  // The second one is gone when the store accepts it, or soon after.
  const net::OtherProcess stranger(
      [&] { return IsClosedOut(store.Port(), true) && IsClosedOut(store.Port(), false); },
      net::OtherProcess::kNoOwner);
  EXPECT_TRUE(stranger.acted());
  const auto client = Connect(store.Port());
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_TRUE((*client)->Set("n", "3", Deadline::After(std::chrono::seconds(10))));
  EXPECT_EQ((*client)->Get("n", Deadline::After(std::chrono::seconds(10))), Result<std::string>("3"));
  EXPECT_EQ(store.End(SIGINT), 0);
  EXPECT_THAT(store.Errors(), HasSubstr("closed the connection from 127.0.0.1:"));
  EXPECT_THAT(store.Errors(), HasSubstr(": it belongs to another user, uid 65534\n"));
  EXPECT_THAT(store.Errors(), HasSubstr("ends with 1 clients and 1 keys\n"));
}

INSTANTIATE_TEST_SUITE_P(Addresses, OtherUsersOfTheMachineTest, testing::Values("127.0.0.1:0", "0.0.0.0:0"));

// Its user is unknown in there, but the kernel has it.
TEST(StoreCommand, ServesItsUserInAUserNamespace) {
  const auto enter = [] { return unshare(CLONE_NEWUSER) == 0; };
  if (!net::OtherProcess(enter).acted()) GTEST_SKIP() << "needs a user namespace";
  RunningStore store({"--listen", "127.0.0.1:0"});
  const net::OtherProcess client([&] {
    if (!enter()) return false;
    const auto connected = Connect(store.Port());
    const Deadline soon = Deadline::After(std::chrono::seconds(10));
    return connected && (*connected)->Set("n", "3", soon) && (*connected)->Get("n", soon).value_or("") == "3";
  });
  EXPECT_TRUE(client.acted());
}

TEST(StoreCommand, ATakenAddressIsNamed) {
  RunningStore store({"--listen", "127.0.0.1:0"});
  const std::string command =
      "MUSTER_LOG_TIME=none bootstrap/cli/muster store --listen 127.0.0.1:" + std::to_string(store.Port()) +
      " 2>&1 </dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  char line[512] = "";
  EXPECT_NE(fgets(line, sizeof line, pipe), nullptr);
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 71);
  EXPECT_THAT(line, MatchesRegex("muster: error: cannot bind 127.0.0.1:[0-9]+: Address already in use "
                                 "\\(choose an address of this machine and a free port with --listen; port 0 "
                                 "is any free port\\)\n"));
}

}  // namespace
}  // namespace muster::cli
