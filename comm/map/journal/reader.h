// Reads a journal: the records that count, each item once, in the order of the terms. Also while a run writes
// to it: the contents at the time of Open.
//
// Memory: nine bytes for each item that has ended, and the largest record.
// Threads: one at a time. Every function that returns a Result blocks for the file system.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/map/journal/directory.h"
#include "comm/map/journal/format.h"
#include "comm/map/journal/identity.h"
#include "comm/map/journal/index.h"
#include "comm/map/journal/record.h"

namespace muster::map {

// Bytes of a journal that are no record, or do not count.
struct JournalFlaw {
  enum class Kind {
    kDamaged,     // they were records, or could have been
    kMissing,     // a later segment refers to them
    kHeaderCopy,  // one of the two copies; the other copy is used
    kTornTail,    // the unfinished last write of a run, which may still be at work
    kNotBegun,    // the run ended before it wrote anything
    kSuperseded,  // written too late: a later run began without them
  };
  Kind kind = Kind::kDamaged;
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::optional<uint64_t> item;  // named by the remains of a record
};
// True if bytes that a run had written have changed or gone: kDamaged, kMissing, kHeaderCopy.
bool IsDamage(const JournalFlaw& flaw);
// A sentence that names file, offset and consequence.
std::string Describe(const JournalFlaw& flaw);

class JournalReader {
 public:
  struct Segment {
    SegmentHeader header;
    std::string file;
    uint64_t records_at = 0;
    uint64_t bytes = 0;    // length up to which it counts
    uint64_t records = 0;  // of items, second ones too
    bool bounded = false;  // by a later segment
    bool closed = false;   // by its run
    UniqueFd fd;           // -1: closed meanwhile, to have few open
  };

  // Of no file: no item has ended.
  JournalReader() = default;
  // Error: kSystem: the path and why; kUsage: no map has written there; kDisagreement: its segments are of
  // several maps; kConfiguration: a newer muster wrote it.
  static Result<JournalReader> Open(const std::string& path);
  // The segments below `term`; there may be none.
  static Result<JournalReader> OpenBelow(std::shared_ptr<const JournalDirectory> directory, uint32_t term);

  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<JournalFlaw>& flaws() const { return flaws_; }
  const JournalIndex& index() const { return index_; }
  JournalIndex& index() { return index_; }
  uint64_t second_commits() const { return second_commits_; }
  // Open's: the identity of all segments.
  const Identity& identity() const { return segments_.front().header.identity; }

  // kSystem: its record is damaged meanwhile.
  Result<JournalRecord> ReadAt(const JournalIndex::Place& place);
  // Of every item that has ended, in the order of the items. The first error of `visit` or of ReadAt ends it.
  Status Visit(const std::function<Status(const JournalRecord& record)>& visit);

 private:
  Status FindSegments(uint32_t below);
  Status FindBounds(const SegmentBounds& bounds);
  Status Scan(size_t number);
  void Take(size_t number, const SegmentScanner::Piece& piece);
  Result<int> Descriptor(Segment& segment);
  void AddFlaw(JournalFlaw::Kind kind, const std::string& file, uint64_t offset, uint64_t bytes,
               std::optional<uint64_t> item = {});

  std::shared_ptr<const JournalDirectory> directory_;
  std::vector<Segment> segments_;
  std::vector<SegmentBounds> bounds_;
  std::vector<JournalFlaw> flaws_;
  JournalIndex index_;
  uint64_t second_commits_ = 0;
};

// Error: kDisagreement: `file` is of another map than `wanted`, with both digests and subjects.
Status CheckIdentity(const Identity& found, const Identity& wanted, std::string_view file);

// The record of an item at `offset` of an open segment. Error: kSystem.
Result<JournalRecord> ReadRecord(int fd, const std::string& file, uint64_t seed, uint64_t offset);

}  // namespace muster::map
