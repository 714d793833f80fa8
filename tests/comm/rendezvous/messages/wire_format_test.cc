// The bytes of every message: releases that are neighbours must read each other's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/liveness/owner_messages.h"
#include "comm/rendezvous/messages/exit_report.h"
#include "comm/rendezvous/messages/messages.h"
#include "comm/rendezvous/messages/survey_messages.h"
#include "comm/rendezvous/messages/versions.h"

namespace muster::rendezvous {
namespace {

using std::chrono::microseconds;

std::string Hex(const Bytes& bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

const Agreement kAgreement{4, "slurm", 1, "slurm:4.0:0", "socket", "a=b\n"};
const ProcessInfo kFirst{"n1", 11, kAgreement, {{0, 1, 2, {7, 8}}}, std::nullopt, 0x0102030405060708};
const ProcessInfo kSameNode{"n1", 12, kAgreement, {{1, -1, -1, {}}, {2, 0, 1, {9}}}};
const ProcessInfo kRefused{"n2", 13, {}, {}, Error{Code::kConfiguration, "bad", "fix"}};
const Roster kRoster{
    "id", {{"n1", {"10.1.2.3", "fd00::1"}}, {"n2", {}}}, {{0, 0, 11, {9}, 0}, {1, 2, 12, {}, 1}}};

FormedGroup Group() {
  FormedGroup group{kRoster, {}, 1};
  group.key.fill(0xab);
  return group;
}

std::vector<RankReport> Reports() {
  return {{1,
           RankState::kEnded,
           3,
           {7, 'S', 31000, 1500, "ep_poll"},
           {{1, true, false, "AllReduce", 42, "f32[8]", 20, {5, 6}}},
           "main\n"},
          {0, RankState::kSilent, -1, {}, {}, ""}};
}

TEST(WireFormat, Hello) {
  EXPECT_EQ(Hex(Encode(Hello{{"10.1.2.3"}, {kFirst, kSameNode, kRefused}})),
            "01010000000800000031302e312e322e330300000000020000006e310400000005000000736c75726d010000"
            "000b000000736c75726d3a342e303a3006000000736f636b657404000000613d620a0b000000080706050403"
            "020101000000000000000100000002000000020000000708010c000000000000000000000002000000010000"
            "00ffffffffffffffff00000000020000000000000001000000010000000902020000006e3200000000000000"
            "00000000000000000000000000000000000d0000000000000000000000000000000903000000626164030000"
            "00666978");
}

TEST(WireFormat, Roster) {
  EXPECT_EQ(Hex(Encode(Group())),
            "04abababababababababababababababababababababababababababababababab01000000020000006964"
            "3b00000002020400026e3106000900020204000831302e312e322e33040007666430303a3a310900010209"
            "0002080916010209000009000102080001090000");
}

// 16 nodes with 2 ranks each: local ranks and nodes are patterns, processes a run; pids differ by node and are packed.
TEST(WireFormat, RosterOfARegularLayout) {
  FormedGroup group{{}, {}, 0};
  for (int node = 0; node < 16; ++node) {
    group.roster.nodes.push_back({fmt::format("n{:02}", node), {}});
    for (int local = 0; local < 2; ++local)
      group.roster.members.push_back({node, local, 1000 + node * node + local, {}, node * 2 + local});
  }
  const std::string bytes = Hex(Encode(group));
  EXPECT_EQ(bytes.substr(bytes.find("1020")),
            "10200400036e30303e004000000a10020800000a100008000241d00fe10100010409101924314051647990a9c4e10a10"
            "00080002800100028101");
}

TEST(WireFormat, Failure) {
  EXPECT_EQ(Hex(Encode(Failure{{Code::kPeerLost, "rank 1 on n2", "look"}, 1, 137, "Killed\n", true, 4711})),
            "05030c00000072616e6b2031206f6e206e32040000006c6f6f6b0100000089000000070000004b696c6c6564"
            "0a016712000000000000");
}

TEST(WireFormat, Exchange) {
  const KeyedAllGather exchange{"ports", 60000, {{0, {1, 2}}, {1, {}}}};
  EXPECT_EQ(Hex(Encode(exchange, ControlType::kKeyedAllGather)),
            "0805000000706f72747360ea00000000000002000000000000000200000001020100000000000000");
  EXPECT_EQ(Hex(Encode(exchange, ControlType::kKeyedAllGathered)).substr(0, 2), "09");
}

TEST(WireFormat, Acceptance) {
  EXPECT_EQ(Hex(Encode(Acceptance{12345, {3, 4}, "n2", true})),
            "0239300000000000000200000003000000040000000200"
            "00006e3201");
}

TEST(WireFormat, Numbers) {
  EXPECT_EQ(Hex(Encode(JobEnd{3600000})), "1780ee360000000000");
  EXPECT_EQ(Hex(Encode(RanksLeft{{3, 4}})), "0a020000000300000004000000");
  EXPECT_EQ(Hex(Encode(AdoptionRequest{5})), "0e05000000");
  EXPECT_EQ(Hex(EncodeBare(ControlType::kReleased)), "0b");
}

TEST(WireFormat, Adoption) {
  // The members one by one, as in each release so far.
  const std::string group =
      "abababababababababababababababababababababababababababababababab0100000002000000696402"
      "000000020000006e31020000000800000031302e312e322e3307000000666430303a3a31020000006e320000"
      "00000200000000000000000000000b000000010000000901000000020000000c00000000000000";
  EXPECT_EQ(Hex(Encode(Adoption{Group(), 1, 2, "log", "key"})),
            "0f" + group + "0100000002000000030000006c6f67030000006b6579");
}

TEST(WireFormat, Survey) {
  EXPECT_EQ(Hex(Encode(Survey{7, 2000, {1, 5}})),
            "100700000000000000d007000000000000020000000100000005000000");
  EXPECT_EQ(Hex(Encode(Surveyed{7, false, Reports()})),
            "110700000000000000000200000001000000030300000007000000531879000000000000dc05000000000000"
            "0700000065705f706f6c6c010000000100000000000000010009000000416c6c5265647563652a0000000000"
            "0000060000006633325b385d1400000000000000020000000500000006000000050000006d61696e0a000000"
            "0000ffffffff000000003f00000000000000000000000000000000000000000000000000000000");
  EXPECT_EQ(Hex(Encode(GroupStatus{"job", "id", "forming", "failed", true, 1, 0, {"n1", "n2"}, {1, 0}, {}})),
            "13030000006a6f6202000000696407000000666f726d696e67060000006661696c6564010100000000000000"
            "02000000020000006e31020000006e3202000000010000000000000000000000");
}

TEST(WireFormat, SurveyWithAMap) {
  map::MapState map{1, "s", "j", map::MapPhase::kAtWork, true, {10, 3, 1, 2, 4, 5}, microseconds(1)};
  map.slowest = {{6, "k", 2, microseconds(2)}};
  map.ranks = {{2, 3, true, 7, 8, 4, 1, microseconds(3)}};
  EXPECT_EQ(Hex(Encode(Surveyed{7, true, {}, {map}})),
            "110700000000000000010000000001000000010000000100000073010000006a01010a00000000000000"
            "030000000000000001000000000000000200000000000000040000000000000005000000000000000100"
            "000000000000010000000600000000000000010000006b02000000020000000000000000000000000000"
            "000100000002000000030000000107000000000000000800000000000000040000000100000003000000"
            "00000000");
}

TEST(WireFormat, ExitReport) {
  const RankEnd end{5, EndCause::kKilled, OutOfMemory::kOwn, 1,
                    9, microseconds(1),   microseconds(2),   microseconds(3)};
  EXPECT_EQ(Hex(Encode(ExitReport{{end}, true})),
            "1601010000000500000002020100000009000000010000000000000002000000000000000300000000000000");
}

TEST(WireFormat, OrphanReport) {
  const RankEnd end{5, EndCause::kKilled, OutOfMemory::kOwn, 1,
                    9, microseconds(1),   microseconds(2),   microseconds(3)};
  EXPECT_EQ(Hex(Encode(OrphanReport{"id", {end}})),
            "1d0200000069640100000005000000020201000000090000000100000000000000020000000000000003000000000000"
            "00");
}

TEST(WireFormat, FailureDue) { EXPECT_EQ(Hex(Encode(FailureDue{5, 200})), "1e05000000c800000000000000"); }

TEST(WireFormat, Owner) {
  EXPECT_EQ(Hex(Encode(OwnerQuestion{7, "10.1.2.3", 40000, "fd00::1", 61000, 1})),
            "1407000000000000000800000031302e312e322e33409c07000000666430303a3a3148ee01000000");
  EXPECT_EQ(Hex(Encode(OwnerAnswer{7, OwnerKind::kProgram, 1000, 3, 2})),
            "15070000000000000003e8030000030000000200000001");
}

TEST(WireFormat, Maps) {
  const Bytes content = {1, 2, 3};
  EXPECT_EQ(Hex(Encode(RankMessage{5, content}, ControlType::kToRoot)), "190500000003000000010203");
  EXPECT_EQ(Hex(Encode(RankMessage{5, content}, ControlType::kToRank)), "1a0500000003000000010203");
  EXPECT_EQ(Hex(Encode(Tolerance{true})), "1b01");
  EXPECT_EQ(Hex(Encode(RanksLost{{3, 4}, "died", true, 7})),
            "1c02000000030000000400000004000000646965640107000000");
}

TEST(WireFormat, Versions) {
  EXPECT_EQ(Hex(Encode(Versions{2, 3, "0.2.0"})), "180200030005000000302e322e30");
}

}  // namespace
}  // namespace muster::rendezvous
