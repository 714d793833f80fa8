// Ranks as processes, one of which is killed in the middle of its work: the others end soon, and all with the
// same sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/comm/socket/shm/process_world.h"

namespace muster::socket {
namespace {

class KilledProcessTest : public testing::Test {
 protected:
  // Rank `victim` kills itself in its third call; the other processes go on until an error.
  void Start(int victim) {
    world_.Start(TestOptions(), [victim](Communicator& world) {
      Status status;
      for (int call = 1; status; ++call) {
        if (world.rank() == victim && call == 3) raise(SIGKILL);
        int64_t value = world.rank();
        status = world.AllReduce(std::span(&value, 1), ReduceOp::kSum);
      }
      return MessageOf(status);
    });
    world_.AwaitEnd(victim);
  }
  void ExpectAll(int victim, const std::string& message) {
    std::vector<std::string> expected(static_cast<size_t>(world_.size()), message);
    expected[static_cast<size_t>(victim)].clear();
    EXPECT_THAT(world_.Results(), testing::ElementsAreArray(expected));
  }

  ProcessWorld world_{BlockLayout({2, 2, 2})};
};

TEST_F(KilledProcessTest, IsNamedByTheControlPlaneWhereThatKnows) {
  Start(3);
  world_.Fail({Code::kPeerLost, "rank 3 on gpu02 was killed by signal 9", ""});
  ExpectAll(3, "rank 3 on gpu02 was killed by signal 9");
}

TEST_F(KilledProcessTest, IsNamedByItsConnectionsWhereItDoesNot) {
  Start(2);
  ExpectAll(2, "rank 2 on gpu02 closed its connection during AllReduce #3 i64[1]");
}

}  // namespace
}  // namespace muster::socket
