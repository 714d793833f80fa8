#include "bootstrap/join/data_options.h"

#include <gtest/gtest.h>

namespace muster::join {
namespace {

TEST(MakeDataOptions, TakesTheConfigurationAndTheEnvironment) {
  config::Config config;
  config.backend = Backend::kNccl;
  config.nccl.share_device = true;
  config.rendezvous.protect = Protect::kAll;
  TimeoutOptions timeouts;
  timeouts.init = std::chrono::seconds(7);
  const auto environment = Environment::FromVariables({{"CUDA_VISIBLE_DEVICES", "2,3"}});
  const DataOptions options = MakeDataOptions(environment, config, timeouts);
  EXPECT_EQ(options.backend, Backend::kNccl);
  EXPECT_EQ(options.nccl, config.nccl);
  EXPECT_EQ(options.protect, Protect::kAll);
  EXPECT_EQ(options.timeouts, timeouts);
  EXPECT_EQ(options.gpu.visible_list, "2,3");
  EXPECT_TRUE(options.route_nccl_log);
  EXPECT_TRUE(options.interfaces.empty()) << "NCCL chooses";
}

TEST(MakeDataOptions, LeavesAUsersLogFileAlone) {
  const auto environment = Environment::FromVariables({{"NCCL_DEBUG_FILE", "nccl.log"}});
  EXPECT_FALSE(MakeDataOptions(environment, config::Config(), {}).route_nccl_log);
}

TEST(MakeDataOptions, SeesWhatWouldMakeNcclNotBlock) {
  const auto not_blocking = [](Environment::Variables variables) {
    return MakeDataOptions(Environment::FromVariables(std::move(variables)), config::Config(), {})
        .nccl_not_blocking;
  };
  EXPECT_TRUE(not_blocking({{"NCCL_COMM_BLOCKING", "0"}}));
  EXPECT_FALSE(not_blocking({{"NCCL_COMM_BLOCKING", "1"}}));
  EXPECT_FALSE(not_blocking({}));
}

}  // namespace
}  // namespace muster::join
