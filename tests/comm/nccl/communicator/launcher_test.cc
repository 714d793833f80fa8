#include "comm/nccl/communicator/launcher.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "comm/ops/call.h"
#include "tests/comm/nccl/computing_cuda.h"

namespace muster::nccl {
namespace {

using std::string;

// "send 1 @8 x2": two elements, from byte 8 of the buffer, to rank 1.
class RecordingNccl final : public NcclApi {
 public:
  const void* send = nullptr;
  const void* receive = nullptr;
  NcclResult group_start = NcclResult::kSuccess;
  NcclResult second_launch = NcclResult::kSuccess;
  std::vector<string> calls;

  NcclResult Launch(const OperationRequest& request, NcclComm, CudaStream) override {
    const auto at = [](const void* data, const void* base) {
      return static_cast<const uint8_t*>(data) - static_cast<const uint8_t*>(base);
    };
    switch (request.operation) {
      case Operation::kSend:
        calls.push_back(
            fmt::format("send {} @{} x{}", request.root, at(request.send.data, send), request.send.count));
        break;
      case Operation::kRecv:
        calls.push_back(fmt::format("recv {} @{} x{}", request.root, at(request.receive.data, receive),
                                    request.receive.count));
        break;
      default:
        calls.push_back(fmt::format("{}{}{}", Name(request.operation),
                                    request.receive.data == nullptr ? "" : " receives",
                                    request.reduce == ReduceOp::kAvg ? " avg" : ""));
    }
    ++launches_;
    return launches_ == 2 ? second_launch : NcclResult::kSuccess;
  }
  NcclResult GroupStart() override {
    calls.emplace_back("{");
    return group_start;
  }
  NcclResult GroupEnd() override {
    calls.emplace_back("}");
    return NcclResult::kSuccess;
  }

  NcclVersion version() const override { return {2, 32, 3}; }
  NcclResult GetUniqueId(NcclId*) override { return NcclResult::kInternalError; }
  NcclResult Init(NcclComm*, int, int, std::vector<NcclId>&) override { return NcclResult::kInternalError; }
  NcclResult Split(NcclComm, int, int, NcclComm*) override { return NcclResult::kInternalError; }
  bool HasInitScalable() const override { return false; }
  NcclResult AsyncError(NcclComm, NcclResult*) override { return NcclResult::kInternalError; }
  NcclResult Finalize(NcclComm) override { return NcclResult::kInternalError; }
  NcclResult Destroy(NcclComm) override { return NcclResult::kInternalError; }
  NcclResult Abort(NcclComm) override { return NcclResult::kInternalError; }
  string Describe(NcclResult) const override { return ""; }
  string LastError() const override { return ""; }

 private:
  int launches_ = 0;
};

class LauncherTest : public testing::Test {
 protected:
  // The calls for an operation on blocks of two elements.
  std::vector<string> CallsOf(Operation operation, int rank, int root, int size = 3,
                              ReduceOp reduce = ReduceOp::kSum) {
    nccl_.send = send_.data();
    nccl_.receive = receive_.data();
    const size_t blocks = operation == Operation::kAllToAll ? 6 : 2;
    const OperationRequest request{operation,
                                   {send_.data(), blocks, DataType::kI32, Memory::kDevice},
                                   {receive_.data(), blocks, DataType::kI32, Memory::kDevice},
                                   reduce,
                                   root};
    result_ = Launcher(nccl_, cuda_, rank, size).Launch(request, nullptr, nullptr, copy_);
    return std::exchange(nccl_.calls, {});
  }

  RecordingNccl nccl_;
  ComputingCuda cuda_;
  StreamCopy copy_;
  NcclResult result_ = NcclResult::kInProgress;
  std::array<int32_t, 6> send_{};
  std::array<int32_t, 6> receive_{};
};

using Calls = std::vector<string>;

TEST_F(LauncherTest, OperationsThatNcclHasAreOneCall) {
  EXPECT_EQ(CallsOf(Operation::kAllReduce, 1, 0), Calls{"AllReduce receives"});
  EXPECT_EQ(result_, NcclResult::kSuccess);
  EXPECT_EQ(CallsOf(Operation::kReduce, 0, 0), Calls{"Reduce receives"});
  EXPECT_EQ(CallsOf(Operation::kReduce, 1, 0), Calls{"Reduce"}) << "not checked, not passed on";
}

TEST_F(LauncherTest, TheAverageOfOneRankIsItsSum) {
  EXPECT_EQ(CallsOf(Operation::kAllReduce, 0, 0, 2, ReduceOp::kAvg), Calls{"AllReduce receives avg"});
  EXPECT_EQ(CallsOf(Operation::kAllReduce, 0, 0, 1, ReduceOp::kAvg), Calls{"AllReduce receives"});
}

TEST_F(LauncherTest, TheOthersAreSendsAndReceivesOfOneGroup) {
  EXPECT_EQ(CallsOf(Operation::kGather, 0, 1), (Calls{"{", "send 1 @0 x2", "}"}));
  EXPECT_EQ(CallsOf(Operation::kGather, 1, 1),
            (Calls{"{", "send 1 @0 x2", "recv 0 @0 x2", "recv 1 @8 x2", "recv 2 @16 x2", "}"}));
  EXPECT_EQ(CallsOf(Operation::kScatter, 0, 1), (Calls{"{", "recv 1 @0 x2", "}"}));
  EXPECT_EQ(CallsOf(Operation::kScatter, 1, 1),
            (Calls{"{", "recv 1 @0 x2", "send 0 @0 x2", "send 1 @8 x2", "send 2 @16 x2", "}"}));
  EXPECT_EQ(CallsOf(Operation::kAllToAll, 1, 0),
            (Calls{"{", "send 0 @0 x2", "recv 0 @0 x2", "send 1 @8 x2", "recv 1 @8 x2", "send 2 @16 x2",
                   "recv 2 @16 x2", "}"}));
  EXPECT_EQ(copy_.memory, nullptr);
}

TEST_F(LauncherTest, AGroupIsEndedAfterAFailureInIt) {
  nccl_.second_launch = NcclResult::kRemoteError;
  EXPECT_EQ(CallsOf(Operation::kGather, 1, 1).back(), "}");
  EXPECT_EQ(result_, NcclResult::kRemoteError);
  nccl_.group_start = NcclResult::kInvalidUsage;
  EXPECT_EQ(CallsOf(Operation::kGather, 1, 1), Calls{"{"});
  EXPECT_EQ(result_, NcclResult::kInvalidUsage);
}

TEST_F(LauncherTest, BlocksAreExchangedInPlaceFromACopy) {
  void* memory = nullptr;
  ASSERT_EQ(cuda_.Allocate(&memory, 24), CudaResult::kSuccess);
  nccl_.receive = memory;
  const OperationRequest request{Operation::kAllToAll,
                                 {memory, 6, DataType::kI32, Memory::kDevice},
                                 {memory, 6, DataType::kI32, Memory::kDevice},
                                 ReduceOp::kSum,
                                 0};
  const Launcher launcher(nccl_, cuda_, 0, 3);
  ASSERT_EQ(launcher.Launch(request, nullptr, nullptr, copy_), NcclResult::kSuccess);
  EXPECT_NE(copy_.memory, nullptr);
  const auto from = fmt::format("send 1 @{} x2", reinterpret_cast<uintptr_t>(copy_.memory) + 8);
  EXPECT_EQ(nccl_.calls[3], from);
  EXPECT_EQ(nccl_.calls[4], "recv 1 @8 x2");
  EXPECT_EQ(cuda_.FreeOn(copy_.memory, nullptr), CudaResult::kSuccess);
  EXPECT_EQ(cuda_.Synchronize(nullptr), CudaResult::kSuccess);
  EXPECT_EQ(cuda_.Free(memory), CudaResult::kSuccess);
}

}  // namespace
}  // namespace muster::nccl
