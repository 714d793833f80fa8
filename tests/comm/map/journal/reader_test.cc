#include "comm/map/journal/reader.h"

#include <gmock/gmock.h>

#include "tests/comm/map/journal/files.h"

namespace muster::map {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class JournalReaderTest : public JournalFiles {
 protected:
  // "1=one" for each item, in order.
  std::vector<std::string> Results() {
    auto reader = JournalReader::Open(path_);
    EXPECT_TRUE(reader) << ToString(reader.error());
    std::vector<std::string> results;
    if (!reader) return results;
    EXPECT_TRUE(reader->Visit([&](const JournalRecord& record) -> Status {
      results.push_back(fmt::format("{}{}{}", record.item, record.ending == Ending::kCommitted ? "=" : "!",
                                    ResultOf(record)));
      return {};
    }));
    return results;
  }
  std::vector<std::string> Flaws() {
    const auto reader = JournalReader::Open(path_);
    EXPECT_TRUE(reader) << ToString(reader.error());
    std::vector<std::string> flaws;
    if (!reader) return flaws;
    for (const JournalFlaw& flaw : reader->flaws()) {
      flaws.push_back(fmt::format("{} {}+{}", static_cast<int>(flaw.kind), flaw.offset, flaw.bytes));
      EXPECT_THAT(Describe(flaw), HasSubstr(flaw.file));
    }
    return flaws;
  }
  std::string Flaw(JournalFlaw::Kind kind, uint64_t offset, uint64_t bytes) {
    return fmt::format("{} {}+{}", static_cast<int>(kind), offset, bytes);
  }
  // The bytes that a segment's run appends after what is there.
  void AppendBehind(int term, const JournalRecord& record) {
    Bytes bytes = ContentOf(term);
    AppendFrame(bytes, HeaderOf(term).seed, bytes.size(), record);
    Replace(term, bytes);
  }
  const Identity identity_ = IdentityOf(10);
  using Kind = JournalFlaw::Kind;
};

TEST_F(JournalReaderTest, EachItemCountsOnceInTheOrderOfTheTerms) {
  Run(identity_, {RecordOf(5, "five"), RecordOf(2, "broke", Ending::kPoisoned), RecordOf(5, "again")});
  Run(identity_, {RecordOf(2, "two"), RecordOf(3, "broke", Ending::kPoisoned), RecordOf(5, "late")}, false);
  Run(identity_, {RecordOf(3, "broke again", Ending::kPoisoned), RecordOf(2, "late", Ending::kPoisoned)});
  EXPECT_THAT(Results(), ElementsAre("2=two", "3!broke again", "5=five"));
  auto reader = JournalReader::Open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->index().committed(), 2U);
  EXPECT_EQ(reader->index().poisoned(), 1U);
  EXPECT_EQ(reader->second_commits(), 3U);
  EXPECT_EQ(reader->identity(), identity_);
  ASSERT_THAT(reader->segments(), SizeIs(3));
  EXPECT_EQ(reader->segments()[0].header.owner, OwnerHere());
  EXPECT_EQ(reader->segments()[0].records, 3U);
  EXPECT_TRUE(reader->segments()[0].closed);
  EXPECT_FALSE(reader->segments()[1].closed);
  EXPECT_THAT(reader->flaws(), IsEmpty());
}

TEST_F(JournalReaderTest, AJournalIsReadWhileItIsWritten) {
  auto opened = Open(identity_);
  ASSERT_TRUE(opened);
  EXPECT_THAT(Results(), IsEmpty());
  Append(*opened->writer, {RecordOf(1, "one")});
  EXPECT_THAT(Results(), ElementsAre("1=one"));
  EXPECT_THAT(Flaws(), IsEmpty());
}

TEST_F(JournalReaderTest, WhatIsNoJournalIsNamed) {
  EXPECT_THAT(JournalReader::Open(path_).error().message, HasSubstr(path_ + ": No such file or directory"));
  std::filesystem::create_directory(path_);
  std::ofstream(path_ + "/notes.txt") << "text";
  std::ofstream(path_ + "/1.segment") << "text";
  const auto empty = JournalReader::Open(path_);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Code::kUsage);
  EXPECT_THAT(empty.error().message, HasSubstr(path_ + " is no journal"));
}

TEST_F(JournalReaderTest, ATornTailIsToldOnceAndThenBounded) {
  Run(identity_, {RecordOf(1, "one")}, false);
  const size_t whole = ContentOf(1).size();
  AppendBehind(1, RecordOf(2, "two"));
  Bytes torn = ContentOf(1);
  torn.resize(whole + 10);
  Replace(1, torn);
  EXPECT_THAT(Flaws(), ElementsAre(Flaw(Kind::kTornTail, whole, 10)));
  {
    const auto next = Open(identity_);
    ASSERT_TRUE(next);
    EXPECT_THAT(next->notes,
                Contains(AllOf(HasSubstr(SegmentFile(1)),
                               HasSubstr(fmt::format("the last 10 bytes from byte {} on", whole)))));
  }
  EXPECT_THAT(Flaws(), ElementsAre(Flaw(Kind::kSuperseded, whole, 10)));
  const auto again = Open(identity_);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->notes, Not(Contains(HasSubstr("bytes"))));
}

TEST_F(JournalReaderTest, WhatAStoppedRunWritesLaterDoesNotCount) {
  Run(identity_, {RecordOf(1, "one")}, false);
  const size_t counted = ContentOf(1).size();
  Run(identity_, {RecordOf(2, "two")});
  AppendBehind(1, RecordOf(2, "late"));
  AppendBehind(1, RecordOf(3, "late"));
  EXPECT_THAT(Results(), ElementsAre("1=one", "2=two"));
  EXPECT_THAT(Flaws(), ElementsAre(Flaw(Kind::kSuperseded, counted, ContentOf(1).size() - counted)));
  Run(identity_, {RecordOf(4, "four")});
  EXPECT_THAT(Results(), ElementsAre("1=one", "2=two", "4=four"));
}

TEST_F(JournalReaderTest, ADamagedRecordIsNamedAndComputedAgain) {
  Run(identity_, {RecordOf(1, "one"), RecordOf(2, "two"), RecordOf(3, "three")});
  const auto reader = JournalReader::Open(path_);
  ASSERT_TRUE(reader);
  const uint64_t two = reader->index().Find(2)->offset;
  const uint64_t bytes = reader->index().Find(3)->offset - two;
  Flip(1, two + bytes - 1);
  EXPECT_THAT(Results(), ElementsAre("1=one", "3=three"));
  EXPECT_THAT(Flaws(), ElementsAre(Flaw(Kind::kDamaged, two, bytes)));
  auto next = Open(identity_);
  ASSERT_TRUE(next);
  EXPECT_THAT(next->resumed, SizeIs(2));
  EXPECT_THAT(next->notes,
              ElementsAre(AllOf(HasSubstr(SegmentFile(1)), HasSubstr(fmt::format("from byte {} on", two)),
                                HasSubstr("item 2"))));
  Append(*next->writer, {RecordOf(2, "two again")});
  EXPECT_THAT(Results(), ElementsAre("1=one", "2=two again", "3=three"));
}

TEST_F(JournalReaderTest, BytesThatAreGoneAreMissed) {
  Run(identity_, {RecordOf(1, "one"), RecordOf(2, "two")});
  Run(identity_, {RecordOf(3, "three")});
  Bytes bytes = ContentOf(1);
  const size_t before = bytes.size();
  bytes.resize(before - EndFrameBytes() - 5);
  Replace(1, bytes);
  EXPECT_THAT(Results(), ElementsAre("1=one", "3=three"));
  EXPECT_THAT(Flaws(), Contains(Flaw(Kind::kMissing, bytes.size(), EndFrameBytes() + 5)));
  ASSERT_EQ(unlink(SegmentFile(1).c_str()), 0);
  EXPECT_THAT(Results(), ElementsAre("3=three"));
  EXPECT_THAT(Flaws(), ElementsAre(Flaw(Kind::kMissing, 0, before)));
  EXPECT_TRUE(Open(identity_));
}

TEST_F(JournalReaderTest, OneDamagedCopyOfTheBoundsOrTheHeaderChangesNothing) {
  Run(identity_, {RecordOf(1, "one")}, false);
  Run(identity_, {RecordOf(2, "two")});
  AppendBehind(1, RecordOf(3, "late"));
  const Bytes whole = ContentOf(2);
  const UniqueFd fd(open(SegmentFile(2).c_str(), O_RDONLY));
  const auto start = ReadStart(fd.get(), "");
  ASSERT_TRUE(start && *start);
  Flip(2, (*start)->found.records_at + 1);
  EXPECT_THAT(Results(), ElementsAre("1=one", "2=two"));
  EXPECT_THAT(Flaws(), Contains(HasSubstr(fmt::format("{} {}+", static_cast<int>(Kind::kDamaged),
                                                      (*start)->found.records_at))));
  Replace(2, whole);
  Flip(2, 30);
  EXPECT_THAT(Results(), ElementsAre("1=one", "2=two"));
  EXPECT_THAT(Flaws(), Contains(Flaw(Kind::kHeaderCopy, 0, (*start)->found.records_at)));
}

TEST_F(JournalReaderTest, ARunThatNeverBeganIsPassedOver) {
  Run(identity_, {RecordOf(1, "one")});
  std::ofstream(SegmentFile(2)) << "";
  EXPECT_THAT(Flaws(), ElementsAre(Flaw(Kind::kNotBegun, 0, 0)));
  const auto next = Open(identity_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->term, 3U);
  EXPECT_THAT(next->resumed, SizeIs(1));
}

TEST_F(JournalReaderTest, SegmentsOfAnotherMapOrNameAreRefused) {
  Run(identity_, {RecordOf(1, "one")});
  const std::string mine = path_;
  path_ = folder_ + "/other.journal";
  Run(IdentityOf(10, "other work"), {RecordOf(1, "one")});
  Run(IdentityOf(10, "other work"), {RecordOf(2, "two")});
  std::filesystem::copy(SegmentFile(2), mine + "/000002.segment");
  std::filesystem::copy(SegmentFile(2), mine + "/000003.segment");
  path_ = mine;
  EXPECT_EQ(JournalReader::Open(path_).error().code, Code::kDisagreement);
  std::filesystem::remove(SegmentFile(2));
  EXPECT_THAT(JournalReader::Open(path_).error().message, HasSubstr("was written as segment 2"));
}

TEST_F(JournalReaderTest, ARecordOfAnItemThatTheMapDoesNotHaveIsDamage) {
  Run(identity_, {RecordOf(1, "one"), RecordOf(10, "ten")}, false);
  EXPECT_THAT(Results(), ElementsAre("1=one"));
  EXPECT_THAT(Flaws(), SizeIs(1));
}

TEST_F(JournalReaderTest, MoreSegmentsThanOpenFiles) {
  for (uint64_t item = 0; item < 70; ++item) Run(IdentityOf(70), {RecordOf(69 - item, std::to_string(item))});
  const auto results = Results();
  ASSERT_THAT(results, SizeIs(70));
  EXPECT_EQ(results.front(), "0=69");
  EXPECT_EQ(results.back(), "69=0");
  EXPECT_LT(net::OpenDescriptors(), 64);
}

TEST(JournalIndexTest, ItemsOfAnyNumberAreInOrder) {
  JournalIndex index;
  const std::vector<uint64_t> items = {~uint64_t{0}, 0, uint64_t{1} << 40, 511, 512, 513};
  for (const uint64_t item : items) {
    EXPECT_TRUE(
        index.Add(item, {Ending::kCommitted, JournalIndex::kMostSegments - 1, JournalIndex::kMostBytes - 1}));
  }
  EXPECT_FALSE(index.Add(512, {Ending::kPoisoned, 0, 0}));
  std::vector<uint64_t> seen;
  index.Visit([&](uint64_t item, const JournalIndex::Place& place) {
    EXPECT_EQ(place.segment, JournalIndex::kMostSegments - 1);
    EXPECT_EQ(place.offset, JournalIndex::kMostBytes - 1);
    seen.push_back(item);
    return seen.size() < 5;
  });
  EXPECT_THAT(seen, ElementsAre(0, 511, 512, 513, uint64_t{1} << 40));
  EXPECT_EQ(index.Find(514), std::nullopt);
}

}  // namespace
}  // namespace muster::map
