#include "comm/map/journal/format.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/comm/base/print_error.h"

namespace muster::map {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Piece = SegmentScanner::Piece;

constexpr uint64_t kSeed = 0x1122334455667788;

JournalRecord Record(uint64_t item, size_t bytes = 20) {
  return {Ending::kCommitted,
          item,
          "key " + std::to_string(item),
          3,
          "gpu02",
          2,
          std::chrono::milliseconds(1500),
          Format::kJson,
          Bytes(bytes, 'x')};
}

ByteSource SourceOf(const Bytes& bytes) {
  return [&bytes](uint64_t offset, std::span<uint8_t> into) -> Result<size_t> {
    if (offset >= bytes.size()) return size_t{0};
    const size_t got = std::min<size_t>(into.size(), bytes.size() - offset);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), got, into.begin());
    return got;
  };
}

SegmentHeader Header() {
  SegmentHeader header;
  header.seed = kSeed;
  header.term = 3;
  header.identity.items = 12;
  header.identity.keys[0] = 1;
  header.identity.work[31] = 2;
  header.identity.subject = "python eval.py {model}";
  header.owner = {"gpu01", 4711, "slurm:12.0:0", "group"};
  header.owner_start = 99;
  header.started = 1'000'000;
  return header;
}

// The findings of a scanner: "7" for item 7, "damaged OFFSET+BYTES", "tail OFFSET+BYTES"; "(item N)" after it
// if named.
std::vector<std::string> Scan(const Bytes& bytes, uint64_t seed = kSeed,
                              size_t window = SegmentScanner::kWindow) {
  SegmentScanner scanner(SourceOf(bytes), seed, 0, bytes.size(), window);
  std::vector<std::string> found;
  while (true) {
    const Result<Piece> piece = scanner.Next();
    EXPECT_TRUE(piece);
    if (!piece || piece->kind == Piece::Kind::kEnd) return found;
    if (piece->kind == Piece::Kind::kRecord) {
      const Result<SegmentRecord> record = DecodeBody(piece->body);
      const auto* item = record ? std::get_if<JournalRecord>(&*record) : nullptr;
      found.push_back(item != nullptr ? std::to_string(item->item) : "other");
      continue;
    }
    found.push_back(fmt::format("{} {}+{}", piece->kind == Piece::Kind::kDamaged ? "damaged" : "tail",
                                piece->offset, piece->bytes));
    if (piece->item) found.back() += fmt::format(" (item {})", *piece->item);
  }
}

struct Three {
  Bytes bytes;
  std::vector<size_t> ends;  // of the records of items 0, 1, 2
};
Three ThreeRecords() {
  Three three;
  for (uint64_t item = 0; item < 3; ++item) {
    AppendFrame(three.bytes, kSeed, three.bytes.size(), Record(item));
    three.ends.push_back(three.bytes.size());
  }
  return three;
}

TEST(JournalFormat, EveryRecordIsReadAsItWasWritten) {
  Bytes bytes;
  AppendFrame(bytes, kSeed, 0, Record(7, 100'000));
  SegmentBounds bounds;
  bounds.earlier = {{1, 1000}, {2, uint64_t{1} << 40}};
  const size_t second = bytes.size();
  AppendFrame(bytes, kSeed, second, bounds);
  const size_t third = bytes.size();
  AppendFrame(bytes, kSeed, third, SegmentEnd{5});
  EXPECT_EQ(bytes.size() - third, EndFrameBytes());
  SegmentScanner scanner(SourceOf(bytes), kSeed, 0, bytes.size());
  EXPECT_EQ(std::get<JournalRecord>(**scanner.At(0)), Record(7, 100'000));
  EXPECT_EQ(std::get<SegmentBounds>(**scanner.At(second)).earlier.at(1).bytes, uint64_t{1} << 40);
  EXPECT_EQ(std::get<SegmentEnd>(**scanner.At(third)).records, 5U);
  EXPECT_EQ(*scanner.At(1), std::nullopt);
  EXPECT_EQ(*scanner.At(bytes.size()), std::nullopt);
}

TEST(JournalFormat, ARecordOfAnotherPlaceOrSegmentIsNotValid) {
  const Bytes bytes = ThreeRecords().bytes;
  EXPECT_THAT(Scan(bytes), ElementsAre("0", "1", "2"));
  EXPECT_THAT(Scan(bytes, kSeed + 1), ElementsAre(fmt::format("tail 0+{}", bytes.size())));
  Bytes moved(bytes.begin() + 1, bytes.end());
  EXPECT_THAT(Scan(moved), ElementsAre(fmt::format("tail 0+{}", moved.size())));
  // A result that is a segment.
  JournalRecord holder = Record(5);
  holder.payload = bytes;
  Bytes nested;
  AppendFrame(nested, kSeed, 0, holder);
  nested[0] ^= 1;
  EXPECT_THAT(Scan(nested), ElementsAre(fmt::format("tail 0+{}", nested.size())));
}

TEST(JournalFormat, ATornTailAtEveryByteIsCutOff) {
  const Three three = ThreeRecords();
  for (size_t length = three.ends[1] + 1; length < three.ends[2]; ++length) {
    const Bytes torn(three.bytes.begin(), three.bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THAT(Scan(torn),
                ElementsAre("0", "1", fmt::format("tail {}+{}", three.ends[1], length - three.ends[1])));
    Bytes zeros = torn;
    zeros.resize(three.ends[2] + 4096);
    EXPECT_THAT(Scan(zeros), ElementsAre("0", "1",
                                         testing::StartsWith(fmt::format("tail {}+{}", three.ends[1],
                                                                         zeros.size() - three.ends[1]))));
  }
}

TEST(JournalFormat, ADamagedByteCostsItsRecordAlone) {
  const Three three = ThreeRecords();
  const size_t bytes = three.ends[1] - three.ends[0];
  for (size_t at = three.ends[0]; at < three.ends[1]; ++at) {
    for (const uint8_t bits : Bytes{0x01, 0x80, 0xff}) {
      Bytes damaged = three.bytes;
      damaged[at] = static_cast<uint8_t>(damaged[at] ^ bits);
      for (const size_t window : {size_t{1}, size_t{64}, SegmentScanner::kWindow}) {
        const auto found = Scan(damaged, kSeed, window);
        ASSERT_EQ(found.size(), 3U) << at;
        EXPECT_THAT(found[1], testing::StartsWith(fmt::format("damaged {}+{}", three.ends[0], bytes)));
        EXPECT_EQ(found[2], "2");
      }
    }
  }
  Bytes named = three.bytes;
  named[three.ends[1] - 1] ^= 1;
  EXPECT_THAT(Scan(named)[1], HasSubstr("(item 1)"));
  Bytes two = named;
  two[0] ^= 1;
  EXPECT_THAT(Scan(two), ElementsAre(fmt::format("damaged 0+{}", three.ends[1]), "2"));
}

TEST(JournalFormat, AMissingOrDoubledStretchIsDamage) {
  const Three three = ThreeRecords();
  Bytes without = three.bytes;
  without.erase(without.begin() + static_cast<std::ptrdiff_t>(three.ends[0]),
                without.begin() + static_cast<std::ptrdiff_t>(three.ends[1]));
  EXPECT_THAT(Scan(without),
              ElementsAre("0", fmt::format("tail {}+{}", three.ends[0], three.ends[2] - three.ends[1])));
}

TEST(JournalFormat, ALengthBeyondTheLimitIsNotBelieved) {
  Bytes bytes = ThreeRecords().bytes;
  std::fill(bytes.begin() + 4, bytes.begin() + 8, 0xff);
  EXPECT_THAT(Scan(bytes), ElementsAre(testing::StartsWith("damaged 0+"), "1", "2"));
}

TEST(JournalFormat, MalformedBodiesAreRefused) {
  EXPECT_FALSE(DecodeBody({}));
  for (const uint8_t kind : Bytes{0, 5, 255}) EXPECT_FALSE(DecodeBody(Bytes{kind, 1, 2, 3}));
  Bytes bytes;
  AppendFrame(bytes, kSeed, 0, Record(1));
  Bytes body(bytes.begin() + kFrameHead, bytes.end());
  EXPECT_TRUE(DecodeBody(body));
  for (size_t length = 0; length < body.size(); ++length)
    EXPECT_FALSE(DecodeBody(ByteView(body).first(length)));
  body.push_back(0);
  EXPECT_FALSE(DecodeBody(body));
  body.pop_back();
  body[1] = 3;  // no ending
  EXPECT_FALSE(DecodeBody(body));
}

Bytes HeadersThenRecords() {
  Bytes bytes;
  for (int copy = 0; copy < 2; ++copy) AppendFrame(bytes, kSeed, bytes.size(), Header());
  for (int copy = 0; copy < 2; ++copy) AppendFrame(bytes, kSeed, bytes.size(), SegmentBounds{});
  for (uint64_t item = 0; item < 3; ++item) AppendFrame(bytes, kSeed, bytes.size(), Record(item));
  return bytes;
}

size_t HeaderBytes() {
  Bytes bytes;
  AppendFrame(bytes, kSeed, 0, Header());
  return bytes.size();
}

TEST(JournalFormat, AHeaderIsFoundInEitherCopy) {
  const Bytes whole = HeadersThenRecords();
  for (size_t at = 0; at < 2 * HeaderBytes(); ++at) {
    Bytes bytes = whole;
    bytes[at] ^= 0x40;
    const auto found = FindHeader(SourceOf(bytes), bytes.size(), "FILE");
    ASSERT_TRUE(found && *found) << at;
    EXPECT_TRUE((*found)->damaged_copy);
    EXPECT_EQ((*found)->records_at, 2 * HeaderBytes());
    EXPECT_EQ((*found)->header.identity, Header().identity);
  }
  const auto found = FindHeader(SourceOf(whole), whole.size(), "FILE");
  ASSERT_TRUE(found && *found);
  EXPECT_FALSE((*found)->damaged_copy);
  EXPECT_EQ((*found)->header.owner, Header().owner);
  EXPECT_EQ((*found)->header.started, Header().started);
  EXPECT_EQ((*found)->header.seed, kSeed);
}

TEST(JournalFormat, ASegmentWithoutAWholeHeaderHasNotBegun) {
  const Bytes whole = HeadersThenRecords();
  for (size_t length = 0; length < HeaderBytes(); ++length) {
    const Bytes torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto found = FindHeader(SourceOf(torn), torn.size(), "FILE");
    ASSERT_TRUE(found) << ToString(found.error());
    EXPECT_FALSE(found->has_value());
  }
}

// A run was killed in the middle of its first write.
TEST(JournalFormat, ASecondHeaderThatWasNotWrittenWholeIsNotDamaged) {
  const Bytes whole = HeadersThenRecords();
  for (size_t length = HeaderBytes(); length < 2 * HeaderBytes(); ++length) {
    const Bytes torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto found = FindHeader(SourceOf(torn), torn.size(), "FILE");
    ASSERT_TRUE(found && *found) << length;
    EXPECT_FALSE((*found)->damaged_copy) << length;
    EXPECT_EQ((*found)->records_at, length);
    EXPECT_EQ((*found)->header.owner, Header().owner);
  }
}

TEST(JournalFormat, RecordsWithoutAHeaderAreAnErrorAndNotNothing) {
  Bytes bytes = HeadersThenRecords();
  bytes[10] ^= 1;
  bytes[HeaderBytes() + 10] ^= 1;
  const auto found = FindHeader(SourceOf(bytes), bytes.size(), "FILE");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kSystem);
  EXPECT_THAT(found.error().message, HasSubstr("FILE: both copies of its header"));
}

TEST(JournalFormat, ANewerFormatIsNamed) {
  // As a later muster would write it: only kind and version are known of its header.
  const auto refused = DecodeBody(Bytes{1, 2, 0, 9, 9, 9});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfiguration);
  EXPECT_THAT(refused.error().message, HasSubstr("format 2"));
}

TEST(JournalFormat, AnErrorOfTheSourceIsTheScanners) {
  const ByteSource broken = [](uint64_t, std::span<uint8_t>) -> Result<size_t> {
    return Fail(Code::kSystem, "Input/output error");
  };
  SegmentScanner scanner(broken, kSeed, 0, 100);
  EXPECT_EQ(scanner.Next().error().message, "Input/output error");
  EXPECT_FALSE(FindHeader(broken, 100, "FILE"));
}

}  // namespace
}  // namespace muster::map
