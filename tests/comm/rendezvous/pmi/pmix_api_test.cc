#include "comm/rendezvous/pmi/pmix_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/comm/base/print_error.h"
#include "tests/comm/rendezvous/fake_pmix.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing_support::FakePmix;
using testing_support::Loads;

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
Deadline Now() { return Deadline::After(std::chrono::milliseconds(20)); }

TEST(AskPmixServer, EndsTheConnection) {
  const auto pmix = std::make_shared<FakePmix>(true);
  pmix->place = PmixPlace{8, 1, "2,3", std::nullopt, 2};
  const auto place = AskPmixServer(Soon(), Loads(pmix));
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, pmix->place);
  EXPECT_THAT(pmix->calls, ElementsAre("init", "finalize"));
}

TEST(AskPmixServer, LeavesOneThatHangsBehind) {
  std::promise<void> gate;
  const auto pmix = std::make_shared<FakePmix>(true);
  pmix->hangs = gate.get_future().share();
  const auto place = AskPmixServer(Now(), Loads(pmix));
  gate.set_value();
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error(),
            (Error{Code::kDeadline, "the PMIx server of this node has not answered in time", ""}));
}

TEST(AskPmixServer, SaysWhyItCannotBegin) {
  const auto pmix = std::make_shared<FakePmix>(true);
  pmix->init = Fail(Code::kConfiguration, "PMIx_Init failed: UNREACHABLE");
  const auto place = AskPmixServer(Soon(), Loads(pmix));
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error(), (Error{Code::kConfiguration, "PMIx_Init failed: UNREACHABLE", ""}));
  EXPECT_THAT(pmix->calls, ElementsAre("init"));
}

// The real library; deploy/setup brings it.
TEST(LoadPmix, FindsWhatIsNeeded) { EXPECT_TRUE(LoadPmix()); }

}  // namespace
}  // namespace muster::rendezvous
