// Ranks as processes, one of which is killed in the middle of its work: the others end soon, and all with the
// same sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "comm/socket/endpoint.h"
#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

constexpr int kRanks = 6;
constexpr size_t kText = 256;

// What the processes share; the fake control plane.
struct Shared {
  std::atomic<int> failing;  // the first to come fails the group
  std::atomic<int> known;    // `failure` is written
  char failure[kText];
  char result[kRanks][kText];
};

void Store(char (&to)[kText], const std::string& text) { std::strncpy(to, text.c_str(), kText - 1); }

class SharedGroup final : public Group {
 public:
  SharedGroup(const Roster& roster, int rank, int fd, Shared& shared)
      : roster_(roster), rank_(rank), fd_(fd), shared_(shared) {
    key_.fill(3);
  }
  int rank() const override { return rank_; }
  const Roster& roster() const override { return roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> Exchange(std::string_view, ByteView, Deadline) override {
    return muster::Fail(Code::kInternal, "the fake group exchanges nothing");
  }
  int failure_fd() const override { return fd_; }
  std::optional<Error> failure() const override {
    if (shared_.known.load() == 0) return std::nullopt;
    return Error{Code::kPeerLost, shared_.failure, ""};
  }
  void Fail(const Error& error) override {
    if (shared_.failing.exchange(1) != 0) return;
    Store(shared_.failure, error.message);
    shared_.known.store(1);
    const uint64_t one = 1;
    EXPECT_EQ(write(fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  Status Leave(Deadline) override { return {}; }

 private:
  const Roster& roster_;
  const int rank_;
  const int fd_;
  Shared& shared_;
  GroupKey key_{};
};

class KilledProcessTest : public testing::Test {
 protected:
  KilledProcessTest()
      : shared_(static_cast<Shared*>(
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        failed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (int rank = 0; rank < kRanks; ++rank) {
      endpoints_.push_back(*SocketEndpoint::Open());
      payloads_.push_back(endpoints_.back()->payload());
    }
  }
  ~KilledProcessTest() override { munmap(shared_, sizeof(Shared)); }

  // Rank `victim` kills itself in its third call; everybody else goes on until an error.
  void Fork(int victim) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t pid = fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) RunRank(rank, victim);
      pids_.push_back(pid);
    }
    endpoints_.clear();
  }
  [[noreturn]] void RunRank(int rank, int victim) {
    alarm(60);
    SharedGroup group(roster_, rank, failed_.get(), *shared_);
    auto mine = std::move(endpoints_[static_cast<size_t>(rank)]);
    endpoints_.clear();
    SocketOptions options = TestOptions();
    auto world = MakeSocketCommunicator(group, std::move(mine), payloads_, options);
    Status status;
    for (int call = 1; world && status; ++call) {
      if (rank == victim && call == 3) raise(SIGKILL);
      int64_t value = rank;
      status = (*world)->AllReduce(std::span(&value, 1), ReduceOp::kSum);
    }
    Store(shared_->result[rank], MessageOf(status));
    _exit(0);
  }
  void Wait(int rank) {
    int status = 0;
    ASSERT_EQ(waitpid(pids_.at(static_cast<size_t>(rank)), &status, 0), pids_.at(static_cast<size_t>(rank)));
    EXPECT_TRUE(WIFEXITED(status) || WTERMSIG(status) == SIGKILL) << rank << " took too long";
  }
  void ExpectAll(int victim, const std::string& message) {
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == victim) continue;
      Wait(rank);
      EXPECT_EQ(shared_->result[rank], message) << rank;
    }
  }

  Shared* const shared_;
  const UniqueFd failed_;
  const Roster roster_ = MakeRoster(BlockLayout({2, 2, 2}));
  std::vector<std::unique_ptr<SocketEndpoint>> endpoints_;
  std::vector<Bytes> payloads_;
  std::vector<pid_t> pids_;
};

TEST_F(KilledProcessTest, IsNamedByTheControlPlaneWhereThatKnows) {
  Fork(3);
  Wait(3);
  SharedGroup control(roster_, 3, failed_.get(), *shared_);
  control.Fail({Code::kPeerLost, "rank 3 on gpu02 was killed by signal 9", ""});
  ExpectAll(3, "rank 3 on gpu02 was killed by signal 9");
}

TEST_F(KilledProcessTest, IsNamedByItsConnectionsWhereItDoesNot) {
  Fork(2);
  Wait(2);
  ExpectAll(2, "rank 2 on gpu02 closed its connection during AllReduce #3 i64[1]");
}

}  // namespace
}  // namespace muster
