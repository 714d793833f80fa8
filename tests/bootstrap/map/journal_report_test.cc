#include "bootstrap/map/journal_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/comm/map/journal/files.h"

namespace muster::map {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class JournalReportTest : public JournalFiles {
 protected:
  static JournalRecord Record(uint64_t item, Format format, const std::string& result,
                              Ending ending = Ending::kCommitted) {
    JournalRecord record = RecordOf(item, result, ending);
    record.format = format;
    return record;
  }
  JournalReader Reader() {
    auto reader = JournalReader::Open(path_);
    EXPECT_TRUE(reader) << ToString(reader.error());
    return *std::move(reader);
  }
  using Write = Status (*)(JournalReader&, const TextSink&);
  std::string Written(Write write) {
    JournalReader reader = Reader();
    std::string text;
    EXPECT_TRUE(write(reader, [&](std::string_view part) -> Status {
      text += part;
      return {};
    }));
    return text;
  }
  std::vector<nlohmann::json> Lines() {
    std::istringstream text(Written(WriteJsonLines));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  static Status Merge(JournalReader& journal, const TextSink& sink) {
    return WriteMerged(journal, '\n', sink);
  }
};

TEST_F(JournalReportTest, JsonHasARecordALine) {
  Run(IdentityOf(10), {Record(3, Format::kJson, "{\"a\":\n [1.10, 12345678901234567890123]}"),
                       Record(1, Format::kJson, "no JSON"), Record(2, Format::kBytes, "\xff\x01"),
                       Record(0, Format::kPickle, "text"), Record(4, Format::kBytes, "line\n\"two\""),
                       Record(5, Format::kJson, "it broke", Ending::kPoisoned)});
  const std::string text = Written(WriteJsonLines);
  EXPECT_THAT(text, HasSubstr("\"format\":\"json\",\"result\":{\"a\":  [1.10, 12345678901234567890123]}}\n"))
      << "not one digit changes";
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  Run(IdentityOf(10), {});
  EXPECT_EQ(Written(WriteJsonLines), text) << "an empty run changes nothing";
}

TEST_F(JournalReportTest, JsonSaysHowToReadAResult) {
  Run(IdentityOf(10), {Record(1, Format::kJson, "no JSON"), Record(2, Format::kBytes, "\xff\x01"),
                       Record(0, Format::kPickle, "text"), Record(4, Format::kBytes, "line\n\"two\""),
                       Record(5, Format::kJson, "it broke", Ending::kPoisoned)});
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["result_base64"], "dGV4dA==");
  EXPECT_EQ(lines[1]["result"], "no JSON");
  EXPECT_EQ(lines[2]["result_base64"], "/wE=");
  EXPECT_EQ(lines[3]["result"], "line\n\"two\"");
  EXPECT_EQ(lines[4]["error"], "it broke");
  EXPECT_EQ(lines[4]["ending"], "poisoned");
  EXPECT_EQ(lines[4]["index"], 5);
  EXPECT_EQ(lines[4]["key"], "5");
  EXPECT_EQ(lines[4]["rank"], 3);
  EXPECT_EQ(lines[4]["node"], "gpu02");
  EXPECT_EQ(lines[4]["attempts"], 1);
  EXPECT_EQ(lines[4]["seconds"], 1.5);
}

TEST_F(JournalReportTest, CsvQuotesWhatNeedsIt) {
  Run(IdentityOf(10), {Record(1, Format::kBytes, "a,\"b\"\nc"), Record(2, Format::kPickle, "text"),
                       Record(3, Format::kJson, "broke, twice", Ending::kPoisoned)});
  EXPECT_EQ(Written(WriteCsv),
            "index,key,ending,rank,node,attempts,seconds,format,encoding,result,error\n"
            "1,1,committed,3,gpu02,1,1.500000,bytes,text,\"a,\"\"b\"\"\nc\",\n"
            "2,2,committed,3,gpu02,1,1.500000,pickle,base64,dGV4dA==,\n"
            "3,3,poisoned,3,gpu02,1,1.500000,json,text,,\"broke, twice\"\n");
}

TEST_F(JournalReportTest, AMergeIsTheSameWhoeverComputedIt) {
  Run(IdentityOf(4), {Record(3, Format::kJson, "3"), Record(1, Format::kJson, "{\"one\":1}")});
  Run(IdentityOf(4), {Record(0, Format::kBytes, "zero"), Record(2, Format::kBytes, "")});
  EXPECT_EQ(Written(Merge), "zero\n{\"one\":1}\n\n3\n");
  path_ = folder_ + "/other";
  Run(IdentityOf(4), {Record(0, Format::kBytes, "zero"), Record(1, Format::kJson, "{\"one\":1}"),
                      Record(2, Format::kBytes, ""), Record(3, Format::kJson, "3")});
  EXPECT_EQ(Written(Merge), "zero\n{\"one\":1}\n\n3\n");
}

TEST_F(JournalReportTest, APickleIsNotMergedAsText) {
  Run(IdentityOf(4), {Record(0, Format::kPickle, "\x80\x05")});
  JournalReader reader = Reader();
  const Status refused = Merge(reader, [](std::string_view) -> Status { return {}; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_THAT(refused.error().message, HasSubstr("the result of item 0, \"0\", is a Python object (pickle)"));
}

TEST_F(JournalReportTest, AnErrorOfTheSinkEndsIt) {
  Run(IdentityOf(4), {Record(0, Format::kBytes, "zero"), Record(1, Format::kBytes, "one")});
  int calls = 0;
  JournalReader reader = Reader();
  const Status status = WriteJsonLines(reader, [&](std::string_view) -> Status {
    ++calls;
    return Fail(Code::kSystem, "full");
  });
  EXPECT_EQ(status.error().message, "full");
  EXPECT_EQ(calls, 1);
}

TEST_F(JournalReportTest, ASummaryHasWhatAPersonWantsFirst) {
  std::vector<JournalRecord> records = {Record(
      50, Format::kBytes, "Traceback:\n  line 3\nValueError: \x1b[31mno\u009b2J\n\n", Ending::kPoisoned)};
  for (uint64_t item = 0; item < 30; ++item) {
    records.push_back(Record(item, Format::kBytes, "x"));
    records.back().took = std::chrono::seconds(item);
  }
  Run(IdentityOf(100), records);
  JournalReader reader = Reader();
  const auto summary = JournalSummary(reader, "out/answers");
  ASSERT_TRUE(summary);
  EXPECT_THAT(
      *summary,
      StartsWith("out/answers: \"work\"\n100 items: 30 committed, 1 given up, 69 left\n\nruns:\n  1 20"));
  EXPECT_THAT(*summary, HasSubstr(fmt::format("process {} on gpu01, slurm:12.0:0: 31 records\n", getpid())));
  EXPECT_THAT(
      *summary,
      HasSubstr(
          "given up:\n  50 \"50\", 1 attempts, rank 3 on gpu02: \"ValueError: \\u001b[31mno%C2%9B2J\"\n"));
  EXPECT_THAT(*summary, HasSubstr("slowest:\n  29 \"29\", 29.0 s, rank 3 on gpu02\n  28 "));
  EXPECT_THAT(*summary, AllOf(HasSubstr("\n  20 \"20\""), Not(HasSubstr("\n  19 \"19\""))));
}

TEST_F(JournalReportTest, VerifyNamesWhatIsDamaged) {
  Run(IdentityOf(4), {Record(0, Format::kBytes, "zero"), Record(1, Format::kBytes, "one")});
  EXPECT_EQ(VerifyText(Reader(), "J"), "J: 1 segments, 2 records: whole\n");
  EXPECT_TRUE(IsWhole(Reader()));
  const uint64_t at = Reader().index().Find(0)->offset;
  Flip(1, at + 5);
  EXPECT_THAT(
      VerifyText(Reader(), "J"),
      AllOf(StartsWith(SegmentFile(1)), HasSubstr(fmt::format("bytes from byte {} on are damaged", at)),
            EndsWith("J: 1 segments, 1 records: damaged\n")));
  const auto json = nlohmann::json::parse(VerifyJson(Reader(), "J"));
  EXPECT_EQ(json["whole"], false);
  EXPECT_EQ(json["left"], 3);
  EXPECT_EQ(json["segments"][0]["term"], 1);
  EXPECT_EQ(json["flaws"][0]["kind"], "damaged");
  EXPECT_EQ(json["flaws"][0]["offset"], at);
}

}  // namespace
}  // namespace muster::map
