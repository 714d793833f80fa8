// `muster journal` as its users meet it.
#include <gmock/gmock.h>

#include "tests/bootstrap/cli/launched.h"
#include "tests/comm/map/journal/files.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class JournalCommandTest : public map::JournalFiles {
 protected:
  // "STATUS OUT|ERR"
  std::string Muster(std::vector<std::string> words) {
    words.insert(words.begin(), {"journal", path_});
    Launched command(words);
    const int status = command.Wait();
    return fmt::format("{} {}|{}", status, command.Out(), command.Err());
  }
};

TEST_F(JournalCommandTest, PrintsMergesAndVerifies) {
  Run(map::IdentityOf(2), {map::RecordOf(1, "one"), map::RecordOf(0, "zero")});
  EXPECT_THAT(Muster({}),
              StartsWith("0 " + path_ + ": \"work\"\n2 items: 2 committed, 0 given up, 0 left\n"));
  EXPECT_EQ(Muster({"merge"}), "0 zero\none\n|");
  EXPECT_EQ(Muster({"merge", "-0"}), std::string("0 zero\0one\0|", 12));
  EXPECT_THAT(Muster({"--json"}), StartsWith("0 {\"index\":0,\"key\":\"0\",\"ending\":\"committed\","));
  EXPECT_THAT(Muster({"--csv"}), StartsWith("0 index,key,"));
  EXPECT_EQ(Muster({"verify"}), "0 " + path_ + ": 1 segments, 2 records: whole\n|");
  EXPECT_THAT(Muster({"verify", "--json"}), HasSubstr("\"whole\":true"));
}

// The message of the end does not repeat that of the record.
TEST_F(JournalCommandTest, OutputThatIsLostIsReportedOnce) {
  Run(map::IdentityOf(1), {map::RecordOf(0, std::string(100000, 'x'))});
  for (const std::string flag : {"merge", "--json"}) {
    Launched command({"journal", path_, flag}, "/dev/null", open("/dev/full", O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(command.Wait(), 71) << flag;
    EXPECT_EQ(command.Err(), "muster: error: cannot write standard output: No space left on device\n")
        << flag;
  }
}

TEST_F(JournalCommandTest, WhatIsMissingHasAStatusOfItsOwn) {
  Run(map::IdentityOf(3), {map::RecordOf(1, "one"), map::RecordOf(0, "broke", map::Ending::kPoisoned)});
  EXPECT_EQ(
      Muster({"merge"}),
      "79 one\n|muster: error: 2 of 3 items have no result: 1 given up, 1 left (run the map again with this "
      "journal)\n");
  Flip(1, ContentOf(1).size() - map::EndFrameBytes() - 1);
  EXPECT_THAT(Muster({"verify"}), StartsWith("79 " + SegmentFile(1) + ": "));
  EXPECT_THAT(Muster({"--json"}), HasSubstr("|muster: warning: " + SegmentFile(1) + ": "));
}

TEST_F(JournalCommandTest, TheDirectoryOfTheResultsLeadsToIt) {
  path_ = folder_ + "/journal";
  Run(map::IdentityOf(1), {map::RecordOf(0, "zero")});
  path_ = folder_;
  EXPECT_EQ(Muster({"merge"}), "0 zero\n|");
}

TEST_F(JournalCommandTest, WhatIsNoJournalIsRefused) {
  const std::string remedy = " (give the journal of a map, or its --output directory)\n";
  EXPECT_EQ(Muster({}),
            "71 |muster: error: cannot open the journal " + path_ + ": No such file or directory" + remedy);
  EXPECT_THAT(Muster({"--json"}), StartsWith("71 {\"error\":{\"code\":\"system\""));
  path_ = folder_;
  EXPECT_EQ(Muster({}), "64 |muster: error: " + path_ + " is no journal: no map has written there" + remedy);
  EXPECT_THAT(Muster({"repair"}), StartsWith("64 |"));
  EXPECT_THAT(Muster({"--json", "--csv"}), StartsWith("64 {\"error\""));
}

}  // namespace
}  // namespace muster::cli
