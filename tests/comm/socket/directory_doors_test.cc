#include "comm/socket/directory_doors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "comm/base/log.h"
#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

constexpr const char* kGroup = "00112233445566778899aabbccddeeff";

class DirectoryDoorsTest : public testing::Test {
 protected:
  // A test's own directory is too long for the name of a socket.
  void SetUp() override {
    std::string pattern = "/tmp/muster-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(base); }

  std::string Ours() const { return base + "/muster-" + kGroup; }

  std::string base;
};

TEST_F(DirectoryDoorsTest, ListenWhereTheOthersDialAndLeaveNothing) {
  {
    const auto doors = DirectoryDoors::Open({base}, kGroup, 3);
    ASSERT_TRUE(doors) << doors.error().message;
    const auto addresses = DirectoryDoors::Addresses({base}, kGroup, 3);
    ASSERT_EQ(addresses.size(), 1U);
    EXPECT_EQ(addresses[0].ToString(), "unix:" + Ours() + "/3");
    const auto fd = StartConnect(addresses[0]);
    ASSERT_TRUE(fd) << fd.error().message;
    EXPECT_EQ(CredentialsOf(fd->get())->uid, geteuid());
    struct stat status {};
    ASSERT_EQ(stat(Ours().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
  }
  EXPECT_TRUE(std::filesystem::is_empty(base));
}

TEST_F(DirectoryDoorsTest, TheLastOneTakesTheDirectoryAlong) {
  auto first = DirectoryDoors::Open({base}, kGroup, 0);
  auto second = DirectoryDoors::Open({base}, kGroup, 1);
  ASSERT_TRUE(first && second);
  *first = DirectoryDoors();
  EXPECT_TRUE(std::filesystem::exists(Ours() + "/1"));
  *second = DirectoryDoors();
  EXPECT_TRUE(std::filesystem::is_empty(base));
}

TEST_F(DirectoryDoorsTest, OneDirectoryIsEnough) {
  const auto doors = DirectoryDoors::Open({base + "/missing", base}, kGroup, 0);
  ASSERT_TRUE(doors) << doors.error().message;
  EXPECT_EQ(doors->fds().size(), 1U);
}

TEST_F(DirectoryDoorsTest, SayWhatWasInTheWayOfEach) {
  std::filesystem::create_directory(Ours());
  std::filesystem::permissions(Ours(), std::filesystem::perms(0777));
  const auto doors = DirectoryDoors::Open({base + "/missing", base}, kGroup, 0);
  ASSERT_FALSE(doors);
  EXPECT_EQ(doors.error().code, Code::kSystem);
  EXPECT_EQ(doors.error().message,
            "the ranks of this node are in different network namespaces, and have no place to meet: cannot "
            "create " +
                base + "/missing/muster-" + kGroup + ": No such file or directory; " + Ours() +
                " belongs to somebody else");
  EXPECT_EQ(
      DirectoryDoors::Open({}, kGroup, 0).error().message,
      "the ranks of this node are in different network namespaces, and have no place to meet: no directory "
      "was given");
}

void InNamespacesOfTheirOwn(int rank, EndpointAddress& address) {
  address.unix_name = "of-another-namespace";
  address.port = 1;
  address.network_namespace = 100 + static_cast<uint32_t>(rank);
}

TEST_F(DirectoryDoorsTest, RanksOfOneNodeInDifferentNamespacesMeetThere) {
  FakeWorld world(MakeRoster(BlockLayout({3})), TestOptions(), InNamespacesOfTheirOwn, {base});
  const auto messages = world.Messages([](Communicator& c) -> Status {
    for (int call = 0; call < 5; ++call) {
      const int32_t mine = c.rank();
      int32_t sum = 0;
      MUSTER_CHECK(c.AllReduce(HostBuffer(std::span<const int32_t>(&mine, 1)),
                               HostBuffer(std::span<int32_t>(&sum, 1)), ReduceOp::kSum));
      if (sum != 3) return Fail(Code::kInternal, "the sum is {}", sum);
    }
    return {};
  });
  EXPECT_EQ(messages, (std::vector<std::string>{"", "", ""}));
}

TEST_F(DirectoryDoorsTest, WithoutADirectoryTheReasonIsNamed) {
  const Roster roster = MakeRoster(BlockLayout({2}));
  FakeGroupState state(roster);
  FakeGroup group(state, 0);
  auto endpoint = *SocketEndpoint::Open();
  std::vector<Bytes> payloads;
  for (uint32_t rank = 0; rank < 2; ++rank) payloads.push_back(EncodeEndpoint({"name", 1, 100 + rank}));
  const auto communicator =
      MakeSocketCommunicator(group, std::move(endpoint), ViewsOf(payloads), TestOptions());
  ASSERT_FALSE(communicator);
  EXPECT_EQ(
      communicator.error().message,
      "the ranks of this node are in different network namespaces, and have no place to meet: no directory "
      "was given");
}

}  // namespace
}  // namespace muster
