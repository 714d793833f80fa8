#include "comm/nccl/nccl_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace muster::nccl {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(NcclVariables, AreFewByDefault) {
  EXPECT_THAT(NcclVariables({}, {}), ElementsAre(Pair("NCCL_DEBUG", "WARN")));
}

TEST(NcclVariables, SayWhatIsConfigured) {
  NcclOptions options;
  options.debug = NcclDebug::kInfo;
  options.algorithm = "Ring";
  options.protocol = "Simple";
  EXPECT_THAT(NcclVariables(options, {"ib0", "ib1"}),
              ElementsAre(Pair("NCCL_DEBUG", "INFO"), Pair("NCCL_SOCKET_IFNAME", "=ib0,ib1"),
                          Pair("NCCL_ALGO", "Ring"), Pair("NCCL_PROTO", "Simple")));
}

TEST(NcclVariables, LetRanksShareAGpu) {
  NcclOptions options;
  options.share_device = true;
  EXPECT_THAT(NcclVariables(options, {}),
              ElementsAre(Pair("NCCL_DEBUG", "WARN"), Pair("NCCL_MULTI_RANK_GPU_ENABLE", "1")));
}

TEST(SetUnsetVariables, LeavesWhatIsSet) {
  setenv("NCCL_TEST_SET", "mine", 1);
  unsetenv("NCCL_TEST_UNSET");
  SetUnsetVariables({{"NCCL_TEST_SET", "theirs"}, {"NCCL_TEST_UNSET", "theirs"}});
  EXPECT_STREQ(getenv("NCCL_TEST_SET"), "mine");
  EXPECT_STREQ(getenv("NCCL_TEST_UNSET"), "theirs");
}

TEST(UnsetCommBlocking, TakesItAway) {
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  UnsetCommBlocking();
  EXPECT_EQ(getenv("NCCL_COMM_BLOCKING"), nullptr);
}

}  // namespace
}  // namespace muster::nccl
