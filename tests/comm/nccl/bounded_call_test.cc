#include "comm/nccl/bounded_call.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace muster {
namespace {

TEST(RunWithin, WaitsForTheCall) {
  const auto ran = std::make_shared<bool>(false);
  EXPECT_TRUE(RunWithin(Deadline::After(std::chrono::minutes(1)), [ran] { *ran = true; }));
  EXPECT_TRUE(*ran);
  EXPECT_TRUE(RunWithin(Deadline::Never(), [] {}));
}

TEST(RunWithin, LeavesBehindWhatHangs) {
  std::promise<void> release;
  std::promise<void> ended;
  const auto hang = [released = release.get_future().share(),
                     done = std::make_shared<std::promise<void>>(std::move(ended))] {
    released.wait();
    done->set_value();
  };
  EXPECT_FALSE(RunWithin(Deadline::After(std::chrono::milliseconds(20)), hang));
  release.set_value();
}

}  // namespace
}  // namespace muster
