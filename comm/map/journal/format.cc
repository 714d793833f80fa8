#include "comm/map/journal/format.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>

#include "comm/base/fields.h"

namespace muster::map {

// In the order of the bytes; README.md lists them.
constexpr uint16_t kVersion = 1;
constexpr size_t kLongestName = 256;
constexpr size_t kLongestSubject = 4096;

void Fields(auto& wire, Is<SegmentHeader> auto& header) {
  wire(header.seed, header.term, header.identity.items, header.identity.keys, header.identity.work,
       AtMost(header.identity.subject, kLongestSubject), AtMost(header.owner.node, kLongestName),
       header.owner.pid, AtMost(header.owner.job, kLongestName), AtMost(header.owner.group_id, kLongestName),
       header.owner_start, header.started);
}
void Fields(auto& wire, Is<SegmentBounds::Bound> auto& bound) { wire(bound.term, bound.bytes); }
void Fields(auto& wire, Is<SegmentBounds> auto& bounds) { wire(bounds.earlier); }
void Fields(auto& wire, Is<SegmentEnd> auto& end) { wire(end.records); }

namespace {

// 0xf6 is in no UTF-8 text, and so in no JSON result.
constexpr std::array<uint8_t, 4> kMarker = {0xf6, 'm', 'j', 'r'};
constexpr uint64_t kHeaderSeed = 0;  // of the header's own check, which contains the seed of all other checks
constexpr uint64_t kHeadersEnd = 4 * (kLongestSubject + 4 * kLongestName);  // beyond both copies

enum class Kind : uint8_t { kHeader = 1, kBounds = 2, kItem = 3, kEnd = 4 };

// SipHash-2-4 (libsodium's crypto_shorthash), keyed with the segment's seed and the position in it. A frame
// that was copied to another position, or is part of a result, is not valid there.
uint64_t Check(uint64_t seed, uint64_t offset, ByteView bytes) {
  std::array<uint8_t, crypto_shorthash_KEYBYTES> key{};
  for (size_t i = 0; i < 8; ++i) {
    key.at(i) = static_cast<uint8_t>(seed >> (8 * i));
    key.at(8 + i) = static_cast<uint8_t>(offset >> (8 * i));
  }
  std::array<uint8_t, crypto_shorthash_BYTES> hash{};
  crypto_shorthash(hash.data(), bytes.data(), bytes.size(), key.data());
  uint64_t check = 0;
  for (size_t i = 0; i < hash.size(); ++i) check |= uint64_t{hash.at(i)} << (8 * i);
  return check;
}

// marker | u32 length of the body | u64 check of the body | u32 check of the length and the body's check
using FrameHead = std::array<uint8_t, kFrameHead>;
constexpr size_t kCheckedAt = 4;
constexpr size_t kChecked = 12;

void Put(uint64_t value, std::span<uint8_t> into) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = static_cast<uint8_t>(value >> (8 * i));
}

FrameHead HeadOf(uint64_t seed, uint64_t offset, ByteView body) {
  FrameHead head{};
  const std::span<uint8_t> bytes(head);
  std::ranges::copy(kMarker, head.begin());
  Put(body.size(), bytes.subspan(kCheckedAt, 4));
  Put(Check(seed, offset, body), bytes.subspan(kCheckedAt + 4, 8));
  Put(Check(seed, offset, bytes.subspan(kCheckedAt, kChecked)), bytes.subspan(kCheckedAt + kChecked));
  return head;
}

struct Head {
  uint32_t length = 0;
  uint64_t check = 0;
};

std::optional<Head> HeadIn(uint64_t seed, uint64_t offset, ByteView bytes) {
  if (bytes.size() < kFrameHead || !std::ranges::equal(bytes.first(kMarker.size()), kMarker))
    return std::nullopt;
  const ByteView checked = bytes.subspan(kCheckedAt, kChecked);
  WireReader reader(bytes.subspan(kCheckedAt, kFrameHead - kCheckedAt));
  Head head;
  head.length = reader.U32();
  head.check = reader.U64();
  const bool valid = reader.U32() == static_cast<uint32_t>(Check(seed, offset, checked));
  return valid && head.length <= kMostBody ? std::optional(head) : std::nullopt;
}

template <typename... T>
void Append(Bytes& out, uint64_t seed, uint64_t offset, const T&... fields) {
  const Bytes body = EncodeFields(fields...);
  const FrameHead head = HeadOf(seed, offset, body);
  out.insert(out.end(), head.begin(), head.end());
  out.insert(out.end(), body.begin(), body.end());
}

template <typename T>
Result<SegmentRecord> Decode(ByteView fields, std::string_view what) {
  MUSTER_TRY(T record, DecodeFields<T>(fields, what));
  return record;
}

// The item that the fields of a damaged item's body name, if these bytes are intact.
std::optional<uint64_t> ItemNamedIn(ByteView body) {
  constexpr size_t kBefore = 2;  // kind and ending
  if (body.size() < kBefore + sizeof(uint64_t) || body[0] != static_cast<uint8_t>(Kind::kItem))
    return std::nullopt;
  return WireReader(body.subspan(kBefore)).U64();
}

size_t FindMarker(ByteView bytes) {
  return static_cast<size_t>(std::ranges::search(bytes, kMarker).begin() - bytes.begin());
}

}  // namespace

void AppendFrame(Bytes& out, uint64_t, uint64_t offset, const SegmentHeader& record) {
  Append(out, kHeaderSeed, offset, Kind::kHeader, kVersion, record);
}

void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const SegmentBounds& record) {
  Append(out, seed, offset, Kind::kBounds, record);
}

void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const JournalRecord& record) {
  Append(out, seed, offset, Kind::kItem, record);
}

void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const SegmentEnd& record) {
  Append(out, seed, offset, Kind::kEnd, record);
}

size_t EndFrameBytes() {
  static const size_t bytes = kFrameHead + EncodeFields(Kind::kEnd, SegmentEnd{}).size();
  return bytes;
}

Result<SegmentRecord> DecodeBody(ByteView body) {
  if (body.empty()) return Fail(Code::kInternal, "malformed record: it is empty");
  const ByteView fields = body.subspan(1);
  switch (static_cast<Kind>(body[0])) {
    case Kind::kHeader: {
      WireReader reader(fields);
      const uint16_t version = reader.U16();
      if (reader.ok() && version != kVersion) {
        return Fail(Code::kConfiguration,
                    "format {} of a journal, which this muster does not know (it has {})", version, kVersion);
      }
      return Decode<SegmentHeader>(fields.subspan(fields.size() - reader.remaining()), "header");
    }
    case Kind::kBounds:
      return Decode<SegmentBounds>(fields, "record of the earlier segments");
    case Kind::kItem:
      return Decode<JournalRecord>(fields, "record of an item");
    case Kind::kEnd:
      return Decode<SegmentEnd>(fields, "record of the end");
  }
  return Fail(Code::kInternal, "malformed record: its kind is {}", body[0]);
}

Result<ByteView> SegmentScanner::Window(uint64_t offset, uint64_t bytes) {
  bytes = std::min(bytes, end_ - std::min(offset, end_));
  const bool there = offset >= window_at_ && offset + bytes <= window_at_ + window_.size();
  if (!there) {
    const uint64_t wanted = std::min(std::max<uint64_t>(bytes, least_), end_ - offset);
    window_.resize(wanted);
    window_at_ = offset;
    MUSTER_TRY(const size_t got, source_(offset, window_));
    window_.resize(got);
    if (got < wanted) end_ = offset + got;
  }
  const ByteView rest = ByteView(window_).subspan(offset - window_at_);
  return rest.first(std::min<uint64_t>(rest.size(), bytes));
}

Result<SegmentScanner::Frame> SegmentScanner::FrameAt(uint64_t offset) {
  MUSTER_TRY(const ByteView start, Window(offset, kFrameHead));
  const auto head = HeadIn(seed_, offset, start);
  if (!head || end_ - offset < kFrameHead + head->length) return Frame{};
  const uint64_t bytes = kFrameHead + head->length;
  MUSTER_TRY(const ByteView whole, Window(offset, bytes));
  if (whole.size() < bytes) return Frame{};
  const ByteView body = whole.subspan(kFrameHead);
  const bool valid = Check(seed_, offset, body) == head->check;
  return Frame{valid ? Found::kValid : Found::kBadBody, bytes, body};
}

// Of a marker, or of the end.
Result<uint64_t> SegmentScanner::NextMarker(uint64_t from) {
  while (from < end_) {
    MUSTER_TRY(const ByteView bytes, Window(from, least_));
    const size_t found = FindMarker(bytes);
    if (found < bytes.size()) return from + found;
    if (bytes.size() < kMarker.size() || from + bytes.size() >= end_) return end_;
    from += bytes.size() - (kMarker.size() - 1);
  }
  return end_;
}

// From at_ to the next valid frame or the end.
Result<SegmentScanner::Piece> SegmentScanner::Damage() {
  Piece piece{Piece::Kind::kTail, at_, 0, {}, std::nullopt};
  for (bool first = true; at_ < end_; first = false) {
    MUSTER_TRY(const Frame frame, FrameAt(at_));
    if (frame.found == Found::kValid) {
      piece.kind = Piece::Kind::kDamaged;
      break;
    }
    if (frame.found == Found::kBadBody) {
      // Its length is right: the search does not begin inside of it.
      if (first) piece.item = ItemNamedIn(frame.body);
      at_ += frame.bytes;
    } else {
      MUSTER_TRY(at_, NextMarker(at_ + 1));
    }
  }
  piece.bytes = at_ - piece.offset;
  return piece;
}

Result<SegmentScanner::Piece> SegmentScanner::Next() {
  if (at_ >= end_) return Piece{Piece::Kind::kEnd, at_, 0, {}, std::nullopt};
  MUSTER_TRY(const Frame frame, FrameAt(at_));
  if (frame.found != Found::kValid) return at_ < end_ ? Damage() : Next();
  const uint64_t offset = std::exchange(at_, at_ + frame.bytes);
  return Piece{Piece::Kind::kRecord, offset, frame.bytes, frame.body, std::nullopt};
}

Result<std::optional<SegmentRecord>> SegmentScanner::At(uint64_t offset) {
  if (offset >= end_) return std::nullopt;
  MUSTER_TRY(const Frame frame, FrameAt(offset));
  if (frame.found != Found::kValid) return std::nullopt;
  Result<SegmentRecord> record = DecodeBody(frame.body);
  if (!record) return std::nullopt;
  return *std::move(record);
}

namespace {

// The first valid header at or after `from`; its records_at is the end of its frame.
Result<std::optional<FoundHeader>> HeaderFrom(SegmentScanner& scanner) {
  while (true) {
    MUSTER_TRY(const SegmentScanner::Piece piece, scanner.Next());
    if (piece.kind == SegmentScanner::Piece::Kind::kEnd) return std::nullopt;
    if (piece.kind != SegmentScanner::Piece::Kind::kRecord) continue;
    Result<SegmentRecord> record = DecodeBody(piece.body);
    if (!record && record.error().code == Code::kConfiguration) return Fail(record.error());
    if (!record || !std::holds_alternative<SegmentHeader>(*record)) continue;
    return FoundHeader{std::get<SegmentHeader>(*std::move(record)), piece.offset + piece.bytes,
                       piece.offset != 0};
  }
}

// A begun segment has at least one frame beside its headers.
Result<bool> HasMoreThanHeaders(const ByteSource& source, uint64_t size) {
  Bytes bytes(SegmentScanner::kWindow);
  int markers = 0;
  for (uint64_t at = 0; at < size && markers < 3;) {
    MUSTER_TRY(const size_t got, source(at, bytes));
    const ByteView there = ByteView(bytes).first(got);
    const size_t found = FindMarker(there);
    if (found < got) {
      ++markers;
      at += found + kMarker.size();
    } else {
      if (got < bytes.size()) break;
      at += got - (kMarker.size() - 1);
    }
  }
  return markers >= 3;
}

}  // namespace

Result<std::optional<FoundHeader>> FindHeader(const ByteSource& source, uint64_t size,
                                              std::string_view name) {
  SegmentScanner scanner(source, kHeaderSeed, 0, std::min(size, kHeadersEnd));
  Result<std::optional<FoundHeader>> first = HeaderFrom(scanner);
  if (!first) {
    if (first.error().code != Code::kConfiguration) return first;
    return Fail(Code::kConfiguration, "{} has {}", name, first.error().message);
  }
  if (!*first) {
    MUSTER_TRY(const bool records, HasMoreThanHeaders(source, size));
    if (!records) return std::nullopt;
    return WithHint(Fail(Code::kSystem,
                         "{}: both copies of its header, from byte 0 on, are damaged; its {} bytes "
                         "cannot be read",
                         name, size),
                    "restore the file, or move it away: the items in it are then computed again");
  }
  FoundHeader& header = **first;
  if (header.damaged_copy) return first;  // the second copy
  const uint64_t frame = header.records_at;
  header.records_at = std::min(2 * frame, size);
  MUSTER_TRY(const SegmentScanner::Piece copy, scanner.Next());
  // A shorter one is the end of a run in the middle of its first write.
  header.damaged_copy = copy.kind != SegmentScanner::Piece::Kind::kRecord && size >= 2 * frame;
  return first;
}

}  // namespace muster::map
