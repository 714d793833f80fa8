// The program as users start it: alone, and under `muster launch`.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>

#include "comm/base/parse.h"
#include "deploy/examples/regular_file.h"
#include "deploy/examples/row_range.h"

namespace muster::examples {
namespace {

constexpr const char* kDigits = "deploy/examples/digits";
constexpr const char* kMuster = "bootstrap/cli/muster";

struct Outcome {
  int exit_status = -1;
  std::string out;
};

// By /bin/sh; 124 if it took longer than a minute.
Outcome Shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen(("timeout 60 " + command).c_str(), "r");
  if (pipe == nullptr) return outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) outcome.out += static_cast<char>(c);
  const int status = pclose(pipe);
  outcome.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::string Reference(const std::string& file) {
  const auto content = ReadRegularFile("tests/deploy/examples/" + file, 10000);
  EXPECT_TRUE(content) << content.error().message;
  return content.value_or("");
}

// The report, with whatever name this machine has.
void ExpectReport(const std::string& report, size_t ranks) {
  const std::vector<std::string_view> lines = Split(report, '\n');
  ASSERT_EQ(lines.size(), ranks + 2) << report;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const RowRange rows = ShardOf(1797, rank, ranks);
    EXPECT_THAT(lines[rank], testing::StartsWith(fmt::format("rank {} on ", rank)));
    EXPECT_THAT(lines[rank], testing::EndsWith(fmt::format(": rows {}-{}", rows.begin, rows.end - 1)));
  }
  EXPECT_EQ(std::string(lines[ranks]) + "\n", Reference("reference_accuracy.txt"));
}

TEST(Digits, EvaluatesAloneWithoutALauncher) {
  const std::string file = testing::TempDir() + "/alone.txt";
  const Outcome outcome = Shell(fmt::format("{} --predictions '{}'", kDigits, file));
  ASSERT_EQ(outcome.exit_status, 0);
  ExpectReport(outcome.out, 1);
  EXPECT_EQ(ReadRegularFile(file, 10000), Reference("reference_predictions.txt"));
}

class LaunchTest : public testing::TestWithParam<size_t> {};

TEST_P(LaunchTest, GivesTheReferencesPredictionsToTheByte) {
  const std::string file = testing::TempDir() + fmt::format("/launch{}.txt", GetParam());
  const Outcome outcome =
      Shell(fmt::format("{} launch -n {} -- {} --predictions '{}'", kMuster, GetParam(), kDigits, file));
  ASSERT_EQ(outcome.exit_status, 0);
  ExpectReport(outcome.out, GetParam());
  EXPECT_EQ(ReadRegularFile(file, 10000), Reference("reference_predictions.txt"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, LaunchTest, testing::Values(1, 3, 4, 16));

struct FailureCase {
  const char* arguments;
  int exit_status;
  const char* message;
};

TEST(Digits, FailsWithAReason) {
  const FailureCase cases[] = {
      {"--dat x", 64, "digits: unknown argument \"--dat\" (digits --help lists the options)\n"},
      {"--repeat 0", 78, "digits: --repeat takes a whole number from 1 to 1000000000, not \"0\"\n"},
      {"--data no/such.csv", 71,
       "digits: cannot open no/such.csv: No such file or directory (run from the repository's root, or say "
       "where it "
       "is: --data FILE)\n"},
      {"--predictions no/such/file", 71,
       "digits: cannot open no/such/file for writing: No such file or directory\n"},
      {">/dev/full", 71, "digits: cannot write to the standard output: No space left on device\n"},
  };
  for (const FailureCase& failure : cases) {
    const Outcome outcome = Shell(fmt::format("{} 2>&1 >/dev/null {}", kDigits, failure.arguments));
    EXPECT_EQ(outcome.exit_status, failure.exit_status) << failure.arguments;
    // A slow machine prints its progress before.
    EXPECT_THAT(outcome.out, testing::EndsWith(failure.message));
  }
}

TEST(Digits, HelpNeedsNoGroup) {
  const Outcome outcome = Shell(fmt::format("env RANK=nonsense {} --help", kDigits));
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.out, testing::HasSubstr("--predictions FILE"));
}

}  // namespace
}  // namespace muster::examples
