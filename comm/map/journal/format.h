// The bytes of a segment, one file of a map's journal. README.md describes them.
//
// Pure, except that a scanner calls its source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/map/journal/identity.h"
#include "comm/map/journal/record.h"

namespace muster::map {

inline constexpr size_t kFrameHead = 20;
inline constexpr uint32_t kMostBody = 1U << 30;

// A segment begins with two copies of this.
struct SegmentHeader {
  uint64_t seed = 0;  // random; no record of another file passes for one of this segment
  uint32_t term = 1;
  Identity identity;
  JournalOwner owner;
  uint64_t owner_start = 0;  // of the process, in ticks since the node booted; 0: not known
  int64_t started = 0;       // microseconds since 1970
};
// Two copies follow: up to which byte the earlier segments count.
struct SegmentBounds {
  struct Bound {
    uint32_t term = 0;
    uint64_t bytes = 0;
  };
  std::vector<Bound> earlier;
};
// The last record of a segment whose run has closed it.
struct SegmentEnd {
  uint64_t records = 0;
};

using SegmentRecord = std::variant<SegmentHeader, SegmentBounds, JournalRecord, SegmentEnd>;

// Appends the frame of a record that begins at byte `offset` of its segment. A body has at most kMostBody
// bytes.
void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const SegmentHeader& record);
void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const SegmentBounds& record);
void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const JournalRecord& record);
void AppendFrame(Bytes& out, uint64_t seed, uint64_t offset, const SegmentEnd& record);
// The frame of an end, which has one size.
size_t EndFrameBytes();

// Error: kConfiguration: a header of a newer format; kInternal: malformed.
Result<SegmentRecord> DecodeBody(ByteView body);

// The source of a segment's bytes: fills `into` from `offset` on and returns the number of bytes. Fewer than
// requested: the file ends there.
using ByteSource = std::function<Result<size_t>(uint64_t offset, std::span<uint8_t> into)>;

// Goes through a segment from frame to frame. Damaged bytes do not end it: it goes on at the next valid
// frame. It holds the largest frame in memory.
class SegmentScanner {
 public:
  struct Piece {
    enum class Kind {
      kRecord,   // `body` is as it was written
      kDamaged,  // these bytes hold no valid frame; another piece follows
      kTail,     // invalid as well, and the last
      kEnd,
    };
    Kind kind = Kind::kEnd;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    ByteView body;  // valid until the next call
    std::optional<uint64_t>
        item;  // of kDamaged and kTail: named by the remains of a frame, if those bytes are intact
  };

  static constexpr size_t kWindow = size_t{256} * 1024;

  // `window`: number of bytes that it reads at a time, if a frame is not larger.
  SegmentScanner(ByteSource source, uint64_t seed, uint64_t begin, uint64_t end, size_t window = kWindow)
      : source_(std::move(source)),
        seed_(seed),
        at_(begin),
        end_(end),
        least_(std::max(window, kFrameHead)) {}

  // Error: the source's.
  Result<Piece> Next();
  // The valid record at that byte, if there is one. Next continues at its own position.
  Result<std::optional<SegmentRecord>> At(uint64_t offset);

 private:
  enum class Found { kValid, kBadBody, kNothing };
  struct Frame {
    Found found = Found::kNothing;
    uint64_t bytes = 0;  // of the whole frame, unless kNothing
    ByteView body;
  };
  Result<Frame> FrameAt(uint64_t offset);
  Result<uint64_t> NextMarker(uint64_t from);
  Result<Piece> Damage();
  // At least `bytes` from `offset` on; fewer at the end.
  Result<ByteView> Window(uint64_t offset, uint64_t bytes);

  ByteSource source_;
  uint64_t seed_;
  uint64_t at_;
  uint64_t end_;
  size_t least_;
  Bytes window_;
  uint64_t window_at_ = 0;
};

struct FoundHeader {
  SegmentHeader header;
  uint64_t records_at = 0;    // beginning of the records, after the copies
  bool damaged_copy = false;  // one of the copies
};
// Absent: the run ended before it had written a whole header, so that the segment has no record. Error:
// kSystem: no copy is valid although records follow; kConfiguration: a newer format. `name`: the file's, for
// the error.
Result<std::optional<FoundHeader>> FindHeader(const ByteSource& source, uint64_t size, std::string_view name);

}  // namespace muster::map
