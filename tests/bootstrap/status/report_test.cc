#include "bootstrap/status/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/comm/map/map_at_work.h"

namespace muster::status {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OperationState Operation(std::string name, uint64_t sequence, bool active, uint64_t milliseconds) {
  return {kWorldCommunicator, true, active, std::move(name), sequence, "", milliseconds, {}};
}

// Eight ranks on two nodes; all but rank 5 are in AllReduce #42.
rendezvous::GroupStatus OneIsLate() {
  rendezvous::GroupStatus status{"slurm:4.0:0", "0123", "", "", true, 0, 0, {"gpu01", "gpu02"}, {}, {}};
  for (int rank = 0; rank < 8; ++rank) {
    status.node_of_rank.push_back(rank / 4);
    rendezvous::RankReport& report = status.reports.emplace_back();
    report.rank = rank;
    report.state = rendezvous::RankState::kInGroup;
    report.process = {1000 + rank, 'S', 60000, 1500, "ep_poll"};
    report.operations = {rank == 5 ? Operation("Barrier", 41, false, 32000)
                                   : Operation("AllReduce", 42, true, 31000 - 500 * (rank == 7 ? 4U : 0U))};
  }
  return status;
}

TEST(StatusText, IsATableOfStatesAndWhoIsWaitedFor) {
  EXPECT_EQ(StatusText(OneIsLate()),
            "muster status: 8 ranks on gpu[01-02], slurm:4.0:0\n"
            "\n"
            "  ranks    nodes       state                                for\n"
            "  0-4,6,7  gpu[01-02]  in AllReduce #42                     29 s to 31 s\n"
            "  5        gpu02       in the program, last in Barrier #41  32 s\n"
            "\n"
            "AllReduce #42 waits 31 s for rank 5 (gpu02), last seen in Barrier #41\n");
}

TEST(StatusText, HasNoControlCharacterOfAProcess) {
  rendezvous::GroupStatus status = OneIsLate();
  status.failure = "rank 5 on gpu02 failed: \x1b]0;x\x07\n\u009b2J";
  EXPECT_THAT(StatusText(status), HasSubstr("failed: %1B]0;x%07\n%C2%9B2J\n"));
}

TEST(KeepJob, KeepsTheGroupsOfThisJob) {
  const auto kept = [](std::string_view job) {
    std::vector<rendezvous::GroupStatus> groups(3);
    groups[0].job = "slurm:4.0:0";
    groups[1].job = "slurm:5.0:0";
    groups[2].job = "launch:7:0";
    KeepJob(groups, job);
    return groups.size();
  };
  EXPECT_EQ(kept("4"), 2u);
  EXPECT_EQ(kept(""), 3u) << "it is in no job";
}

TEST(StatusText, CutsALongListOfRanks) {
  rendezvous::GroupStatus status{"slurm:4.0:0", "0123", "", "", true, 0, 0, {"gpu01"}, {}, {}};
  for (int rank = 0; rank < 2048; ++rank) {
    status.node_of_rank.push_back(0);
    rendezvous::RankReport& report = status.reports.emplace_back();
    report.rank = rank;
    report.state = rendezvous::RankState::kInGroup;
    report.operations = {Operation(rank % 2 == 0 ? "Send" : "Recv", 1, true, 500)};
  }
  EXPECT_EQ(StatusText(status),
            "muster status: 2048 ranks on gpu01, slurm:4.0:0\n"
            "\n"
            "  ranks                       nodes  state       for\n"
            "  0,2,4,6,8,10 and 1018 more  gpu01  in Send #1  0.5 s\n"
            "  1,3,5,7,9,11 and 1018 more  gpu01  in Recv #1  0.5 s\n"
            "  --json has every rank\n");
}

TEST(StatusText, SaysWhatIsMissing) {
  rendezvous::GroupStatus status = OneIsLate();
  status.complete = false;
  status.failure = "rank 3 on gpu01 failed: exit 3";
  const std::string text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("the group has failed: rank 3 on gpu01 failed: exit 3\n"));
  EXPECT_THAT(text, HasSubstr("the root, rank 0 on gpu01, does not answer: only this node was queried\n"));
  rendezvous::GroupStatus forming;
  forming.job = "slurm:4.0:0";
  forming.forming = "3/4 ranks; missing gpu02: 3 (never connected)";
  EXPECT_EQ(StatusText(forming),
            "muster status, slurm:4.0:0: the group is still forming: 3/4 ranks; missing gpu02: 3 (never "
            "connected)\n");
}

TEST(StatusText, ShowsStacks) {
  rendezvous::GroupStatus status = OneIsLate();
  status.reports[5].stack = "kernel: sleeps in ep_poll\npy-spy:\nmain (eval.py:3)\n";
  EXPECT_THAT(StatusText(status),
              HasSubstr("\nrank 5 on gpu02, pid 1005 (S, 1.5 s of CPU): in the program, last in Barrier #41\n"
                        "  kernel: sleeps in ep_poll\n  py-spy:\n  main (eval.py:3)\n"));
}

TEST(StatusText, HasABlockForEachMap) {
  rendezvous::GroupStatus status = OneIsLate();
  status.maps = {map::MapAtWork()};
  EXPECT_THAT(StatusText(status), HasSubstr("in Barrier #41\n\nmap \"python eval.py {model}\", journal "
                                            "/scratch/out/journal: at work for 10.0 s\n"));
}

TEST(StatusJson, HasTheMaps) {
  rendezvous::GroupStatus status = OneIsLate();
  EXPECT_EQ(nlohmann::json::parse(StatusJson({status}, {}))["groups"][0]["maps"], nlohmann::json::array());
  status.maps = {map::MapAtWork()};
  status.maps[0].ranks[1].rank = 7;
  const auto maps = nlohmann::json::parse(StatusJson({status}, {}))["groups"][0]["maps"];
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0]["committed"], 116);
  EXPECT_EQ(maps[0]["ranks"][1]["node"], "gpu02");
}

TEST(StatusJson, HasEveryRank) {
  const auto json = nlohmann::json::parse(StatusJson({OneIsLate()}, {}));
  EXPECT_EQ(json["time"], "1970-01-01T00:00:00.000Z");
  const auto& group = json["groups"][0];
  EXPECT_EQ(group["job"], "slurm:4.0:0");
  EXPECT_EQ(group["size"], 8);
  EXPECT_EQ(group["waiting"][0], "AllReduce #42 waits 31 s for rank 5 (gpu02), last seen in Barrier #41");
  ASSERT_EQ(group["ranks"].size(), 8u);
  const auto& late = group["ranks"][5];
  EXPECT_EQ(late["rank"], 5);
  EXPECT_EQ(late["node"], "gpu02");
  EXPECT_EQ(late["state"], "in_group");
  EXPECT_EQ(late["exit_status"], nullptr);
  EXPECT_EQ(late["process"]["pid"], 1005);
  EXPECT_EQ(late["process"]["cpu_seconds"], 1.5);
  EXPECT_EQ(late["operations"][0]["operation"], "Barrier");
  EXPECT_EQ(late["operations"][0]["sequence"], 41);
  EXPECT_EQ(late["operations"][0]["active"], false);
  EXPECT_EQ(late["operations"][0]["seconds"], 32.0);
}

TEST(RanksToLookAt, AreThoseThatOthersWaitFor) { EXPECT_THAT(RanksToLookAt(OneIsLate(), 8), ElementsAre(5)); }

TEST(RanksToLookAt, AreTheIdleOnesWhereNobodyWaits) {
  rendezvous::GroupStatus status = OneIsLate();
  for (rendezvous::RankReport& report : status.reports) report.operations.clear();
  status.reports[1].state = rendezvous::RankState::kEnded;
  EXPECT_THAT(RanksToLookAt(status, 3), ElementsAre(0, 2, 3));
}

}  // namespace
}  // namespace muster::status
