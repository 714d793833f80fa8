#include "comm/nccl/backend_choice.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::nccl {
namespace {

// Two ranks on each of gpu01, gpu02, ...
Roster Nodes(int count) {
  Roster roster{"id", {}, {}};
  for (int node = 0; node < count; ++node) {
    roster.nodes.push_back({fmt::format("gpu{:02}", node + 1), {}});
    for (int local = 0; local < 2; ++local) roster.members.push_back({node, local, 1, {}});
  }
  return roster;
}

// The ranks of `roster` with a GPU each, except those of `without`.
std::vector<GpuVerdict> Verdicts(const Roster& roster, const std::vector<int>& without) {
  std::vector<GpuVerdict> verdicts;
  for (int rank = 0; rank < roster.size(); ++rank) {
    verdicts.push_back({"", rank % 2, fmt::format("GPU-{}", rank), "NVIDIA H100"});
  }
  for (const int rank : without) verdicts.at(static_cast<size_t>(rank)) = {"no GPU", 0, "", ""};
  return verdicts;
}

Result<BackendChoice> Choose(Backend configured, const std::vector<int>& without, bool share_device = false) {
  const Roster roster = Nodes(2);
  return AgreeOnBackend(configured, roster, Verdicts(roster, without), share_device);
}

TEST(AgreeOnBackend, AutoTakesNcclWhereEveryRankHasAGpu) {
  EXPECT_EQ(Choose(Backend::kAuto, {}), (BackendChoice{Backend::kNccl, "every rank has a GPU of its own"}));
  EXPECT_EQ(Choose(Backend::kNccl, {}), (BackendChoice{Backend::kNccl, "every rank has a GPU of its own"}));
}

TEST(AgreeOnBackend, AutoTakesSocketsWhereNoneHasOne) {
  EXPECT_EQ(Choose(Backend::kAuto, {0, 1, 2, 3}),
            (BackendChoice{Backend::kSocket, "no rank has a GPU; rank 0 on gpu01: no GPU"}));
}

TEST(AgreeOnBackend, SocketAsksNobody) {
  EXPECT_EQ(AgreeOnBackend(Backend::kSocket, Nodes(2), {}, false),
            (BackendChoice{Backend::kSocket, "as configured"}));
}

TEST(CheckNcclProtection, WhatNcclCannotKeepIsRefused) {
  EXPECT_TRUE(CheckNcclProtection(Protect::kControl, Nodes(2)));
  EXPECT_TRUE(CheckNcclProtection(Protect::kAll, Nodes(1))) << "nothing leaves the node";
  const Status refused = CheckNcclProtection(Protect::kAll, Nodes(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error(),
      (Error{Code::kConfiguration,
             "rendezvous.protect is all, but the backend of this group is nccl, and NCCL does not encrypt "
             "what it sends between its 2 nodes",
             "set backend: socket, which seals it; or rendezvous.protect: control, on a network that you "
             "trust"}));
  EXPECT_EQ(ExitStatus(refused.error().code), 78);
}

TEST(AgreeOnBackend, AMixtureNamesTheNodes) {
  const auto choice = Choose(Backend::kAuto, {2, 3});
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error(),
            (Error{Code::kDisagreement,
                   "some ranks have a GPU and some have none: with on gpu01; without on gpu02 "
                   "(rank 2 on gpu02: no GPU)",
                   "leave the nodes without out (--exclude), or set backend: socket"}));
  EXPECT_EQ(ExitStatus(choice.error().code), 76);
}

TEST(AgreeOnBackend, ANodeMayHaveBothKinds) {
  EXPECT_EQ(Choose(Backend::kAuto, {3}).error().message,
            "some ranks have a GPU and some have none: with on gpu01, gpu02; without on gpu02 (rank 3 on "
            "gpu02: no "
            "GPU)");
}

TEST(AgreeOnBackend, FewOfManyNodesAreNamed) {
  const Roster roster = Nodes(11);
  EXPECT_EQ(
      AgreeOnBackend(Backend::kAuto, roster, Verdicts(roster, {0, 1}), false).error().message,
      "some ranks have a GPU and some have none: with on gpu02, gpu03, gpu04, gpu05, gpu06, gpu07, gpu08, "
      "gpu09 and 2 more; without on gpu01 (rank 0 on gpu01: no GPU)");
}

TEST(AgreeOnBackend, NcclWithoutAGpuNamesTheRank) {
  for (const std::vector<int>& without : {std::vector<int>{1}, std::vector<int>{1, 2, 3}}) {
    const auto choice = Choose(Backend::kNccl, without);
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error(), (Error{Code::kConfiguration,
                                     "backend: nccl needs a GPU for every rank; rank 1 on gpu01: no GPU",
                                     "set backend: auto or backend: socket to avoid NCCL"}));
  }
}

TEST(AgreeOnBackend, AGpuForTwoRanksIsRefusedUnlessAskedFor) {
  const Roster roster = Nodes(2);
  std::vector<GpuVerdict> verdicts = Verdicts(roster, {});
  verdicts[3].uuid = verdicts[2].uuid;
  for (const Backend backend : {Backend::kAuto, Backend::kNccl}) {
    const auto refused = AgreeOnBackend(backend, roster, verdicts, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "rank 2 and rank 3 on gpu02 use the same GPU, GPU-2");
    EXPECT_EQ(AgreeOnBackend(backend, roster, verdicts, true),
              (BackendChoice{Backend::kNccl, "every rank has a GPU"}));
  }
}

TEST(AgreeOnBackend, OneVerdictForEachRank) {
  EXPECT_EQ(AgreeOnBackend(Backend::kAuto, Nodes(2), {}, false).error(),
            (Error{Code::kInternal, "there are 0 verdicts on GPUs for 4 ranks", ""}));
}

}  // namespace
}  // namespace muster::nccl
