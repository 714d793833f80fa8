#include "bootstrap/cli/help/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bootstrap/cli/help/manual_json.h"
#include "comm/base/error.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;

CommandText AddExample(Options& options, Run& /*run*/) {
  static std::string file;
  options.Under(kOutput);
  options.Text("-o,--output", file, "FILE", "write the result there");
  options.Under(kProgram);
  options.Flag(
      "--fast", [] {}, "take the short way");
  options.Program(std::make_shared<std::vector<std::string>>()).Required();
  return {.details = "It does\nthings.",
          .examples = "muster example -- true   # for nothing",
          .exit_status = "64 wrong"};
}
constexpr CommandRow kExample = {"example", "Examples", "Do a thing", AddExample};

TEST(CommandPage, HasUsageGroupsStatusesAndExamples) {
  EXPECT_EQ(CommandPage(Describe(kExample), Style{}),
            "Do a thing.\n"
            "\n"
            "Usage: muster example [OPTION...] -- CMD [ARG...]\n"
            "\n"
            "It does things.\n"
            "\n"
            "  CMD                     the program and its arguments, after -- and all\n"
            "                          options of muster\n"
            "\n"
            "Program\n"
            "  --fast                  take the short way\n"
            "\n"
            "Output\n"
            "  -o, --output FILE       write the result there\n"
            "\n"
            "Advanced\n"
            "  -h, --help              print this page and exit\n"
            "  --color auto|always|never\n"
            "                          colour in help pages; auto: on a terminal, unless\n"
            "                          NO_COLOR is set or TERM is dumb\n"
            "\n"
            "Exit status\n"
            "  64      wrong\n"
            "  other   as muster help exit-status prints\n"
            "\n"
            "Examples\n"
            "  muster example -- true   # for nothing\n");
}

TEST(FirstPage, HasALineForEachCommand) {
  const CommandRow rows[] = {kExample};
  EXPECT_THAT(FirstPage(rows, Style{}), HasSubstr("\nExamples\n  example  Do a thing\n"));
}

TEST(ManualJson, SplitsExamplesAndStatuses) {
  const CommandRow rows[] = {kExample};
  const std::string json = ManualJson(rows);
  EXPECT_THAT(json, HasSubstr(R"("command": "muster example -- true",
     "purpose": "for nothing")"));
  EXPECT_THAT(json, HasSubstr(R"("status": "64",
     "meaning": "wrong")"));
  EXPECT_THAT(json, HasSubstr(R"("path": "timeouts.rendezvous")"));
}

TEST(ExitStatuses, HaveThatOfEveryCode) {
  std::set<std::string> listed;
  for (const ExitMeaning& status : ExitStatuses()) listed.emplace(status.status);
  for (int code = 0; code <= static_cast<int>(Code::kWorkFailed); ++code) {
    EXPECT_EQ(listed.count(std::to_string(ExitStatus(static_cast<Code>(code)))), 1U) << code;
  }
}

}  // namespace
}  // namespace muster::cli
