#include "bootstrap/config/config_digest.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::config {
namespace {

std::string Difference(std::string_view mine, std::string_view theirs) {
  return DescribeDifference(mine, theirs, "rank 0 on gpu01", "rank 5 on gpu02");
}

TEST(GroupWideText, IsEmptyForTheDefaults) { EXPECT_EQ(GroupWideText(Config()), ""); }

TEST(GroupWideText, HasWhatDiffersFromTheDefaultsInTheOrderOfTheTable) {
  Config config;
  config.timeouts.collective = std::chrono::hours(1);
  config.rendezvous.endpoint = Endpoint{"2001:db8::1", 61000};
  config.backend = Backend::kSocket;
  EXPECT_EQ(GroupWideText(config),
            "backend=socket\nrendezvous.endpoint=\"[2001:db8::1]:61000\"\ntimeouts.collective=1h\n");
}

TEST(GroupWideText, LeavesOutWhatMayDiffer) {
  Config config;
  config.launcher = "slurm";
  config.rendezvous.interface = "ib0";
  config.run.command = {"a"};
  config.run.env = {{"A", "b"}};
  config.run.grace = std::chrono::seconds(1);
  config.log = {LogLevel::kDebug, LogFormat::kJson, "f"};
  EXPECT_EQ(GroupWideText(config), "");
}

TEST(DescribeDifference, NamesTheKeyAndBothValues) {
  EXPECT_EQ(Difference("timeouts.collective=1h\n", "timeouts.collective=2h\n"),
            "timeouts.collective is 1h on rank 0 on gpu01 and 2h on rank 5 on gpu02");
  EXPECT_EQ(Difference("", "timeouts.collective=2h\n"),
            "timeouts.collective is 30m (the default) on rank 0 on gpu01 and 2h on rank 5 on gpu02");
  EXPECT_EQ(
      Difference("rendezvous.endpoint=\"[::1]:5\"\n", ""),
      "rendezvous.endpoint is \"[::1]:5\" on rank 0 on gpu01 and null (the default) on rank 5 on gpu02");
  EXPECT_EQ(Difference("", ""), "");
  EXPECT_EQ(Difference("a=1\n", "a=1\n"), "");
}

TEST(DescribeDifference, StopsAtThreeKeys) {
  EXPECT_EQ(Difference("backend=nccl\ntimeouts.barrier=1s\ntimeouts.connect=1s\n",
                       "timeouts.init=2s\ntimeouts.resolve=2s\ntimeouts.barrier=1s\n"),
            "backend is nccl on rank 0 on gpu01 and auto (the default) on rank 5 on gpu02; "
            "timeouts.connect is 1s on rank 0 on gpu01 and 30s (the default) on rank 5 on gpu02; "
            "timeouts.init is 10m (the default) on rank 0 on gpu01 and 2s on rank 5 on gpu02; and 1 more");
}

TEST(DescribeDifference, ShowsAStrangersTextSafely) {
  EXPECT_EQ(Difference("", "new.key=1\n"), "new.key is not set on rank 0 on gpu01 and 1 on rank 5 on gpu02");
  EXPECT_EQ(Difference("", "backend=a\x1b[0m\n"),
            "backend is auto (the default) on rank 0 on gpu01 and \"a\\u001b[0m\" on rank 5 on gpu02");
  EXPECT_EQ(Difference("", "backend=\xff\n"),
            "backend is auto (the default) on rank 0 on gpu01 and ... on rank 5 on gpu02");
  EXPECT_EQ(Difference("", "backend=" + std::string(1000, 'x') + "\n"),
            "backend is auto (the default) on rank 0 on gpu01 and " + std::string(80, 'x') +
                "... on rank 5 on gpu02");
  EXPECT_EQ(Difference("", "garbage"), "garbage is not set on rank 0 on gpu01 and  on rank 5 on gpu02");
}

}  // namespace
}  // namespace muster::config
