#include "comm/map/journal/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "comm/map/journal/durations.h"

namespace muster::map {
namespace {

using Piece = SegmentScanner::Piece;
using Kind = JournalFlaw::Kind;

constexpr size_t kMostDescriptors = 64;
constexpr size_t kReadAtATime = size_t{16} * 1024;

}  // namespace

bool IsDamage(const JournalFlaw& flaw) {
  return flaw.kind == Kind::kDamaged || flaw.kind == Kind::kMissing || flaw.kind == Kind::kHeaderCopy;
}

std::string Describe(const JournalFlaw& flaw) {
  const std::string where = fmt::format("{} bytes from byte {} on", flaw.bytes, flaw.offset);
  const std::string item =
      flaw.item ? fmt::format("; one was of item {}, by what is left of it", *flaw.item) : "";
  switch (flaw.kind) {
    case Kind::kDamaged:
      return fmt::format("{}: {} are damaged, and the records in them do not count{}", flaw.file, where,
                         item);
    case Kind::kMissing:
      return fmt::format("{}: {} are missing, and the records in them do not count", flaw.file, where);
    case Kind::kHeaderCopy:
      return fmt::format(
          "{}: one copy of its header, in the first {} bytes, is damaged; the other one is whole", flaw.file,
          flaw.bytes);
    case Kind::kTornTail:
      return fmt::format("{}: the last {} are no whole record, and do not count", flaw.file, where);
    case Kind::kNotBegun:
      return fmt::format("{}: its run ended before it wrote anything", flaw.file);
    case Kind::kSuperseded:
      return fmt::format("{}: {} do not count: a later run began without them", flaw.file, where);
  }
  return flaw.file;
}

Status CheckIdentity(const Identity& found, const Identity& wanted, std::string_view file) {
  if (found == wanted) return {};
  std::string difference;
  if (found.items != wanted.items) {
    difference = fmt::format("its items differ: {} instead of {}", found.items, wanted.items);
  } else if (found.keys != wanted.keys) {
    difference = fmt::format("its items differ: {} with the keys {} instead of {}", found.items,
                             ShortName(found.keys), ShortName(wanted.keys));
  }
  if (found.work != wanted.work) {
    difference += fmt::format("{}its work is another: {} (\"{}\") instead of {} (\"{}\")",
                              difference.empty() ? "" : "; ", ShortName(found.work), found.subject,
                              ShortName(wanted.work), wanted.subject);
  } else {
    difference += fmt::format("; its work is the same, {} (\"{}\")", ShortName(found.work), found.subject);
  }
  return WithHint(Fail(Code::kDisagreement, "{} is the journal of another map: {}", file, difference),
                  "choose another --output or map.journal: this one keeps the results of the earlier map");
}

Result<JournalRecord> ReadRecord(int fd, const std::string& file, uint64_t seed, uint64_t offset) {
  SegmentScanner scanner(SourceOf(fd, file), seed, offset, std::numeric_limits<uint64_t>::max(),
                         kReadAtATime);
  MUSTER_TRY(std::optional<SegmentRecord> record, scanner.At(offset));
  if (record && std::holds_alternative<JournalRecord>(*record))
    return std::get<JournalRecord>(*std::move(record));
  return Fail(Code::kSystem, "{}: the record at byte {} is damaged", file, offset);
}

Result<JournalReader> JournalReader::Open(const std::string& path) {
  constexpr const char* kRemedy = "give the journal of a map, or its --output directory";
  Result<JournalDirectory> directory = JournalDirectory::Open(path);
  if (!directory) return WithHint(tl::unexpected(std::move(directory).error()), kRemedy);
  MUSTER_TRY(JournalReader reader, OpenBelow(std::make_shared<const JournalDirectory>(*std::move(directory)),
                                             std::numeric_limits<uint32_t>::max()));
  if (!reader.segments_.empty()) return reader;
  return WithHint(Fail(Code::kUsage, "{} is no journal: no map has written there", path), kRemedy);
}

Result<JournalReader> JournalReader::OpenBelow(std::shared_ptr<const JournalDirectory> directory,
                                               uint32_t term) {
  JournalReader reader;
  reader.directory_ = std::move(directory);
  MUSTER_CHECK(reader.FindSegments(term));
  for (const SegmentBounds& bounds : reader.bounds_) MUSTER_CHECK(reader.FindBounds(bounds));
  for (size_t number = 0; number < reader.segments_.size(); ++number) MUSTER_CHECK(reader.Scan(number));
  return reader;
}

void JournalReader::AddFlaw(Kind kind, const std::string& file, uint64_t offset, uint64_t bytes,
                            std::optional<uint64_t> item) {
  flaws_.push_back({kind, file, offset, bytes, item});
}

Status JournalReader::FindSegments(uint32_t below) {
  MUSTER_TRY(const std::vector<uint32_t> terms, directory_->Terms());
  for (const uint32_t term : terms) {
    if (term >= below) break;
    Segment segment;
    segment.file = directory_->FileOf(term);
    MUSTER_TRY(segment.fd, directory_->OpenSegment(term));
    MUSTER_TRY(std::optional<SegmentStart> start, ReadStart(segment.fd.get(), segment.file));
    if (!start) {
      AddFlaw(Kind::kNotBegun, segment.file, 0, 0);
      continue;
    }
    segment.header = std::move(start->found.header);
    segment.records_at = start->found.records_at;
    if (segment.header.term != term) {
      return Fail(Code::kSystem, "{} was written as segment {}: it has been renamed", segment.file,
                  segment.header.term);
    }
    if (!segments_.empty()) MUSTER_CHECK(CheckIdentity(segment.header.identity, identity(), segment.file));
    if (start->found.damaged_copy) AddFlaw(Kind::kHeaderCopy, segment.file, 0, segment.records_at);
    if (start->bounds) bounds_.push_back(*std::move(start->bounds));
    // The descriptors of many segments are opened when they are needed.
    if (segments_.size() >= kMostDescriptors) segment.fd.Reset();
    segments_.push_back(std::move(segment));
  }
  if (segments_.size() < JournalIndex::kMostSegments) return {};
  return Fail(Code::kUsage, "{} has {} segments, more than muster reads", directory_->path(),
              segments_.size());
}

// Every later segment has bounds of an earlier one; the lowest counts.
Status JournalReader::FindBounds(const SegmentBounds& bounds) {
  for (const SegmentBounds::Bound& bound : bounds.earlier) {
    const auto term_of = [](const Segment& segment) { return segment.header.term; };
    const auto segment = std::ranges::lower_bound(segments_, bound.term, {}, term_of);
    if (segment == segments_.end() || term_of(*segment) != bound.term) {
      const std::string file = directory_->FileOf(bound.term);
      const auto known = std::ranges::find(flaws_, file, &JournalFlaw::file);
      if (known == flaws_.end() && bound.bytes > 0) AddFlaw(Kind::kMissing, file, 0, bound.bytes);
      continue;
    }
    segment->bytes = segment->bounded ? std::min(segment->bytes, bound.bytes) : bound.bytes;
    segment->bounded = true;
  }
  return {};
}

void JournalReader::Take(size_t number, const Piece& piece) {
  Segment& segment = segments_[number];
  const Result<SegmentRecord> record = DecodeBody(piece.body);
  if (record && std::holds_alternative<SegmentEnd>(*record)) {
    segment.closed = true;
  } else if (record && std::holds_alternative<JournalRecord>(*record)) {
    const auto& item = std::get<JournalRecord>(*record);
    if (item.item >= segment.header.identity.items) {
      return AddFlaw(Kind::kDamaged, segment.file, piece.offset, piece.bytes, item.item);
    }
    ++segment.records;
    if (!index_.Add(item.item, {item.ending, number, piece.offset, ShortTime(item.took)})) ++second_commits_;
  } else if (!record || std::holds_alternative<SegmentHeader>(*record)) {
    AddFlaw(Kind::kDamaged, segment.file, piece.offset, piece.bytes);
  }
}

Status JournalReader::Scan(size_t number) {
  Segment& segment = segments_[number];
  MUSTER_TRY(const int fd, Descriptor(segment));
  MUSTER_TRY(const uint64_t size, SizeOf(fd, segment.file));
  uint64_t end = std::min(size, JournalIndex::kMostBytes);
  if (segment.bounded) {
    if (size < segment.bytes) AddFlaw(Kind::kMissing, segment.file, size, segment.bytes - size);
    if (size > segment.bytes) AddFlaw(Kind::kSuperseded, segment.file, segment.bytes, size - segment.bytes);
    end = std::min(size, segment.bytes);
  }
  SegmentScanner scanner(SourceOf(fd, segment.file), segment.header.seed, segment.records_at, end);
  uint64_t valid_end = std::min(segment.records_at, size);
  while (true) {
    MUSTER_TRY(const Piece piece, scanner.Next());
    if (piece.kind == Piece::Kind::kEnd) break;
    if (piece.kind == Piece::Kind::kRecord) {
      Take(number, piece);
      valid_end = piece.offset + piece.bytes;
    } else {
      const bool torn = piece.kind == Piece::Kind::kTail && !segment.bounded;
      AddFlaw(torn ? Kind::kTornTail : Kind::kDamaged, segment.file, piece.offset, piece.bytes, piece.item);
    }
  }
  if (!segment.bounded) segment.bytes = valid_end;
  return {};
}

Result<int> JournalReader::Descriptor(Segment& segment) {
  if (!segment.fd) {
    const auto is_open = [](const Segment& other) { return static_cast<bool>(other.fd); };
    if (static_cast<size_t>(std::ranges::count_if(segments_, is_open)) >= kMostDescriptors) {
      for (Segment& other : segments_) other.fd.Reset();
    }
    MUSTER_TRY(segment.fd, directory_->OpenSegment(segment.header.term));
  }
  return segment.fd.get();
}

Result<JournalRecord> JournalReader::ReadAt(const JournalIndex::Place& place) {
  Segment& segment = segments_[place.segment];
  MUSTER_TRY(const int fd, Descriptor(segment));
  return ReadRecord(fd, segment.file, segment.header.seed, place.offset);
}

Status JournalReader::Visit(const std::function<Status(const JournalRecord& record)>& visit) {
  Status status;
  index_.Visit([&](uint64_t, const JournalIndex::Place& place) {
    const Result<JournalRecord> record = ReadAt(place);
    status = record ? visit(*record) : Status(Fail(record.error()));
    return status.has_value();
  });
  return status;
}

}  // namespace muster::map
