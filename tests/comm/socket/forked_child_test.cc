// A child of fork(2) has a copy of the communicators; what it does with them must not reach the group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/comm/base/waiting_child.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

// True if the body returns true.
bool InForkedChild(const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

SocketOptions Patient() {
  SocketOptions options = TestOptions();
  options.timeouts.collective = options.timeouts.barrier = std::chrono::seconds(20);
  return options;
}

class ForkedChildTest : public testing::Test {
 protected:
  void Split() {
    parts_.resize(static_cast<size_t>(world_.size()));
    world_.Run([this](Communicator& c) {
      Result<std::unique_ptr<Communicator>> part = c.Split(0, 0);
      ASSERT_TRUE(part);
      ASSERT_TRUE((*part)->Barrier());
      parts_[static_cast<size_t>(c.rank())] = *std::move(part);
    });
  }
  void Share() {
    Split();
    for (int i = 0; i < 3; ++i) {
      world_.Run([this](Communicator& c) { ASSERT_TRUE(parts_[static_cast<size_t>(c.rank())]->Barrier()); });
    }
  }
  static Status Sum(Communicator& c) {
    int64_t value = c.rank();
    return c.AllReduce(std::span(&value, 1), ReduceOp::kSum);
  }

  FakeWorld world_{BlockLayout({2, 1}), Patient()};
  std::vector<std::unique_ptr<Communicator>> parts_;
};

// As a worker does whose function returns to main.
TEST_F(ForkedChildTest, DestroysAPartWithoutAGoodbye) {
  Split();
  EXPECT_TRUE(InForkedChild([this] {
    parts_[0].reset();
    return true;
  }));
  EXPECT_THAT(
      world_.Messages([this](Communicator& c) { return Sum(*parts_[static_cast<size_t>(c.rank())]); }),
      testing::Each(""));
}

std::vector<std::string> MappingsOf(std::string_view name) {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::string> found;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) found.push_back(line);
  }
  return found;
}

// The child does not have the shared memory of its parent. Other memory may be in its place.
TEST_F(ForkedChildTest, DestroysAPartAndLeavesItsOwnMemory) {
  Share();
  const std::vector<std::string> shared = MappingsOf("(deleted)");
  ASSERT_FALSE(shared.empty());
  EXPECT_TRUE(InForkedChild([&] {
    std::vector<volatile char*> pages;
    for (const std::string& line : shared) {
      const uintptr_t begin = std::stoull(line, nullptr, 16);
      const uintptr_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is what the file has
      void* const page = mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (page != MAP_FAILED) pages.push_back(static_cast<volatile char*>(page));
    }
    if (pages.empty()) return false;
    parts_[0].reset();
    for (volatile char* page : pages) *page = 1;
    return true;
  }));
  EXPECT_THAT(
      world_.Messages([this](Communicator& c) { return Sum(*parts_[static_cast<size_t>(c.rank())]); }),
      testing::Each(""));
}

// The listeners are watched by an epoll descriptor that parent and child share.
TEST_F(ForkedChildTest, DestroysTheWholeWithoutClosingItsListeners) {
  EXPECT_TRUE(InForkedChild([this] {
    world_.Leave(0);
    return true;
  }));
  EXPECT_THAT(world_.Messages(Sum), testing::Each(""));
}

// A worker that a program forks outlives its rank.
TEST_F(ForkedChildTest, KeepsNoConnectionOpen) {
  int64_t value = 7;
  const Buffer one{&value, 1, DataType::kI64};
  world_.Run([&](Communicator& c) {
    ASSERT_TRUE(c.rank() == 0 ? c.Recv(one, 1) : c.rank() == 1 ? c.Send(one, 0) : Status());
  });
  const WaitingChild worker;
  world_.Leave(1);
  // More than the kernel buffers.
  const Bytes bytes(size_t{32} << 20);
  const Status sent =
      world_.at(0).Send(HostBuffer(std::span(bytes)), 1, {.timeout = std::chrono::seconds(5)});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "rank 1 on gpu01 left the group before Send #1 u8[33554432]");
}

TEST_F(ForkedChildTest, CannotCall) {
  Split();
  const pid_t parent = getpid();
  EXPECT_TRUE(InForkedChild([this, parent] {
    const std::string expected =
        fmt::format("in a forked child: its communicator belongs to the parent, pid {}", parent);
    const Buffer nothing{nullptr, 0, DataType::kU8};
    for (const Status& status : {parts_[0]->Barrier(), Sum(world_.at(0)), parts_[0]->Send(nothing, 1)}) {
      if (status || status.error().code != Code::kUsage || status.error().message != expected) return false;
    }
    return true;
  }));
  EXPECT_THAT(world_.Messages(Sum), testing::Each(""));
}

}  // namespace
}  // namespace muster::socket
