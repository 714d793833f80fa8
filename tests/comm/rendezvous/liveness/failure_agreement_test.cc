#include "comm/rendezvous/liveness/failure_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Knows = FailureAgreement::Knows;
using Step = FailureAgreement::Step;

Failure Of(int rank) { return {{Code::kInternal, fmt::format("of {}", rank), ""}, rank, -1, ""}; }

// The events before a process finds the failure of 3, and its reaction.
struct Finding {
  const char* name;
  bool has_upstream;
  bool found_before;
  bool agreed_before;
  Step step;
  int unconfirmed;  // its rank; -1: none
};
class FailureFound : public testing::TestWithParam<Finding> {};

TEST_P(FailureFound, LeadsTo) {
  const Finding& given = GetParam();
  FailureAgreement failures;
  if (given.found_before) failures.Find(Of(1), given.has_upstream);
  if (given.agreed_before) failures.Agree(Of(2), true, {});
  EXPECT_EQ(failures.Find(Of(3), given.has_upstream), given.step);
  EXPECT_EQ(failures.unconfirmed() == nullptr ? -1 : failures.unconfirmed()->rank, given.unconfirmed);
  EXPECT_EQ(failures.failure(), given.agreed_before ? std::optional(Of(2)) : std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(All, FailureFound,
                         testing::Values(Finding{"TheRootDecides", false, false, false, Step::kAgree, -1},
                                         Finding{"TheRootHasOne", false, false, true, Step::kNothing, -1},
                                         Finding{"TheRestAsks", true, false, false, Step::kPassUpAndWait, 3},
                                         Finding{"TheFirstIsOnesOwn", true, true, false, Step::kPassUp, 1},
                                         Finding{"TheGroupHasOne", true, false, true, Step::kNothing, -1},
                                         Finding{"Confirmed", true, true, true, Step::kNothing, -1}),
                         [](const auto& given) { return given.param.name; });

// The failure of 3 comes while others are due.
TEST(FailureAgreement, AFailureThatIsDueComesFirst) {
  FailureAgreement failures;
  failures.Await(1);
  failures.Await(2);
  EXPECT_EQ(failures.Find(Of(3), false), Step::kNothing);
  EXPECT_EQ(failures.Find(Of(2), false), Step::kNothing) << "its failure was the second";
  EXPECT_EQ(failures.Find(Of(1), false), Step::kAgree);
}

TEST(FailureAgreement, AFailureThatDoesNotComeIsNotAwaited) {
  FailureAgreement failures;
  failures.Await(1);
  failures.Await(2);
  failures.Find(Of(3), false);
  failures.Find(Of(4), false);
  failures.Find(Of(2), false);
  EXPECT_EQ(failures.StopAwaiting(1), Of(2));
  EXPECT_EQ(failures.StopAwaiting(2), Of(3)) << "the first that came";
  EXPECT_EQ(failures.Find(Of(4), false), Step::kAgree);
}

TEST(FailureAgreement, AFailureOnRequestAwaitsNoOther) {
  FailureAgreement failures;
  failures.Await(1);
  Failure requested = Of(3);
  requested.as_requested = true;
  EXPECT_EQ(failures.Find(requested, false), Step::kAgree);
}

TEST(FailureAgreement, TheFirstStays) {
  FailureAgreement failures;
  EXPECT_TRUE(failures.Agree(Of(1), false, {7}));
  EXPECT_FALSE(failures.Agree(Of(2), true, {}));
  EXPECT_EQ(failures.failure(), Of(1));
  EXPECT_FALSE(failures.from_parent());
  EXPECT_EQ(failures.KnownBy(false), Knows::kNotAll) << "7 has not confirmed the first";
}

TEST(FailureAgreement, OneFromAboveIsReportedThere) {
  FailureAgreement failures;
  failures.Agree(Of(1), true, {});
  EXPECT_TRUE(failures.from_parent());
}

TEST(FailureAgreement, WithoutTheProcessAboveTheOwnFindingIsFirst) {
  FailureAgreement failures;
  EXPECT_EQ(failures.FirstWithoutUpstream(Of(3)), Of(3));
  failures.Find(Of(1), true);
  EXPECT_EQ(failures.FirstWithoutUpstream(Of(3)), Of(1));
}

struct Confirmations {
  const char* name;
  bool failed;
  bool has_upstream;
  std::vector<FailureAgreement::Source> confirmed;
  Knows first;
  Knows again;
};
class WhoKnowsTest : public testing::TestWithParam<Confirmations> {};

// Children 5 and 6.
TEST_P(WhoKnowsTest, AfterThese) {
  const Confirmations& given = GetParam();
  FailureAgreement failures;
  failures.Confirm(5);  // before the failure: counts for nothing
  if (given.failed) failures.Agree(Of(1), given.has_upstream, {5, 6});
  for (const FailureAgreement::Source child : given.confirmed) failures.Confirm(child);
  EXPECT_EQ(failures.KnownBy(given.has_upstream), given.first);
  EXPECT_EQ(failures.KnownBy(given.has_upstream), given.again);
}

INSTANTIATE_TEST_SUITE_P(
    All, WhoKnowsTest,
    testing::Values(Confirmations{"NoFailure", false, false, {}, Knows::kNotAll, Knows::kNotAll},
                    Confirmations{"OneIsMissing", true, false, {6}, Knows::kNotAll, Knows::kNotAll},
                    Confirmations{"AllOfTheRoot", true, false, {6, 5}, Knows::kAll, Knows::kNotAll},
                    Confirmations{"AllOfALeader", true, true, {5, 6}, Knows::kAllBelow, Knows::kAllBelow}),
    [](const auto& given) { return given.param.name; });

TEST(FailureAgreement, WhoDoesNotConfirmIsGivenUp) {
  FailureAgreement failures;
  failures.Agree(Of(1), false, {5, 6, 7});
  failures.Confirm(6);
  EXPECT_THAT(failures.GiveUp(), ElementsAre(5, 7));
  EXPECT_THAT(failures.GiveUp(), IsEmpty());
  EXPECT_EQ(failures.KnownBy(false), Knows::kAll);
}

TEST(FailureAgreement, ThatEveryoneKnowsIsHeardOnce) {
  FailureAgreement failures;
  failures.Agree(Of(1), true, {});
  EXPECT_TRUE(failures.MarkKnownByAll());
  EXPECT_FALSE(failures.MarkKnownByAll());
  EXPECT_EQ(failures.KnownBy(true), Knows::kNotAll) << "nothing more to confirm";
}

}  // namespace
}  // namespace muster::rendezvous
