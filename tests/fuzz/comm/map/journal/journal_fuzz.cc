// A segment of a journal with any bytes: changed bytes are never taken for a record, and every byte is
// accounted for.
#include <algorithm>

#include "comm/map/journal/format.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

using map::SegmentScanner;
using Kind = SegmentScanner::Piece::Kind;

constexpr uint64_t kSeed = 0x0102030405060708;
constexpr uint64_t kRecords = 4;

map::ByteSource SourceOf(const Bytes& bytes) {
  return [&bytes](uint64_t offset, std::span<uint8_t> into) -> Result<size_t> {
    const size_t from = std::min<uint64_t>(offset, bytes.size());
    const size_t got = std::min(into.size(), bytes.size() - from);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), got, into.begin());
    return got;
  };
}

map::JournalRecord RecordOf(uint64_t item) {
  map::JournalRecord record;
  record.item = item;
  record.key = "key";
  record.node = "gpu01";
  record.took = std::chrono::milliseconds(20);
  record.format = map::Format::kJson;
  record.payload = ToBytes(R"({"answer":42})");
  return record;
}

Bytes Segment() {
  Bytes bytes;
  map::SegmentHeader header;
  header.seed = kSeed;
  header.identity.items = kRecords;
  header.identity.subject = "work";
  header.owner.node = "gpu01";
  map::SegmentBounds bounds;
  bounds.earlier = {{1, 100}};
  for (int copy = 0; copy < 2; ++copy) map::AppendFrame(bytes, kSeed, bytes.size(), header);
  for (int copy = 0; copy < 2; ++copy) map::AppendFrame(bytes, kSeed, bytes.size(), bounds);
  for (uint64_t item = 0; item < kRecords; ++item)
    map::AppendFrame(bytes, kSeed, bytes.size(), RecordOf(item));
  map::AppendFrame(bytes, kSeed, bytes.size(), map::SegmentEnd{kRecords});
  return bytes;
}

// A body that is read is written again as the same bytes.
void CheckBody(ByteView body) {
  const Result<map::SegmentRecord> record = map::DecodeBody(body);
  Require(record || !record.error().message.empty(), "an error says something");
  if (!record || std::holds_alternative<map::SegmentHeader>(*record)) return;
  if (const auto* item = std::get_if<map::JournalRecord>(&*record)) {
    Bytes again;
    map::AppendFrame(again, kSeed, 0, *item);
    const auto reread = map::DecodeBody(ByteView(again).subspan(map::kFrameHead));
    Require(reread && std::get<map::JournalRecord>(*reread) == *item, "a record is read as it was written");
  }
}

void CheckSegment(const Bytes& bytes, size_t window, bool only_ours) {
  const auto found = map::FindHeader(SourceOf(bytes), bytes.size(), "FILE");
  Require(found || !found.error().message.empty(), "an error says something");
  SegmentScanner scanner(SourceOf(bytes), kSeed, 0, bytes.size(), window);
  uint64_t at = 0;
  for (bool last = false;;) {
    const auto piece = scanner.Next();
    Require(piece.has_value(), "the source has no error");
    if (piece->kind == Kind::kEnd) break;
    Require(!last && piece->offset == at && piece->bytes > 0, "pieces follow each other at {}", at);
    at += piece->bytes;
    last = piece->kind == Kind::kTail;
    if (piece->kind != Kind::kRecord) continue;
    const auto record = map::DecodeBody(piece->body);
    if (const auto* item = record && only_ours ? std::get_if<map::JournalRecord>(&*record) : nullptr) {
      Require(item->item < kRecords && *item == RecordOf(item->item), "only what was written is a record");
    }
  }
  Require(at == bytes.size(), "all {} bytes are accounted for, not {}", bytes.size(), at);
}

void One(ByteView input) {
  CheckBody(input);
  const Bytes plain(input.begin(), input.end());
  CheckSegment(plain, SegmentScanner::kWindow, true);
  // The same input as changes to a whole segment: bytes that are exchanged, cut out or put in.
  Bytes bytes = Segment();
  for (ValueSource source(input); !source.empty();) {
    const size_t place = source.Integer<uint16_t>() % (bytes.size() + 1);
    const auto where = bytes.begin() + static_cast<std::ptrdiff_t>(place);
    const uint8_t change = source.Byte();
    if (change % 4 == 0) {
      const ByteView blob = source.Blob();
      bytes.insert(where, blob.begin(), blob.end());
    } else if (change % 4 == 1) {
      bytes.erase(where, where + static_cast<std::ptrdiff_t>(std::min<size_t>(bytes.size() - place, change)));
    } else if (place < bytes.size()) {
      bytes[place] = source.Byte();
    }
  }
  CheckSegment(bytes, 1 + input.size() % 64, true);
}

std::vector<Bytes> Seeds() {
  Bytes body;
  map::AppendFrame(body, kSeed, 0, RecordOf(1));
  body.erase(body.begin(), body.begin() + map::kFrameHead);
  return {Segment(), body, {0x40, 0x01, 2, 0xff}, {}};
}

std::vector<std::string> Words() {
  return {"\xf6mjr", std::string("\x01\x01\x00", 3), std::string("\x03\x01", 2)};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz
