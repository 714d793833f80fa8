#include "deploy/examples/digits_options.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::examples {
namespace {

Result<DigitsOptions> Parse(const std::vector<const char*>& arguments) {
  return ParseDigitsOptions(arguments);
}

TEST(ParseDigitsOptions, HasDefaults) {
  EXPECT_EQ(Parse({}), (DigitsOptions{"deploy/examples/data/digits.csv", std::nullopt, 1, false}));
}

TEST(ParseDigitsOptions, ReadsBothForms) {
  const DigitsOptions expected = {"a=b.csv", "p.txt", 40, false};
  EXPECT_EQ(Parse({"--data", "a=b.csv", "--predictions", "p.txt", "--repeat", "40"}), expected);
  EXPECT_EQ(Parse({"--data=a=b.csv", "--predictions=p.txt", "--repeat=40"}), expected);
  EXPECT_EQ(Parse({"--repeat=1000000000"})->repeat, 1'000'000'000u);
  EXPECT_TRUE(Parse({"--help"})->help);
  EXPECT_TRUE(Parse({"-h"})->help);
}

struct BadCase {
  std::vector<const char*> arguments;
  Code code;
  const char* message;
};

TEST(ParseDigitsOptions, SaysWhatIsWrong) {
  const BadCase cases[] = {
      {{"--dat", "x"}, Code::kUsage, "unknown argument \"--dat\""},
      {{"x"}, Code::kUsage, "unknown argument \"x\""},
      {{""}, Code::kUsage, "unknown argument \"\""},
      {{"--help=1"}, Code::kUsage, "unknown argument \"--help=1\""},
      {{"--data"}, Code::kUsage, "--data needs a value"},
      {{"--data="}, Code::kUsage, "--data needs a file name"},
      {{"--predictions", ""}, Code::kUsage, "--predictions needs a file name"},
      {{"--repeat", "0"},
       Code::kConfiguration,
       "--repeat takes a whole number from 1 to 1000000000, not \"0\""},
      {{"--repeat", "1x"},
       Code::kConfiguration,
       "--repeat takes a whole number from 1 to 1000000000, not \"1x\""},
      {{"--repeat=-1"},
       Code::kConfiguration,
       "--repeat takes a whole number from 1 to 1000000000, not \"-1\""},
      {{"--repeat=1000000001"},
       Code::kConfiguration,
       "--repeat takes a whole number from 1 to 1000000000, not \"1000000001\""},
  };
  for (const BadCase& bad : cases) {
    const Result<DigitsOptions> options = Parse(bad.arguments);
    ASSERT_FALSE(options) << bad.message;
    EXPECT_EQ(options.error().code, bad.code) << bad.message;
    EXPECT_EQ(options.error().message, bad.message);
    EXPECT_EQ(options.error().hint, bad.code == Code::kUsage ? "digits --help lists the options" : "");
  }
}

TEST(DigitsHelp, NamesEveryOption) {
  for (const char* option : {"--data FILE", "--predictions FILE", "--repeat N", "--help"}) {
    EXPECT_NE(DigitsHelp().find(option), std::string_view::npos) << option;
  }
}

}  // namespace
}  // namespace muster::examples
