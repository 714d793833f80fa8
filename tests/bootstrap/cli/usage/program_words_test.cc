#include "bootstrap/cli/usage/program_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

Words Marked(Words words) {
  const auto takes_value = [](const std::string& name) -> std::optional<bool> {
    if (name == "--label") return false;
    return name == "-n" || name == "--set" ? std::optional(true) : std::nullopt;
  };
  return MarkProgram({"launch", takes_value}, std::move(words));
}

TEST(MarkProgram, MarksTheWordsBehindTheOptions) {
  EXPECT_THAT(Marked({"-n", "2", "--label", "--", "prog", "[a,b]", "--", "-n"}),
              ElementsAre("-n", "2", "--label", "--", "=prog", "=[a,b]", "=--", "=-n"));
  EXPECT_THAT(Marked({"-n", "2", "prog", "-n", "3", ""}),
              ElementsAre("-n", "2", "--", "=prog", "=-n", "=3", "="));
  EXPECT_THAT(Marked({"-", "x"}), ElementsAre("--", "=-", "=x"));
}

TEST(MarkProgram, LeavesTheOptionsAlone) {
  EXPECT_THAT(Marked({}), IsEmpty());
  EXPECT_THAT(Marked({"-n"}), ElementsAre("-n"));
  EXPECT_THAT(Marked({"--set", "[x]"}), ElementsAre("--set", "[x]"));
  EXPECT_THAT(Marked({"--set=a=[1,2]", "--unknown", "--"}), ElementsAre("--set=a=[1,2]", "--unknown", "--"));
  EXPECT_THAT(Marked({"-n4", "prog"}), ElementsAre("-n4", "--", "=prog"));
}

TEST(MarkProgram, LeavesTheProgramOutIfAnOptionLacksItsValue) {
  EXPECT_THAT(Marked({"-n", "2", "--set", "--", "prog"}), ElementsAre("-n", "2", "--set"));
}

TEST(DivideEmptyValues, AnEmptyValueIsAWord) {
  const auto divided = [](Words words) {
    const auto takes_value = [](const std::string& name) { return std::optional(name == "--set"); };
    return DivideEmptyValues({"run", takes_value}, std::move(words));
  };
  EXPECT_THAT(divided({"--set=", "--set=a=", "--label=", "--", "--set="}),
              ElementsAre("--set", "", "--set=a=", "--label=", "--", "--set="));
  EXPECT_THAT(divided({"--set", "--set=", "--set=", "prog", "--set="}),
              ElementsAre("--set", "--set=", "--set", "", "prog", "--set="));
  EXPECT_THAT(divided({"--set"}), ElementsAre("--set"));
}

std::string Dashed(const Words& words) {
  const auto takes_value = [](const std::string& name) { return std::optional(name == "--set"); };
  const Status checked = CheckDashes({"launch", takes_value}, words);
  return checked ? "" : ToString(checked.error());
}

TEST(CheckDashes, AreHyphens) {
  EXPECT_EQ(Dashed({"—label", "prog"}), "\"—label\" begins with a dash that is no hyphen (write --label)");
  EXPECT_EQ(Dashed({"-x", "–n", "4"}), "\"–n\" begins with a dash that is no hyphen (write -n)");
  EXPECT_EQ(Dashed({"--set", "a=1", "––log-dir=d"}),
            "\"––log-dir=d\" begins with a dash that is no hyphen (write --log-dir=d)");
  EXPECT_EQ(Dashed({"—"}), "\"—\" begins with a dash that is no hyphen (write --)");
  // The program's own.
  EXPECT_EQ(Dashed({"--", "—label"}), "");
  EXPECT_EQ(Dashed({"prog", "—label"}), "");
  EXPECT_EQ(Dashed({"--set", "—x", "prog"}), "");
  EXPECT_EQ(Dashed({}), "");
}

TEST(UnmarkProgram, GivesTheWordsAsTheyWere) {
  EXPECT_THAT(UnmarkProgram({"=prog", "==", "=", "=[a,b]"}), ElementsAre("prog", "=", "", "[a,b]"));
}

}  // namespace
}  // namespace muster::cli
