#include "comm/nccl/communicator/live_comm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "tests/comm/nccl/computing_nccl.h"

namespace muster::nccl {
namespace {

class LiveCommTest : public testing::Test {
 protected:
  static NcclComm Handle(int& object) { return reinterpret_cast<NcclComm>(&object); }

  int whole_ = 0, part_ = 0;
  LiveComm live_{std::make_shared<ComputingNccl>(std::make_shared<FakeFabric>()),
                 std::make_shared<ComputingCuda>(), Handle(whole_), 0, 1};
};

TEST_F(LiveCommTest, IsTakenOnce) {
  EXPECT_EQ(live_.Take(), Handle(whole_));
  EXPECT_EQ(live_.Take(), nullptr);
  EXPECT_EQ(live_.Call([](NcclComm) { return NcclResult::kSuccess; }), NcclResult::kInvalidUsage);
}

TEST_F(LiveCommTest, ItsPartsAreTakenWithIt) {
  NcclComm* slot = live_.NewSlot();
  *slot = Handle(part_);
  EXPECT_EQ(live_.TakeParts(), std::vector<NcclComm>{Handle(part_)});
  EXPECT_EQ(live_.TakePart(slot), nullptr);
}

// A call that hangs longer than Take waits for it. Its end is not an event of this thread's: that would order what
// both touch, and ThreadSanitizer could not see that nothing else does.
class HungCall {
 public:
  HungCall(LiveComm& live, const std::function<void()>& then)
      : thread_([this, &live, then] {
          live.Call([this](NcclComm) {
            begun_.set_value();
            std::this_thread::sleep_for(std::chrono::milliseconds(1500));
            return NcclResult::kSuccess;
          });
          then();
        }) {
    begun_.get_future().wait();
  }
  ~HungCall() { thread_.join(); }
  HungCall(const HungCall&) = delete;
  HungCall& operator=(const HungCall&) = delete;

 private:
  std::promise<void> begun_;
  std::thread thread_;
};

TEST_F(LiveCommTest, IsTakenFromACallThatHangs) {
  const HungCall hung(live_, [this] {
    EXPECT_EQ(live_.Call([](NcclComm) { return NcclResult::kSuccess; }), NcclResult::kInvalidUsage);
  });
  EXPECT_EQ(live_.Take(), Handle(whole_));
}

TEST_F(LiveCommTest, ItsPartsAreTakenWhileACallHangs) {
  *live_.NewSlot() = Handle(part_);
  const HungCall hung(live_, [this] { EXPECT_NE(live_.NewSlot(), nullptr); });
  EXPECT_EQ(live_.TakeParts(), std::vector<NcclComm>{Handle(part_)});
}

}  // namespace
}  // namespace muster::nccl
