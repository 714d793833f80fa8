// `muster store` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/parse.h"
#include "comm/rendezvous/tcp_store/client.h"
#include "tests/comm/base/folder.h"

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
  EXPECT_THAT(store.Errors(), HasSubstr("the protocol has no authentication; every process that reaches this "
                                        "address may read and write\n"));
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
