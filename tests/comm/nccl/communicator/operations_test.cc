#include "comm/nccl/communicator/operations.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "tests/comm/nccl/computing_cuda.h"

namespace muster::nccl {
namespace {

constexpr uint64_t kId = 77;

Call AllReduce(uint64_t sequence) {
  return {kId, sequence, Operation::kAllReduce, DataType::kF32, ReduceOp::kSum, -1, 8};
}

class OperationsTest : public testing::Test {
 protected:
  OperationsTest() { EXPECT_EQ(cuda_->CreateStream(&stream_), CudaResult::kSuccess); }
  ~OperationsTest() override {
    operations_.Close();
    EXPECT_EQ(cuda_->DestroyStream(stream_), CudaResult::kSuccess);
    EXPECT_EQ(cuda_->events(), 0);
  }

  // Work behind it waits until it is set.
  std::promise<void> Block() {
    std::promise<void> gate;
    cuda_->Enqueue(stream_, [open = gate.get_future().share()] { open.wait(); });
    return gate;
  }
  bool Sweep() {
    CudaResult health = CudaResult::kSuccess;
    const bool empty = operations_.Sweep(&health);
    EXPECT_EQ(health, CudaResult::kSuccess);
    return empty;
  }
  void Drain() { EXPECT_EQ(cuda_->Synchronize(stream_), CudaResult::kSuccess); }

  const std::shared_ptr<ComputingCuda> cuda_ = std::make_shared<ComputingCuda>();
  CudaStream stream_ = nullptr;
  Operations operations_{cuda_, kId};
};

TEST_F(OperationsTest, AreForgottenWhenTheStreamGetsThere) {
  std::promise<void> gate = Block();
  const auto ticket = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_FALSE(Sweep()) << "not launched yet";
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  EXPECT_FALSE(Sweep());
  gate.set_value();
  Drain();
  EXPECT_TRUE(Sweep());
}

// The thread that calls Look also sends the heartbeats.
TEST_F(OperationsTest, AreShownWhileTheGpuDoesNotAnswer) {
  const auto ticket = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  Drain();
  std::promise<void> asked;
  std::promise<void> answer;
  cuda_->BlockEvents(std::async(std::launch::deferred, [&] {
                       asked.set_value();
                       answer.get_future().wait();
                     }).share());
  std::thread sweeper([&] { EXPECT_TRUE(Sweep()); });
  asked.get_future().wait();
  alarm(60);  // for a function that waits for the GPU
  EXPECT_TRUE(operations_.Look().active);
  EXPECT_FALSE(operations_.Many());
  alarm(0);
  answer.set_value();
  sweeper.join();
  EXPECT_FALSE(operations_.Look().active);
}

TEST_F(OperationsTest, OfOneLaunchShareAnEvent) {
  CudaStream other = nullptr;
  ASSERT_EQ(cuda_->CreateStream(&other), CudaResult::kSuccess);
  std::vector<Operations::Ticket> tickets;
  for (uint64_t i = 1; i <= 4; ++i) {
    tickets.push_back(operations_.Begin(AllReduce(i), Deadline::Never(), {}, std::nullopt));
  }
  std::promise<void> gate = Block();
  EXPECT_EQ(operations_.Launched({tickets[1]}, other), CudaResult::kSuccess);
  EXPECT_EQ(operations_.Launched({tickets[0], tickets[2], tickets[3]}, stream_), CudaResult::kSuccess);
  EXPECT_EQ(cuda_->events(), 2);
  EXPECT_FALSE(Sweep());
  EXPECT_EQ(Describe(operations_.Look()), "AllReduce #1 f32[8]");
  gate.set_value();
  Drain();
  EXPECT_EQ(cuda_->Synchronize(other), CudaResult::kSuccess);
  EXPECT_TRUE(Sweep());
  EXPECT_EQ(cuda_->DestroyStream(other), CudaResult::kSuccess);
}

TEST_F(OperationsTest, AreShownWhileUnderWayAndAfter) {
  EXPECT_EQ(operations_.Look().operation, "Start");
  EXPECT_EQ(operations_.Look().communicator, kId);
  std::promise<void> gate = Block();
  const auto ticket = operations_.Begin(AllReduce(4), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  EXPECT_TRUE(operations_.Look().active);
  EXPECT_EQ(Describe(operations_.Look()), "AllReduce #4 f32[8]");
  gate.set_value();
  Drain();
  EXPECT_TRUE(Sweep());
  EXPECT_FALSE(operations_.Look().active);
  EXPECT_EQ(Describe(operations_.Look()), "AllReduce #4 f32[8]");
}

// While CUDA is not asked, one that was launched may be done.
TEST_F(OperationsTest, ThatAreBeingLaunchedAreFoundOverdueWithoutASweep) {
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(1));
  const auto launched = operations_.Begin(AllReduce(1), deadline, {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({launched}, stream_), CudaResult::kSuccess);
  while (!deadline.Expired()) continue;
  EXPECT_FALSE(operations_.FindOverdue(true));
  operations_.Begin(AllReduce(2), deadline, {}, std::nullopt);
  ASSERT_TRUE(operations_.FindOverdue(true));
  EXPECT_EQ(operations_.FindOverdue(true)->call.sequence, 2u);
  EXPECT_EQ(operations_.FindOverdue()->call.sequence, 1u);
}

TEST_F(OperationsTest, TheOneThatIsBeingLaunchedIsShown) {
  const auto launched = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({launched}, stream_), CudaResult::kSuccess);
  EXPECT_EQ(Describe(operations_.Look()), "AllReduce #1 f32[8]");
  operations_.Begin(AllReduce(2), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(Describe(operations_.Look()), "AllReduce #2 f32[8]");
}

TEST_F(OperationsTest, OfAPairSayForWhomTheyWait) {
  Call call = AllReduce(1);
  call.operation = Operation::kRecv;
  operations_.Begin(call, Deadline::Never(), {}, 5);
  EXPECT_EQ(operations_.Look().waiting_for, std::vector<int>{5});
  EXPECT_FALSE(operations_.Look().collective);
}

TEST_F(OperationsTest, AreOverdueWhenTheirDeadlineHasPassed) {
  const Duration timeout = std::chrono::milliseconds(1);
  const Deadline deadline = Deadline::After(timeout);
  operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Next(), Deadline::Never());
  EXPECT_FALSE(operations_.FindOverdue());
  operations_.Begin(AllReduce(2), deadline, timeout, std::nullopt);
  EXPECT_EQ(operations_.Next(), deadline);
  while (!deadline.Expired()) continue;
  const auto overdue = operations_.FindOverdue();
  ASSERT_TRUE(overdue);
  EXPECT_EQ(overdue->call, AllReduce(2));
  EXPECT_EQ(overdue->timeout, timeout);
  EXPECT_EQ(operations_.Next(), Deadline::Never()) << "a thread that cannot end it now need not wake";
}

TEST_F(OperationsTest, SayWhenTheLastOfThemIsOver) {
  EXPECT_TRUE(operations_.Last().Expired());
  const Deadline later = Deadline::After(std::chrono::hours(2));
  operations_.Begin(AllReduce(1), later, {}, std::nullopt);
  operations_.Begin(AllReduce(2), Deadline::After(std::chrono::hours(1)), {}, std::nullopt);
  EXPECT_EQ(operations_.Last(), later);
  operations_.Begin(AllReduce(3), Deadline::Never(), {}, std::nullopt);
  EXPECT_TRUE(operations_.Last().IsNever());
}

// The watchdog's abort, between NCCL's launch and the event behind it.
TEST_F(OperationsTest, MayBeClosedWhileOneIsLaunched) {
  const auto ticket = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  operations_.Close();
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  EXPECT_EQ(cuda_->events(), 0);
  EXPECT_TRUE(Sweep());
}

TEST_F(OperationsTest, AreNotBlamedForTheProcesssEnd) {
  const auto ticket = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  cuda_->Break(CudaResult::kUnloading);
  EXPECT_FALSE(Sweep());
}

TEST_F(OperationsTest, AreCountedAsLateOnce) {
  EXPECT_FALSE(operations_.HasNewLate(Duration(1)));
  operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_FALSE(operations_.HasNewLate(Duration::zero())) << "never";
  EXPECT_FALSE(operations_.HasNewLate(std::chrono::hours(1)));
  EXPECT_TRUE(operations_.HasNewLate(Duration(1)));
  EXPECT_FALSE(operations_.HasNewLate(Duration(1)));
}

// A survey sees only the one that is shown, and takes it for at work until it is old enough.
TEST_F(OperationsTest, AreCountedAsLateByTheOneThatIsShown) {
  const Duration after = std::chrono::milliseconds(5);
  const auto launched = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({launched}, stream_), CudaResult::kSuccess);
  const Deadline late = Deadline::After(after);
  while (!late.Expired()) continue;
  operations_.Begin(AllReduce(2), Deadline::Never(), {}, std::nullopt);
  while (!operations_.HasNewLate(after)) continue;
  EXPECT_GE(operations_.Look().milliseconds, 5u);
  EXPECT_FALSE(operations_.HasNewLate(after));
}

TEST_F(OperationsTest, TellWhatTheGpuReports) {
  const auto ticket = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  cuda_->Break(CudaResult{700});
  CudaResult health = CudaResult::kSuccess;
  EXPECT_FALSE(operations_.Sweep(&health));
  EXPECT_EQ(health, CudaResult{700});
}

// A stream may be capturing a graph: in any thread, in CUDA's global mode.
TEST_F(OperationsTest, BreakNoCaptureWhenAskedFor) {
  const auto ticket = operations_.Begin(AllReduce(1), Deadline::Never(), {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  CudaStream other = nullptr;
  ASSERT_EQ(cuda_->CreateStream(&other), CudaResult::kSuccess);
  cuda_->BeginCapture(other);
  Drain();
  EXPECT_TRUE(Sweep());
  EXPECT_TRUE(cuda_->EndCapture(other));
  CudaCaptureMode mode = CudaCaptureMode::kThreadLocal;
  EXPECT_EQ(cuda_->ExchangeCaptureMode(&mode), CudaResult::kSuccess);
  EXPECT_EQ(mode, CudaCaptureMode::kGlobal) << "the thread's mode is the user's";
  EXPECT_EQ(cuda_->DestroyStream(other), CudaResult::kSuccess);
}

TEST_F(OperationsTest, ThatACaptureTakesAreOver) {
  cuda_->BeginCapture(stream_);
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(1));
  const auto ticket = operations_.Begin(AllReduce(1), deadline, {}, std::nullopt);
  EXPECT_EQ(operations_.Launched({ticket}, stream_), CudaResult::kSuccess);
  EXPECT_TRUE(Sweep());
  EXPECT_TRUE(cuda_->EndCapture(stream_));
  EXPECT_EQ(cuda_->events(), 0);
  while (!deadline.Expired()) continue;
  EXPECT_FALSE(operations_.FindOverdue());
  EXPECT_FALSE(operations_.Look().active);
}

}  // namespace
}  // namespace muster::nccl
