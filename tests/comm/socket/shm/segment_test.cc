#include "comm/socket/shm/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <set>

#include "comm/system/anonymous_file.h"
#include "comm/system/system_calls.h"

namespace muster::socket {
namespace {

UniqueFd Duplicate(const Segment& segment) { return UniqueFd(fcntl(segment.fd(), F_DUPFD_CLOEXEC, 0)); }

std::string Refusal(UniqueFd fd, const SegmentShape& shape) {
  const auto segment = Segment::Attach(std::move(fd), shape);
  EXPECT_FALSE(segment);
  return segment ? "" : segment.error().message;
}

TEST(SegmentShape, GivesEveryRankPiecesForAllOthers) {
  for (const int ranks : {1, 2, 3, 17, 64, 256, kMaxSharingRanks}) {
    const SegmentShape shape = SegmentShape::For(ranks);
    EXPECT_GE(shape.slot_bytes, static_cast<size_t>(ranks) * kCacheLine) << ranks;
    EXPECT_EQ(shape.slot_bytes % 4096, 0U) << ranks;
    EXPECT_LE(shape.Bytes(), size_t{70} * 1024 * 1024) << ranks;
  }
  EXPECT_EQ(SegmentShape::For(2).slot_bytes, 128U * 1024);
  EXPECT_EQ(SegmentShape::For(2, 1).slot_bytes, kLeastSlotBytes);
}

TEST(Segment, HasAPlaceOfItsOwnForEverything) {
  const SegmentShape shape = SegmentShape::For(3, 4096);
  const auto segment = Segment::Create(shape);
  ASSERT_TRUE(segment) << segment.error().message;
  std::set<const void*> places;
  for (int rank = 0; rank < 3; ++rank) {
    places.insert(&(*segment)->member(rank));
    places.insert(&(*segment)->sleeper(rank));
    for (uint64_t step = 1; step <= kSlots; ++step) {
      places.insert(&(*segment)->header(rank, step));
      places.insert((*segment)->slot(rank, step));
      EXPECT_EQ((*segment)->slot(rank, step), (*segment)->slot(rank, step + kSlots));
      EXPECT_EQ((*segment)->header(rank, step).step.load(), 0U);
    }
  }
  EXPECT_EQ(places.size(), 3 * (2 + 2 * kSlots));
}

TEST(Segment, IsTheSameForWhoeverAttaches) {
  const SegmentShape shape = SegmentShape::For(2, 4096);
  const auto mine = Segment::Create(shape);
  ASSERT_TRUE(mine);
  const auto theirs = Segment::Attach(Duplicate(**mine), shape);
  ASSERT_TRUE(theirs) << theirs.error().message;
  (*mine)->slot(1, 3)[4095] = 0x5a;
  (*mine)->header(1, 3).step.store(3);
  EXPECT_EQ((*theirs)->slot(1, 3)[4095], 0x5a);
  EXPECT_EQ((*theirs)->header(1, 3).step.load(), 3U);
}

TEST(Segment, CannotBeCutOff) {
  const auto segment = Segment::Create(SegmentShape::For(2, 4096));
  ASSERT_TRUE(segment);
  const UniqueFd memory = CreateMemoryFile("test", MFD_CLOEXEC);
  if (!memory) return;  // then it is no memfd either: only who may trace this process can reach it
  EXPECT_NE(ftruncate((*segment)->fd(), 0), 0);
  EXPECT_NE(fcntl((*segment)->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(Segment, RefusesWhatIsNotOne) {
  const SegmentShape shape = SegmentShape::For(2, 4096);
  const auto good = Segment::Create(shape);
  ASSERT_TRUE(good);
  EXPECT_EQ(Refusal(UniqueFd(), shape), "no descriptor was received");
  const std::string message =
      "the received descriptor is not an anonymous file of " + std::to_string(shape.Bytes()) + " bytes";
  EXPECT_EQ(Refusal(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)), shape), message);
  UniqueFd unsealed = MakeUnnamedFile("/dev/shm");
  ASSERT_EQ(ftruncate(unsealed.get(), static_cast<off_t>(shape.Bytes())), 0);
  EXPECT_EQ(Refusal(std::move(unsealed), shape), message);
  const SegmentShape larger = SegmentShape::For(3, 4096);
  EXPECT_EQ(Refusal(Duplicate(**good), larger), "the received descriptor is not an anonymous file of " +
                                                    std::to_string(larger.Bytes()) + " bytes");
}

TEST(Segment, IsRefusedByTheFileSizeLimitInsteadOfEndingTheProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto segment = Segment::Create(SegmentShape::For(2));
    const bool refused = !segment && segment.error().message.ends_with("more than the file size limit");
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CallWords, CarryEverythingButTheCommunicator) {
  const Call call{7, 42, Operation::kReduce, DataType::kBF16, ReduceOp::kMax, 3, uint64_t{1} << 40};
  const Call near{7, 40};
  const auto read = UnpackCall(PackCall(call), near);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, call);
  Call rootless = call;
  rootless.root = -1;
  EXPECT_EQ(UnpackCall(PackCall(rootless), near), rootless);
  EXPECT_NE(PackCall(rootless), PackCall(call));
}

TEST(CallWords, HaveTheWholeNumberOfACallNearby) {
  constexpr uint64_t kLarge = uint64_t{7} << 32;
  for (const uint64_t mine : {kLarge - 2, kLarge, kLarge + 3}) {
    for (const uint64_t theirs : {kLarge - 1, kLarge, kLarge + 1}) {
      const auto read = UnpackCall(PackCall({7, theirs}), {7, mine});
      ASSERT_TRUE(read);
      EXPECT_EQ(read->sequence, theirs) << mine;
    }
  }
}

TEST(CallWords, DifferAfterDifferentCalls) {
  const Call call{7, 42, Operation::kReduce, DataType::kBF16, ReduceOp::kMax, 3, 1000};
  const CallWords after = PackCall({7, 43}, Digest(PackCall(call)));
  Call other = call;
  other.root = 2;
  EXPECT_NE(PackCall({7, 43}, Digest(PackCall(other))), after);
  other = call;
  other.count = 1001;
  EXPECT_NE(PackCall({7, 43}, Digest(PackCall(other))), after);
  other = call;
  other.operation = Operation::kBroadcast;
  EXPECT_NE(PackCall({7, 43}, Digest(PackCall(other))), after);
  EXPECT_NE(PackCall({7, 43}, Digest(PackCall(call, 1))), after);
  EXPECT_EQ(UnpackCall(after, {7, 43}), (Call{7, 43}));
}

TEST(CallWords, RefuseWhatNobodyWrites) {
  const CallWords good = PackCall({});
  for (const uint64_t bad :
       {uint64_t{kOperationCount}, uint64_t{9} << 8, uint64_t{5} << 16, uint64_t{1} << 24}) {
    EXPECT_FALSE(UnpackCall({good[0], bad, good[2]}, {})) << bad;
  }
}

}  // namespace
}  // namespace muster::socket
