// One more launcher is one file (beacon.cc), one row (below) and one captured environment (beacon-2x2), or, if it
// cannot run here, one from its documentation (documented).
// Everything else follows from the row: resolving, the schema, the documentation, what programs inherit, the
// meeting of the ranks, and the refusal of what contradicts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bootstrap/config/generated.h"
#include "bootstrap/join/meeting.h"
#include "bootstrap/resolve/detect.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/run/program/outer_launcher.h"
#include "bootstrap/run/program/program_environment.h"
#include "comm/base/parse.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {

extern const Launcher kBeaconLauncher;

namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

// The product's launchers and this row, before Slurm's.
LauncherTable WithBeacon() {
  static const std::vector<const Launcher*> rows = [] {
    std::vector<const Launcher*> all(Launchers().begin(), Launchers().end());
    all.insert(std::ranges::find(all, LauncherRole::kSlurm, &Launcher::role), &kBeaconLauncher);
    return all;
  }();
  return LauncherTable(rows);
}

DetectOptions Among(std::string launcher = "auto") {
  DetectOptions options;
  options.launcher = std::move(launcher);
  options.launchers = WithBeacon();
  return options;
}

Environment Captured(int rank) {
  const auto environment =
      Environment::FromFile(fmt::format("tests/bootstrap/resolve/one_more/beacon-2x2/{}.env", rank));
  EXPECT_TRUE(environment) << environment.error().message;
  return environment.value_or(Environment());
}

std::string Text(const Environment::Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += fmt::format("{}={}\n", name, value);
  return text;
}

TEST(OneMoreLauncher, GivesItsTuple) {
  for (int rank = 0; rank < 4; ++rank) {
    const Resolution resolution = MustResolve(Captured(rank), Among());
    EXPECT_EQ(resolution.tuple, (RankTuple{.launcher = "beacon",
                                           .rank = rank,
                                           .world_size = 4,
                                           .local_rank = rank % 2,
                                           .local_world_size = 2,
                                           .node_rank = rank / 2,
                                           .num_nodes = 2,
                                           .node = fmt::format("n{}", rank / 2 + 1),
                                           .job = {.key = "beacon:77:0", .id = "77"}}));
    EXPECT_EQ(resolution.sources.front(), (FieldSource{"rank", "BEACON_RANK", {}}));
    EXPECT_EQ(resolution.considered.size(), WithBeacon().size() - 1);
  }
  EXPECT_EQ(MustResolve(Captured(3)).tuple.launcher, "none") << "without its row";
}

// If it could not run here, one file from its documentation would do instead of the captured ones.
TEST(OneMoreLauncher, OneDocumentedEnvironmentIsEnough) {
  const auto documented = AllDocumented("tests/bootstrap/resolve/one_more/documented");
  ASSERT_EQ(documented.size(), 1u);
  const RankTuple tuple = MustResolve(documented.front().environment, Among()).tuple;
  EXPECT_EQ(tuple.launcher, documented.front().launcher);
  EXPECT_EQ(TupleText(tuple), documented.front().tuple);
}

TEST(OneMoreLauncher, IsForcedByItsName) {
  const Environment both = Env(OneTaskANode(2, 1) + Text(Captured(3).All()));
  EXPECT_EQ(MustResolve(both, Among("beacon")).tuple.rank, 3);
  EXPECT_EQ(MustResolve(both, Among("slurm")).tuple.rank, 1);
  EXPECT_EQ(MustRefuse(both, {.launcher = "beacon"}).error.message, "there is no launcher called \"beacon\"");
  EXPECT_THAT(MustRefuse(both, Among("beckon")).error.hint, HasSubstr("flux, beacon, slurm"));
}

TEST(OneMoreLauncher, NestsInASlurmStep) {
  const Resolution resolution = MustResolve(Env(OneTaskANode(2, 1) + Text(Captured(3).All())), Among());
  EXPECT_EQ(resolution.tuple.launcher, "beacon");
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "carrier");
}

TEST(OneMoreLauncher, ContradictsAnotherWorld) {
  const Refusal refusal = MustRefuse(Env(OneTaskANode(3, 1) + Text(Captured(3).All())), Among());
  EXPECT_EQ(refusal.error.code, Code::kBadEnvironment);
  EXPECT_EQ(refusal.error.message,
            "beacon gives rank 3 of 4 (BEACON_RANK=3, BEACON_SIZE=4), but slurm gives rank 1 of 3 "
            "(SLURM_PROCID=1, SLURM_STEP_NUM_TASKS=3), and neither started the other");
  EXPECT_THAT(refusal.error.hint, HasSubstr("MUSTER_LAUNCHER=beacon"));
  EXPECT_EQ(VerdictOn("beacon", refusal.considered), "contradicts");
  const Environment half = Changed(Captured(3), {{"BEACON_SIZE", std::nullopt}});
  EXPECT_EQ(MustRefuse(half, Among()).error.message,
            "BEACON_RANK=3 is set but BEACON_SIZE is not: half a pair");
}

TEST(OneMoreLauncher, IsInTheSchema) {
  const std::string schema = config::SchemaText(WithBeacon());
  EXPECT_THAT(schema, HasSubstr(R"("flux", "beacon", "slurm")"));
  EXPECT_THAT(config::SchemaText(), Not(HasSubstr("beacon")));
}

// Two lines, and all others as before.
TEST(OneMoreLauncher, IsInTheDocumentation) {
  std::string page = config::LaunchersPage(WithBeacon());
  for (const std::string& line :
       {std::string("| `beacon` | Beacon's start | - | mpi |\n"),
        std::string("- `beacon`: `BEACON_RANK`, `BEACON_SIZE`, `BEACON_LOCAL_RANK`, `BEACON_LOCAL_SIZE`, "
                    "`BEACON_NODE_RANK`, `BEACON_NUM_NODES`, `BEACON_SESSION`, `BEACON_HOST`; made up\n"),
        std::string("| `BEACON_TOKEN` | a secret of its daemon |\n"),
        std::string("| `BEACON_LOCAL_RANK` | Beacon: local rank | the local rank |\n"),
        std::string(
            "| `BEACON_LOCAL_SIZE` | Beacon: ranks on this node | the number of ranks of the node |\n"),
        std::string("| `BEACON_RANK` | Beacon: rank | removed |\n"),
        std::string("| `BEACON_SIZE` | Beacon: number of ranks | removed |\n"),
        std::string("| `BEACON_SOCKET` | Beacon: one connection cannot serve several ranks | removed |\n")}) {
    const size_t at = page.find(line);
    ASSERT_NE(at, std::string::npos) << line;
    page.erase(at, line.size());
  }
  EXPECT_EQ(page, config::LaunchersPage());
}

TEST(OneMoreLauncher, RanksPlanOneMeeting) {
  const auto plan = [](const Environment& environment) {
    return join::PlanMeeting(MustResolve(environment, Among()), environment, RendezvousOptions{},
                             std::nullopt, WithBeacon());
  };
  const auto nowhere = plan(Captured(3));
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("ranks of this beacon launch may be on several nodes"));
  const std::string master = "MASTER_ADDR=n1\nMASTER_PORT=4000\n";
  const auto first = plan(Env(Text(Captured(0).All()) + master));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->find_root, FindRoot::kHost);
  EXPECT_EQ(first->host, "n1");
  EXPECT_EQ(first->key, "beacon id=77 beacon=4f1c");
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(*plan(Env(Text(Captured(rank).All()) + master)), *first);
}

Roster TwoNodes(int ranks_each) {
  Roster roster;
  roster.group_id = "0123456789abcdef0123456789abcdef";
  for (int node = 0; node < 2; ++node) {
    roster.nodes.push_back({fmt::format("n{}", node + 1), {}});
    for (int local = 0; local < ranks_each; ++local) roster.members.push_back({node, local, 10 + local, {}});
  }
  return roster;
}

Environment::Variables Inherited(int rank, bool several_ranks, const LauncherTable& launchers) {
  const Roster roster = TwoNodes(several_ranks ? 4 : 2);
  run::ProgramFacts facts{roster};
  facts.rank = rank;
  facts.job_key = "beacon:77:0";
  facts.master_host = "n1";
  facts.master_port = 4000;
  facts.control = "@muster-1";
  facts.supervisor_pid = 9;
  facts.rewrite_for_rank = several_ranks;
  return run::ProgramVariables(Captured(3).All(), facts, launchers);
}

TEST(OneMoreLauncher, ItsVariablesAreRemoved) {
  const auto one = Inherited(3, false, WithBeacon());
  EXPECT_THAT(one, Not(Contains(Key("BEACON_TOKEN"))));
  EXPECT_THAT(one, Contains(Pair("BEACON_RANK", "3")));
  EXPECT_THAT(Inherited(3, false, Launchers()), Contains(Key("BEACON_TOKEN"))) << "without its row";
  const auto several = Inherited(6, true, WithBeacon());
  for (const char* name : {"BEACON_TOKEN", "BEACON_RANK", "BEACON_SIZE", "BEACON_SOCKET"})
    EXPECT_THAT(several, Not(Contains(Key(name))));
  EXPECT_THAT(several, Contains(Pair("BEACON_LOCAL_RANK", "2")));
  EXPECT_THAT(several, Contains(Pair("BEACON_LOCAL_SIZE", "4")));
  EXPECT_THAT(several, Contains(Pair("MUSTER_OUTER_BEACON_LOCAL_RANK", "1")));
  EXPECT_THAT(several, Contains(Pair("BEACON_SESSION", "77")));
}

TEST(OneMoreLauncher, ProgramsBelowItsSupervisorAreTheSupervisors) {
  const Environment program = Env(Text(Inherited(6, true, WithBeacon())));
  const Resolution resolution = MustResolve(program, Among());
  EXPECT_EQ(resolution.tuple.launcher, "muster");
  EXPECT_EQ(resolution.tuple.rank, 6);
  EXPECT_EQ(VerdictOn("beacon", resolution.considered), "absent");
}

}  // namespace
}  // namespace muster::resolve
