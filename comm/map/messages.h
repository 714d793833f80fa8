// The messages between the ranks and the root of a group about a map: the content of the control plane's
// messages kToRoot and kToRank, which carry it unread. Each begins with its type (u8) and the map's number
// (u32): a program's first map is number 0, and ranks begin their maps in the same order.
//
// Decodes bytes from outside: strict, and a length is checked before memory is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
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
  kExpired,      // an item took longer than its time: this process must end
};

struct Join {
  static constexpr MessageType kType = MessageType::kJoin;
  Identity identity;
  Options options;
};
// The root fills in the record's rank and node.
struct Commit {
  static constexpr MessageType kType = MessageType::kCommit;
  JournalRecord record;
};
struct Failed {
  static constexpr MessageType kType = MessageType::kFail;
  uint64_t item = 0;
  std::string key;
  std::string error;
  Duration took{};
};
struct GivenBack {
  static constexpr MessageType kType = MessageType::kGiveBack;
  std::vector<uint64_t> items;
};
struct ReadRecords {
  static constexpr MessageType kType = MessageType::kRead;
  uint64_t first = 0;
  uint64_t count = 0;
};
struct Classes {
  static constexpr MessageType kType = MessageType::kClasses;
  uint64_t first = 0;
  Bytes classes;  // of the items from `first` on
};
struct Refused {
  static constexpr MessageType kType = MessageType::kRefused;
  Error error;
};
struct Granted {
  static constexpr MessageType kType = MessageType::kGrant;
  std::vector<GrantedItem> items;
};
struct Durable {
  static constexpr MessageType kType = MessageType::kDurable;
  uint64_t count = 0;  // of this rank's commits, since it joined
};
struct Over {
  static constexpr MessageType kType = MessageType::kOver;
  Outcome outcome;
};
struct Expired {
  static constexpr MessageType kType = MessageType::kExpired;
  uint64_t item = 0;
};
struct Records {
  static constexpr MessageType kType = MessageType::kRecords;
  uint64_t next = 0;  // the first item that this answer does not cover
  std::vector<JournalRecord> records;
};

// Of an error that is reported for users.
inline constexpr size_t kLongestError = 64 << 10;

// Type and map of a message; absent if it has none.
struct Heading {
  MessageType type{};
  uint32_t map = 0;
};
std::optional<Heading> HeadingOf(ByteView message);

Bytes EncodeBare(MessageType type, uint32_t map);
// For the messages above.
template <typename Message>
Bytes Encode(uint32_t map, const Message& message);
// A whole message of this type. Error: kInternal "malformed ...".
template <typename Message>
Result<Message> Decode(ByteView message);

}  // namespace muster::map
