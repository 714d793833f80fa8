#include "comm/rendezvous/pmi/pmix_kvs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/comm/base/print_error.h"
#include "tests/comm/rendezvous/fake_pmix.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::FakePmix;
using testing_support::Loads;

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
Deadline Now() { return Deadline::After(std::chrono::milliseconds(20)); }

TEST(PmixKvs, UsesTheNamesOfTheServer) {
  const auto pmix = std::make_shared<FakePmix>(true);
  {
    PmixKvs kvs(Loads(pmix));
    EXPECT_EQ(kvs.LookUp("name", Soon()), Result<std::optional<std::string>>(std::nullopt));
    EXPECT_TRUE(kvs.Publish("name", "old", Soon()));
    EXPECT_TRUE(kvs.Publish("name", "new", Soon()));
    EXPECT_EQ(kvs.LookUp("name", Soon()), Result<std::optional<std::string>>("new"));
    kvs.Leave();
    EXPECT_EQ(kvs.LookUp("name", Soon()).error().message, "the PMIx server of this node has been left");
  }
  EXPECT_THAT(pmix->said, IsEmpty());
  EXPECT_EQ(pmix->calls.front(), "init");
  EXPECT_EQ(pmix->calls.back(), "finalize");
}

// As under srun.
TEST(PmixKvs, WithoutNamesRankZeroSaysItAndIsAsked) {
  const auto pmix = std::make_shared<FakePmix>(false);
  {
    PmixKvs kvs(Loads(pmix));
    EXPECT_EQ(kvs.LookUp("name", Soon()), Result<std::optional<std::string>>(std::nullopt));
    EXPECT_TRUE(kvs.Publish("name", "text", Soon()));
    EXPECT_EQ(kvs.LookUp("name", Soon()), Result<std::optional<std::string>>("text"));
  }
  // Of ten seconds, begun, the server has seven or eight and is expected to answer then.
  EXPECT_GE(pmix->patience, 1);
  EXPECT_LE(pmix->patience, 8);
  EXPECT_THAT(pmix->calls, ElementsAre("init", "look up", "ask", "unpublish", "publish", "say", "look up",
                                       "ask", "finalize"));
}

// mpirun wants every process to have begun, once one has.
TEST(PmixKvs, BeginsUnasked) {
  const auto pmix = std::make_shared<FakePmix>(true);
  { const PmixKvs kvs(Loads(pmix)); }
  EXPECT_THAT(pmix->calls, ElementsAre("init", "finalize"));
}

TEST(PmixKvs, AServerThatHangsIsLeftBehind) {
  std::promise<void> gate;
  const auto pmix = std::make_shared<FakePmix>(true);
  pmix->hangs = gate.get_future().share();
  PmixKvs kvs(Loads(pmix));
  const auto found = kvs.LookUp("name", Now());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(),
            (Error{Code::kDeadline, "the PMIx server of this node has not answered in time", ""}));
  EXPECT_FALSE(kvs.Publish("name", "text", Now()));
  gate.set_value();
  EXPECT_TRUE(kvs.Publish("name", "text", Soon()));
}

TEST(PmixKvs, SaysWhyItCannotBegin) {
  const auto pmix = std::make_shared<FakePmix>(true);
  pmix->init = Fail(Code::kConfiguration, "PMIx_Init failed: UNREACHABLE");
  {
    PmixKvs kvs(Loads(pmix));
    const auto found = kvs.LookUp("name", Soon());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(),
              (Error{Code::kConfiguration, "the PMIx server of this node: PMIx_Init failed: UNREACHABLE",
                     "set rendezvous.method: tcp to avoid it"}));
  }
  EXPECT_THAT(pmix->calls, ElementsAre("init"));
}

TEST(PmixKvs, SaysThatThereIsNoLibrary) {
  PmixKvs kvs([]() -> Result<std::shared_ptr<PmixApi>> {
    return Fail(Code::kConfiguration, "cannot load libpmix.so.2: nowhere");
  });
  const auto published = kvs.Publish("name", "text", Soon());
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, Code::kConfiguration);
  EXPECT_EQ(published.error().message, "the PMIx server of this node: cannot load libpmix.so.2: nowhere");
}

}  // namespace
}  // namespace muster::rendezvous
