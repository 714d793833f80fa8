#include "comm/nccl/devices/device_arguments.h"

#include <gtest/gtest.h>

#include "tests/comm/nccl/computing_cuda.h"
#include "tests/comm/nccl/nccl_world.h"

namespace muster::nccl {
namespace {

TEST(CheckDeviceBuffer, TakesDeviceMemoryAlone) {
  ComputingCuda cuda;
  void* memory = nullptr;
  ASSERT_EQ(cuda.Allocate(&memory, 16), CudaResult::kSuccess);
  EXPECT_TRUE(CheckDeviceBuffer(cuda, 0, Operation::kAllReduce, "send",
                                {memory, 4, DataType::kF32, Memory::kDevice}));
  float host = 0;
  const Status status =
      CheckDeviceBuffer(cuda, 0, Operation::kAllReduce, "send", {&host, 1, DataType::kF32, Memory::kDevice});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUsage);
  EXPECT_EQ(status.error().message,
            "AllReduce: send was given as device memory, but no GPU can use that address");
  EXPECT_EQ(status.error().hint, "allocate it with cudaMalloc, or pass it as host memory");
  EXPECT_TRUE(CheckDeviceBuffer(cuda, 0, Operation::kAllReduce, "send",
                                {nullptr, 0, DataType::kF32, Memory::kDevice}));
  EXPECT_EQ(
      CheckDeviceBuffer(cuda, 0, Operation::kAllReduce, "send", {nullptr, 3, DataType::kF32, Memory::kDevice})
          .error()
          .message,
      "AllReduce: send is null and should have 3 elements");
}

TEST(CheckDeviceBuffer, TakesMemoryOfTheRanksOwnGpuAlone) {
  ComputingCuda cuda;
  cuda.count = 2;
  ASSERT_EQ(cuda.SetDevice(1), CudaResult::kSuccess);
  void* memory = nullptr;
  ASSERT_EQ(cuda.Allocate(&memory, 16), CudaResult::kSuccess);
  const ConstBuffer buffer(memory, 4, DataType::kF32, Memory::kDevice);
  EXPECT_TRUE(CheckDeviceBuffer(cuda, 1, Operation::kBroadcast, "buffer", buffer));
  const Status status = CheckDeviceBuffer(cuda, 0, Operation::kBroadcast, "buffer", buffer);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(),
            (Error{Code::kUsage, "Broadcast: buffer is memory of GPU 1, and this rank's is GPU 0",
                   "call cudaSetDevice in this thread: Init selects the rank's GPU in its own thread only"}));
}

// Refused on this rank alone, and everything goes on.
TEST(NcclArguments, AreRefusedAndBreakNothing) {
  NcclWorld world(socket::BlockLayout({2}), NcclWorld::Through::kNothing);
  Communicator& c = world.at(0);
  void* memory = nullptr;
  ASSERT_EQ(world.cuda(0).Allocate(&memory, 64), CudaResult::kSuccess);
  std::vector<float> host(8);
  const Buffer device = {memory, 8, DataType::kF32, Memory::kDevice};
  const auto refused = [](const Status& status) {
    EXPECT_FALSE(status);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refused(c.AllReduce(device, HostBuffer(std::span(host)), ReduceOp::kSum)),
            "AllReduce: send is device memory and receive is host memory; they must be the same");
  EXPECT_EQ(refused(c.AllReduce(device, {memory, 4, DataType::kF32, Memory::kDevice}, ReduceOp::kSum)),
            "AllReduce: send has 8 elements and receive 4; they must have the same number");
  EXPECT_EQ(refused(c.AllReduce(device, {memory, 8, DataType::kI32, Memory::kDevice}, ReduceOp::kSum)),
            "AllReduce: send is f32 and receive is i32; they must have the same type");
  EXPECT_EQ(refused(c.Broadcast(device, 2)), "Broadcast: root 2 is not one of the 2 ranks 0-1");
  EXPECT_EQ(refused(c.Send(device, 0)), "Send: rank 0 is this rank itself");
  EXPECT_EQ(refused(c.AllReduce(device, device, ReduceOp::kSum, {.timeout = Duration::zero()})),
            "AllReduce: the timeout must be more than 0");
  EXPECT_EQ(refused(c.Broadcast({host.data(), 8, DataType::kF32, Memory::kDevice}, 0)),
            "Broadcast: buffer was given as device memory, but no GPU can use that address");
  EXPECT_EQ(world.Messages([](Communicator& each) { return each.Barrier(); }), std::vector<std::string>(2));
}

}  // namespace
}  // namespace muster::nccl
