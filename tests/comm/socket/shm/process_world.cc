#include "tests/comm/socket/shm/process_world.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

namespace muster::socket {
namespace {

constexpr size_t kMostRanks = 32;
constexpr size_t kLongestPayload = 64;
using Text = std::array<char, 256>;

void Store(Text& to, const std::string& text) { std::strncpy(to.data(), text.c_str(), to.size() - 1); }

}  // namespace

struct ProcessWorld::Shared {
  std::atomic<int> failing;  // the first to come fails the group
  std::atomic<int> known;    // `failure` is written
  std::atomic<int> done;
  Text failure;
  std::array<Text, kMostRanks> results;
  std::atomic<int> open;  // ranks that have an endpoint
  std::array<std::array<uint8_t, kLongestPayload>, kMostRanks> payloads;
  std::array<size_t, kMostRanks> payload_sizes;
};

class ProcessWorld::SharedGroup final : public Group {
 public:
  SharedGroup(const Roster& roster, int rank, int fd, Shared& shared)
      : roster_(roster), rank_(rank), fd_(fd), shared_(shared) {
    key_.fill(3);
  }
  int rank() const override { return rank_; }
  const Roster& roster() const override { return roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view, ByteView, Deadline) override {
    return muster::Fail(Code::kInternal, "the fake group exchanges nothing");
  }
  int failure_fd() const override { return fd_; }
  std::optional<Error> failure() const override {
    if (shared_.known.load() == 0) return std::nullopt;
    return Error{Code::kPeerLost, shared_.failure.data(), ""};
  }
  void Fail(const Error& error) override {
    if (shared_.failing.exchange(1) != 0) return;
    Store(shared_.failure, error.message);
    shared_.known.store(1);
    EXPECT_EQ(eventfd_write(fd_, 1), 0);
  }
  Status Leave(Deadline) override { return {}; }

 private:
  const Roster& roster_;
  const int rank_;
  const int fd_;
  Shared& shared_;
  GroupKey key_{};
};

ProcessWorld::ProcessWorld(const std::vector<int>& node_of_rank)
    : roster_(MakeRoster(node_of_rank)),
      shared_(static_cast<Shared*>(
          mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
      failed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ProcessWorld::~ProcessWorld() {
  for (int rank = 0; rank < static_cast<int>(pids_.size()); ++rank) Kill(rank);
  munmap(shared_, sizeof(Shared));
}

void ProcessWorld::Start(const SocketOptions& options, const Body& body,
                         const std::function<void()>& before) {
  for (int rank = 0; rank < size(); ++rank) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      alarm(100);
      if (before) before();
      RunRank(rank, options, body);
    }
    pids_.push_back(pid);
  }
}

// Opened in its own process, which the names are removed with; in the place of a rendezvous, all wait for all.
std::unique_ptr<SocketEndpoint> ProcessWorld::OpenEndpoint(int rank) {
  auto endpoint = SocketEndpoint::Open();
  if (!endpoint) return nullptr;
  const Bytes payload = (*endpoint)->payload();
  const auto index = static_cast<size_t>(rank);
  std::ranges::copy(payload, shared_->payloads.at(index).begin());
  shared_->payload_sizes.at(index) = payload.size();
  ++shared_->open;
  while (shared_->open.load() < size()) usleep(100);
  return *std::move(endpoint);
}

void ProcessWorld::RunRank(int rank, const SocketOptions& options, const Body& body) {
  SharedGroup group(roster_, rank, failed_.get(), *shared_);
  auto mine = OpenEndpoint(rank);
  PeerAddresses addresses(static_cast<size_t>(size()));
  for (size_t i = 0; i < addresses.size(); ++i) {
    const ByteView payload(shared_->payloads.at(i).data(), shared_->payload_sizes.at(i));
    EXPECT_TRUE(addresses.Read(roster_, static_cast<int>(i), payload));
  }
  auto world = MakeSocketCommunicator(group, std::move(mine), std::move(addresses), options);
  Text& result = shared_->results.at(static_cast<size_t>(rank));
  Store(result, world ? body(**world) : world.error().message);
  world->reset();
  _exit(0);
}

void ProcessWorld::Kill(int rank) {
  const pid_t pid = pids_.at(static_cast<size_t>(rank));
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  AwaitEnd(rank);
}

void ProcessWorld::AwaitEnd(int rank) {
  pid_t& pid = pids_.at(static_cast<size_t>(rank));
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  pid = 0;
}

void ProcessWorld::Fail(const Error& error) { SharedGroup(roster_, 0, failed_.get(), *shared_).Fail(error); }

std::vector<std::string> ProcessWorld::Results() {
  std::vector<std::string> results(pids_.size());
  for (size_t rank = 0; rank < pids_.size(); ++rank) {
    if (pids_[rank] <= 0) continue;
    int status = 0;
    EXPECT_EQ(waitpid(pids_[rank], &status, 0), pids_[rank]);
    EXPECT_TRUE(WIFEXITED(status) || WTERMSIG(status) == SIGKILL) << "rank " << rank << " took too long";
    pids_[rank] = 0;
    results[rank] = shared_->results.at(rank).data();
  }
  return results;
}

std::vector<std::string> ProcessWorld::Run(const SocketOptions& options, const Body& body) {
  Start(options, body);
  return Results();
}

}  // namespace muster::socket
