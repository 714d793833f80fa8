// The messages between the ranks and the root of a group about a map: the content of the control plane's
// messages kToRoot and kToRank, which carry it unread. Each begins with its type (u8) and the map's number
// (u32): a program's first map is number 0, and ranks begin their maps in the same order.
//
// Decodes bytes from outside: strict, and a length is checked before memory is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/fields.h"
#include "comm/map/item_book.h"
#include "comm/map/journal/identity.h"
#include "comm/map/journal/record.h"
#include "comm/map/options.h"

namespace muster::map {

enum class MessageType : uint8_t {
  // To the root.
  kJoin = 1,  // this rank joins the map
  kWant,      // it has begun its last item
  kCommit,    // an item's result
  kFail,      // an item failed
  kGiveBack,  // items that were not begun; also the answer to kRecall, with or without items
  kStop,      // it takes no further items
  kRead,      // records, please
  kLeave,     // it is done with this map
  kClasses,   // of rank 0: the classes of items
  // To a rank.
  kOpened = 16,  // the journal is open
  kRefused,      // the map cannot begin, or cannot go on
  kGrant,        // items
  kRecall,       // give back what is not begun
  kDurable,      // number of the rank's results that are durable
  kOver,         // all items have ended, or the time is up
  kRecords,      // the answer to kRead
  kExpired,      // an item took longer than its time: this process ends if it has had it for so long
};

void Fields(auto& wire, Is<Identity> auto& identity) {
  wire(identity.items, identity.keys, identity.work, identity.subject);
}
void Fields(auto& wire, Is<Options> auto& options) {
  wire(options.journal, options.retries, options.timeout, options.retry_poisoned, options.time_left,
       options.slots, options.quiet);
  wire.Require(options.retries >= 0 && options.retries <= kMostRetries && options.slots >= 1);
}
void Fields(auto& wire, Is<GrantedItem> auto& item) { wire(item.index, item.attempt); }
void Fields(auto& wire, Is<Outcome> auto& outcome) {
  wire(outcome.items, outcome.committed, outcome.resumed, outcome.poisoned, outcome.time_is_up,
       outcome.second_commits, outcome.first_poisoned, outcome.first_rank);
}

struct Join {
  static constexpr MessageType kType = MessageType::kJoin;
  Identity identity;
  Options options;
};
void Fields(auto& wire, Is<Join> auto& join) {
  wire(join.identity, join.options);
  wire.Require(join.identity.items <= kMostItems);
}

// The root fills in the record's rank and node.
struct Commit {
  static constexpr MessageType kType = MessageType::kCommit;
  JournalRecord record;
};
void Fields(auto& wire, Is<Commit> auto& commit) { wire(commit.record); }

// Of an error that is reported for users.
inline constexpr size_t kLongestError = 64 << 10;

struct Failed {
  static constexpr MessageType kType = MessageType::kFail;
  uint64_t item = 0;
  std::string key;
  std::string error;
  Duration took{};
};
void Fields(auto& wire, Is<Failed> auto& failed) {
  wire(failed.item, failed.key, AtMost(failed.error, kLongestError), failed.took);
}

struct GivenBack {
  static constexpr MessageType kType = MessageType::kGiveBack;
  std::vector<uint64_t> items;
};
void Fields(auto& wire, Is<GivenBack> auto& returned) { wire(returned.items); }

struct ReadRecords {
  static constexpr MessageType kType = MessageType::kRead;
  uint64_t first = 0;
  uint64_t count = 0;
};
void Fields(auto& wire, Is<ReadRecords> auto& read) { wire(read.first, read.count); }

struct Classes {
  static constexpr MessageType kType = MessageType::kClasses;
  uint64_t first = 0;
  Bytes classes;  // of the items from `first` on
};
void Fields(auto& wire, Is<Classes> auto& classes) { wire(classes.first, classes.classes); }

struct Refused {
  static constexpr MessageType kType = MessageType::kRefused;
  Error error;
};
void Fields(auto& wire, Is<Refused> auto& refused) { wire(refused.error); }

struct Granted {
  static constexpr MessageType kType = MessageType::kGrant;
  std::vector<GrantedItem> items;
};
void Fields(auto& wire, Is<Granted> auto& granted) { wire(granted.items); }

struct Durable {
  static constexpr MessageType kType = MessageType::kDurable;
  uint64_t count = 0;  // of this rank's commits, since it joined
};
void Fields(auto& wire, Is<Durable> auto& durable) { wire(durable.count); }

struct Over {
  static constexpr MessageType kType = MessageType::kOver;
  Outcome outcome;
};
void Fields(auto& wire, Is<Over> auto& over) { wire(over.outcome); }

struct Expired {
  static constexpr MessageType kType = MessageType::kExpired;
  uint64_t item = 0;
};
void Fields(auto& wire, Is<Expired> auto& expired) { wire(expired.item); }

struct Records {
  static constexpr MessageType kType = MessageType::kRecords;
  uint64_t next = 0;  // the first item that this answer does not cover
  std::vector<JournalRecord> records;
};
void Fields(auto& wire, Is<Records> auto& records) { wire(records.next, records.records); }

// Type and map of a message; absent if it has none.
struct Heading {
  MessageType type{};
  uint32_t map = 0;
};
inline std::optional<Heading> HeadingOf(ByteView message) {
  FieldReader reader(message);
  uint8_t type = 0;
  Heading heading;
  reader(type, heading.map);
  heading.type = static_cast<MessageType>(type);
  const bool to_root = heading.type >= MessageType::kJoin && heading.type <= MessageType::kClasses;
  const bool to_rank = heading.type >= MessageType::kOpened && heading.type <= MessageType::kExpired;
  if (!reader.ok() || (!to_root && !to_rank)) return std::nullopt;
  return heading;
}

inline Bytes EncodeBare(MessageType type, uint32_t map) { return EncodeFields(type, map); }
template <typename Message>
Bytes Encode(uint32_t map, const Message& message) {
  return EncodeFields(Message::kType, map, message);
}
// A whole message of this type. Error: kInternal "malformed ...".
template <typename Message>
Result<Message> Decode(ByteView message) {
  FieldReader reader(message);
  uint8_t type = 0;
  uint32_t map = 0;
  reader(type, map);
  reader.Require(type == static_cast<uint8_t>(Message::kType));
  return DecodeFields<Message>(reader, "message of a map");
}

}  // namespace muster::map
