// A line of a map's journal: the end of an item.
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"

namespace muster::map {

// How a result's bytes are to be read. Opaque to all but the face of the map that wrote them.
enum class Format : uint8_t {
  kBytes = 0,
  kJson = 1,    // UTF-8
  kPickle = 2,  // Python's
};

enum class Ending : uint8_t {
  kCommitted = 1,  // payload: the result
  kPoisoned = 2,   // it failed too often; payload: the last error, for people
};

struct JournalRecord {
  Ending ending = Ending::kCommitted;
  uint64_t item = 0;
  std::string key;
  int rank = -1;  // where
  std::string node;
  uint32_t attempts = 1;  // this one included
  Duration took{};
  Format format = Format::kBytes;
  Bytes payload;

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

}  // namespace muster::map
