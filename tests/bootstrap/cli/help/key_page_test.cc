#include "bootstrap/cli/help/key_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/config/table.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string PageOf(const char* path) { return KeyPage(*config::FindKey(path), Style{}); }

TEST(KeyPage, HasMeaningTypeDefaultAndHowToSetIt) {
  EXPECT_EQ(PageOf("timeouts.rendezvous"),
            "timeouts.rendezvous\n"
            "\n"
            "  from the first rank's arrival to the complete roster\n"
            "\n"
            "  Type      a duration, at least 1ms\n"
            "  Default   10m\n"
            "  Flag      --set timeouts.rendezvous=VALUE\n"
            "  Variable  MUSTER_TIMEOUTS_RENDEZVOUS\n"
            "  File      timeouts: {rendezvous: VALUE}\n"
            "  Ranks     all have the same value\n");
}

TEST(KeyPage, HasTheWordsOfAChoice) {
  const std::string page = PageOf("backend");
  EXPECT_THAT(page, HasSubstr("gloo is another name for socket; mpi is refused: "));
  EXPECT_THAT(page, HasSubstr("\n  Type      one of auto, nccl, socket\n"));
  EXPECT_THAT(page, HasSubstr("\n  File      backend: VALUE\n"));
}

// include is of files alone.
TEST(KeyPage, HasNoFlagWithoutOne) {
  const std::string page = PageOf("include");
  EXPECT_THAT(page, Not(HasSubstr("--set")));
  EXPECT_THAT(page, Not(HasSubstr("Variable")));
}

TEST(KeysPage, HasEveryKeyWithItsDefault) {
  const std::string page = KeysPage("", Style{});
  for (const config::Key& key : config::Keys()) {
    EXPECT_THAT(page, HasSubstr("\n  " + std::string(key.path) + "  ")) << key.path;
  }
  EXPECT_THAT(page, HasSubstr("\n  run.grace                   10s\n"));
}

TEST(KeysPage, OfASectionHasItsKeysAlone) {
  const std::string page = KeysPage("liveness", Style{});
  EXPECT_THAT(page, HasSubstr("\n  liveness.heartbeat          1s\n"));
  EXPECT_THAT(page, Not(HasSubstr("timeouts.")));
}

}  // namespace
}  // namespace muster::cli
