// The contents of a map's journal: the ends of items, and the writing ranks.
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/fields.h"

namespace muster::map {

// Encoding of a result's bytes. Opaque to all code except the interface of the map that wrote them.
enum class Format : uint8_t {
  kBytes = 0,
  kJson = 1,    // UTF-8
  kPickle = 2,  // Python's
};

enum class Ending : uint8_t {
  kCommitted = 1,  // payload: the result
  kPoisoned = 2,   // it failed too often; payload: the last error, for users
};

struct JournalRecord {
  Ending ending = Ending::kCommitted;
  uint64_t item = 0;
  std::string key;
  int rank = -1;  // writing rank
  std::string node;
  uint32_t attempts = 1;  // this one included
  Duration took{};
  Format format = Format::kBytes;
  Bytes payload;

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

// A record's bytes, in the journal and in a Commit.
void Fields(auto& wire, Is<JournalRecord> auto& record) {
  wire(Between(record.ending, Ending::kCommitted, Ending::kPoisoned), record.item, record.key, record.rank,
       record.node, record.attempts, record.took, UpTo(record.format, Format::kPickle), record.payload);
}

// The writer of a segment: the refusal of a second run on the same journal names it.
struct JournalOwner {
  std::string node;
  int pid = 0;
  std::string job;       // the job key
  std::string group_id;  // "" in a world of one

  friend bool operator==(const JournalOwner&, const JournalOwner&) = default;
};

}  // namespace muster::map
