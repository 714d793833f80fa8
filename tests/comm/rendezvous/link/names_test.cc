#include "comm/rendezvous/link/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace muster::rendezvous {
namespace {

using testing::MatchesRegex;
using testing::UnorderedElementsAre;

TEST(PortLadder, IsTheSameForOneKeyAndInsideTheRange) {
  const PortRange ports{61000, 64999};
  const std::vector<uint16_t> ladder = PortLadder("slurm:4.0", ports);
  EXPECT_EQ(ladder, PortLadder("slurm:4.0", ports));
  EXPECT_EQ(ladder.size(), static_cast<size_t>(kLadderLength));
  EXPECT_EQ(std::set<uint16_t>(ladder.begin(), ladder.end()).size(), ladder.size());
  for (const uint16_t port : ladder) {
    EXPECT_GE(port, 61000);
    EXPECT_LE(port, 64999);
  }
}

TEST(PortLadder, OtherKeysHaveOtherLadders) {
  std::set<uint16_t> first_ports;
  for (int job = 0; job < 100; ++job) {
    first_ports.insert(PortLadder("slurm:" + std::to_string(job), {61000, 64999}).front());
  }
  EXPECT_GT(first_ports.size(), 90u);
}

TEST(PortLadder, PortsOfOthersAreLeftOut) {
  const std::vector<uint16_t> ladder = PortLadder("key", {61000, 61999});
  const std::vector<uint16_t> others = {ladder[0], ladder[3]};
  const std::vector<uint16_t> rest = PortLadder("key", {61000, 61999}, others);
  EXPECT_EQ(rest.size(), static_cast<size_t>(kLadderLength));
  for (const uint16_t port : others) EXPECT_EQ(std::ranges::count(rest, port), 0);
  EXPECT_THAT(PortLadder("key", {7, 9}, {8, 100}), UnorderedElementsAre(7, 9));
  EXPECT_THAT(PortLadder("key", {7, 7}, {7}), UnorderedElementsAre(7)) << "there is no other";
}

TEST(PortLadder, ASmallRangeIsUsedWhole) {
  EXPECT_THAT(PortLadder("key", {7, 7}), UnorderedElementsAre(7));
  EXPECT_THAT(PortLadder("key", {7, 9}), UnorderedElementsAre(7, 8, 9));
  EXPECT_EQ(PortLadder("key", {0, 65535}).size(), static_cast<size_t>(kLadderLength));
}

TEST(PortLadder, GoesOnThroughTheWholeRange) {
  const PortRange ports{61000, 64999};
  const std::vector<uint16_t> first = PortLadder("slurm:4.0", ports);
  const std::vector<uint16_t> all = PortLadder("slurm:4.0", ports, {}, kWholeLadder);
  EXPECT_EQ(all.size(), 4000u);
  EXPECT_EQ(std::set<uint16_t>(all.begin(), all.end()).size(), 4000u);
  EXPECT_EQ(first, std::vector(all.begin(), all.begin() + kLadderLength));
  EXPECT_EQ(PortLadder("key", {0, 65535}, {}, kWholeLadder).size(), kWholeLadder);
}

TEST(LadderSeeds, OfASecretComeFirstAndCannotBeGuessed) {
  const auto a = auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  const auto b = auth::JobSecret::Parse(std::string(64, 'b'), "MUSTER_SECRET");
  EXPECT_THAT(LadderSeeds("key", std::nullopt), testing::ElementsAre("key"));
  const auto seeds = LadderSeeds("key", *a);
  ASSERT_EQ(seeds.size(), 2u);
  EXPECT_EQ(seeds[1], "key");
  EXPECT_EQ(seeds, LadderSeeds("key", *a));
  EXPECT_NE(seeds[0], LadderSeeds("key", *b)[0]);
  EXPECT_NE(seeds[0], LadderSeeds("yek", *a)[0]);
}

TEST(EndpointTopic, IsUnderAPrefixOfItsOwn) {
  const std::string topic = EndpointTopic("key");
  EXPECT_THAT(topic, MatchesRegex("muster/[0-9a-f]{24}/root"));
  EXPECT_EQ(topic, EndpointTopic("key"));
  EXPECT_NE(topic, EndpointTopic("yek"));
}

TEST(LocalNames, AreShortAndDependOnKeyAndNode) {
  const std::string name = LocalSocketName("key", "gpu01");
  EXPECT_THAT(name, MatchesRegex("leader-[0-9a-f]{24}"));
  EXPECT_EQ(name, LocalSocketName("key", "gpu01"));
  EXPECT_NE(name, LocalSocketName("key", "gpu02"));
  EXPECT_NE(name, LocalSocketName("yek", "gpu01"));
  EXPECT_NE(LocalSocketName("ab", "c"), LocalSocketName("a", "bc"));
}

}  // namespace
}  // namespace muster::rendezvous
