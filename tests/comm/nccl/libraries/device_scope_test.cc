// CUDA's current device is each thread's own: what the communicator calls is this rank's, whatever the
// caller's thread has.
#include "comm/nccl/libraries/device_scope.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/comm/nccl/nccl_world.h"

namespace muster::nccl {
namespace {

int CurrentOf(ComputingCuda& cuda) {
  int current = -1;
  EXPECT_EQ(cuda.CurrentDevice(&current), CudaResult::kSuccess);
  return current;
}

TEST(DeviceScope, LeavesTheThreadsOwnDeviceAsItWas) {
  ComputingCuda cuda;
  cuda.count = 3;
  ASSERT_EQ(cuda.SetDevice(1), CudaResult::kSuccess);
  {
    const DeviceScope scope(cuda, 2);
    EXPECT_EQ(CurrentOf(cuda), 2);
  }
  EXPECT_EQ(CurrentOf(cuda), 1);
}

TEST(DeviceScope, DoesNothingWhereTheDeviceCannotBeHad) {
  ComputingCuda cuda;
  const DeviceScope scope(cuda, 4);
  EXPECT_EQ(CurrentOf(cuda), 0);
}

// Streams, events and memory of GPU 1, from threads that have never set a device.
class RanksOnTheirSecondGpu : public testing::Test {
 protected:
  static NcclSettings SecondGpu() {
    NcclSettings settings = TestSettings();
    settings.device = 1;
    return settings;
  }
  // An AllToAll in place needs memory and an event of the communicator's own.
  static Status KeyedAllGather(Communicator& c, ComputingCuda& cuda, CudaStream stream) {
    void* memory = nullptr;
    {
      const DeviceScope scope(cuda, 1);
      EXPECT_EQ(cuda.Allocate(&memory, 2 * sizeof(float)), CudaResult::kSuccess);
    }
    const Buffer both = {memory, 2, DataType::kF32, Memory::kDevice};
    const Status queued = c.AllToAll(both, both, {.stream = stream});
    const Status done = c.Synchronize();
    EXPECT_EQ(CurrentOf(cuda), 0) << "the thread's own";
    EXPECT_EQ(cuda.Free(memory), CudaResult::kSuccess);
    return queued ? done : queued;
  }

  NcclWorld world_{socket::BlockLayout({2}), NcclWorld::Through::kNothing, SecondGpu()};
};

TEST_F(RanksOnTheirSecondGpu, WorkInAnyThread) {
  EXPECT_EQ(world_.Messages([&](Communicator& c) {
    ComputingCuda& cuda = world_.cuda(c.rank());
    CudaStream stream = nullptr;
    {
      const DeviceScope scope(cuda, 1);
      EXPECT_EQ(cuda.CreateStream(&stream), CudaResult::kSuccess);
    }
    Status done = KeyedAllGather(c, cuda, stream);
    EXPECT_EQ(cuda.DestroyStream(stream), CudaResult::kSuccess);
    return done;
  }),
            std::vector<std::string>(2));
}

}  // namespace
}  // namespace muster::nccl
