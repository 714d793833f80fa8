#include "bootstrap/slurm/slurm_answer.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::slurm {
namespace {

TEST(ParseSlurmAnswer, OfAWholeAnswer) {
  const auto answer = ParseSlurmAnswer(
      R"({"slurm":"22.5.8","layouts":[[{"node":"gpu01","tasks":[0,2]},{"node":"gpu02","tasks":[1]}],null],)"
      R"("end_time":1795164010,"addresses":{"gpu01":"198.18.1.1"},"problems":["step 4.7: Invalid job id"]})"
      "\n");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, (SlurmAnswer{{SlurmAnswer::Layout{{"gpu01", {0, 2}}, {"gpu02", {1}}}, std::nullopt},
                                  1795164010,
                                  {{"gpu01", "198.18.1.1"}},
                                  {"step 4.7: Invalid job id"}}));
}

TEST(ParseSlurmAnswer, OfWhatAnotherReleaseLeavesOutOrAdds) {
  EXPECT_EQ(ParseSlurmAnswer("{}"), Result<SlurmAnswer>(SlurmAnswer{}));
  EXPECT_EQ(ParseSlurmAnswer(R"({"layouts":null,"end_time":null,"addresses":null,"problems":null,"x":[1]})"),
            Result<SlurmAnswer>(SlurmAnswer{}));
}

TEST(ParseSlurmAnswer, RefusesEverythingElse) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no JSON object"},
      {"Hello", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"layouts":7})", "layouts that are no list"},
      {R"({"layouts":[{}]})", "a layout that is no list"},
      {R"({"layouts":[[7]]})", "a node that is no object"},
      {R"({"layouts":[[{"tasks":[]}]]})", "a node's name that is no text"},
      {R"({"layouts":[[{"node":"","tasks":[]}]]})", "a node's name of 0 characters"},
      {R"({"layouts":[[{"node":"a","tasks":{}}]]})", "tasks that are no list"},
      {R"({"layouts":[[{"node":"a","tasks":[-1]}]]})", "a task that is no number of one"},
      {R"({"layouts":[[{"node":"a","tasks":[1.5]}]]})", "a task that is no number of one"},
      {R"({"layouts":[[{"node":"a","tasks":[16777216]}]]})", "a task that is no number of one"},
      {R"({"end_time":"soon"})", "an end_time that is no number"},
      {R"({"addresses":[]})", "addresses that are no object"},
      {R"({"addresses":{"a":7}})", "an address that is no text"},
      {R"({"problems":"none"})", "problems that are no short list"},
      {R"({"problems":[7]})", "a problem that is no text"},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_EQ(ParseSlurmAnswer(text).error(),
              (Error{Code::kDisagreement, fmt::format("muster-slurm printed {}", what), ""}))
        << text;
  }
}

}  // namespace
}  // namespace muster::slurm
