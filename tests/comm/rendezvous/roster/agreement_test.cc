#include "comm/rendezvous/roster/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/rendezvous/members.h"

namespace muster::rendezvous {
namespace {

constexpr const char* kResolveHint = "run \"muster resolve\" on both to see where it comes from";
constexpr const char* kConfigHint =
    "give every rank the same file, flags and MUSTER_ variables; \"muster config --explain\" shows where a "
    "value "
    "comes from";

struct Case {
  const char* name;
  void (*change)(Agreement&);
  const char* message;
  std::string hint;
};

class DisagreementTest : public testing::TestWithParam<Case> {};

TEST_P(DisagreementTest, NamesBothSides) {
  const ProcessInfo mine = PartyOf(0, "gpu01", 8);
  ProcessInfo other = PartyOf(5, "gpu03", 8);
  GetParam().change(other.agreement);
  const auto error = FindDisagreement(mine, other);
  ASSERT_TRUE(error);
  EXPECT_EQ(*error, (Error{Code::kDisagreement, GetParam().message, GetParam().hint}));
}

INSTANTIATE_TEST_SUITE_P(
    All, DisagreementTest,
    testing::Values(
        Case{"restart", [](Agreement& a) { a.restart = 1; },
             "the ranks disagree on the restart of the job: rank 5 on gpu03 has 1, rank 0 on gpu01 has 0",
             "end the process that an earlier start of the job has left"},
        Case{"world", [](Agreement& a) { a.world_size = 9; },
             "the ranks disagree on the world size: rank 5 on gpu03 has 9, rank 0 on gpu01 has 8",
             kResolveHint},
        Case{"launcher", [](Agreement& a) { a.launcher = "torchrun"; },
             "the ranks disagree on the launcher: rank 5 on gpu03 has torchrun, rank 0 on gpu01 has slurm",
             std::string(kResolveHint) + "; MUSTER_LAUNCHER forces one"},
        Case{
            "job", [](Agreement& a) { a.job_key = "slurm:5.0:0"; },
            "the ranks disagree on the job: rank 5 on gpu03 has slurm:5.0:0, rank 0 on gpu01 has slurm:4.0:0",
            kResolveHint},
        Case{"backend", [](Agreement& a) { a.backend = "nccl"; },
             "the ranks disagree on the backend: rank 5 on gpu03 has nccl, rank 0 on gpu01 has socket",
             "set the same backend everywhere"},
        Case{"configuration", [](Agreement& a) { a.configuration = "timeouts.barrier=5s\n"; },
             "the configurations differ in timeouts.barrier: rank 5 on gpu03 has 5s, rank 0 on gpu01 has the "
             "default",
             kConfigHint}),
    [](const auto& given) { return given.param.name; });

// If this does not compile, a field has come that needs a case above.
TEST(FindDisagreement, TheTableHasEveryField) {
  const auto& [world_size, launcher, restart, job_key, backend, configuration] =
      PartyOf(0, "gpu01", 8).agreement;
  EXPECT_EQ(world_size, 8);
}

TEST(FindDisagreement, AgreesWithItself) {
  EXPECT_EQ(FindDisagreement(PartyOf(0, "gpu01", 8), PartyOf(5, "gpu03", 8)), std::nullopt);
}

TEST(FindDisagreement, TheConfigurationKeyMayBeOnEitherSide) {
  ProcessInfo mine = PartyOf(0, "gpu01", 8);
  ProcessInfo other = PartyOf(5, "gpu03", 8);
  mine.agreement.configuration = "a=1\nb=2\nc=3\n";
  other.agreement.configuration = "a=1\nc=4\n";
  EXPECT_EQ(FindDisagreement(mine, other)->message,
            "the configurations differ in b: rank 5 on gpu03 has the default, rank 0 on gpu01 has 2");
  EXPECT_EQ(FindDisagreement(other, mine)->message,
            "the configurations differ in c: rank 0 on gpu01 has 3, rank 5 on gpu03 has 4");
}

// Each command has settings of its own, which are no news beside it.
TEST(FindDisagreement, AnotherCommandIsNamed) {
  ProcessInfo mine = PartyOf(0, "gpu01", 8);
  ProcessInfo other = PartyOf(5, "gpu03", 8);
  mine.agreement.configuration = "a=1\ncommand=muster run\nmax-restarts=0\n";
  other.agreement.configuration = "command=muster check\n";
  EXPECT_EQ(*FindDisagreement(mine, other),
            (Error{Code::kDisagreement,
                   "the ranks disagree on the command: rank 5 on gpu03 has muster check, rank 0 on gpu01 has "
                   "muster run",
                   "start the same command on every rank"}));
}

TEST(FindDisagreement, TheMostTellingDifferenceComesFirst) {
  const ProcessInfo mine = PartyOf(0, "gpu01", 8);
  ProcessInfo other = PartyOf(5, "gpu03", 9);
  other.agreement.launcher = "torchrun";
  other.agreement.job_key = "x";
  EXPECT_EQ(FindDisagreement(mine, other)->message,
            "the ranks disagree on the world size: rank 5 on gpu03 has 9, rank 0 on gpu01 has 8");
}

TEST(FindDisagreement, AProcessOfSeveralRanksIsPlural) {
  ProcessInfo mine = PartyOf(0, "gpu01", 8);
  mine.claims = {{2, 2, 4, {}}, {0, 0, 4, {}}, {1, 1, 4, {}}};
  EXPECT_EQ(DescribeProcess(mine), "ranks 0-2 on gpu01");
  EXPECT_EQ(FindDisagreement(mine, PartyOf(5, "gpu03", 9))->message,
            "the ranks disagree on the world size: rank 5 on gpu03 has 9, ranks 0-2 on gpu01 have 8");
}

TEST(FindLeftover, IsWhoeverComesFromAnEarlierIncarnation) {
  ProcessInfo mine = PartyOf(0, "gpu01", 8);
  mine.agreement.restart = 2;
  ProcessInfo old = PartyOf(5, "gpu03", 8);
  old.agreement.restart = 1;
  const auto error = FindLeftover(mine, HelloOf({mine, old}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message,
            "the ranks disagree on the restart of the job: rank 5 on gpu03 has 1, rank 0 on gpu01 has 2");
  EXPECT_EQ(FindLeftover(old, HelloOf({mine})), std::nullopt);
}

}  // namespace
}  // namespace muster::rendezvous
