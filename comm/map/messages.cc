#include "comm/map/messages.h"

#include "comm/base/fields.h"

namespace muster::map {

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

void Fields(auto& wire, Is<Join> auto& join) {
  wire(join.identity, join.options);
  wire.Require(join.identity.items <= kMostItems);
}
void Fields(auto& wire, Is<Commit> auto& commit) { wire(commit.record); }
void Fields(auto& wire, Is<Failed> auto& failed) {
  wire(failed.item, failed.key, AtMost(failed.error, kLongestError), failed.took);
}
void Fields(auto& wire, Is<GivenBack> auto& returned) { wire(returned.items); }
void Fields(auto& wire, Is<ReadRecords> auto& read) { wire(read.first, read.count); }
void Fields(auto& wire, Is<Classes> auto& classes) { wire(classes.first, classes.classes); }
void Fields(auto& wire, Is<Refused> auto& refused) { wire(refused.error); }
void Fields(auto& wire, Is<Granted> auto& granted) { wire(granted.items); }
void Fields(auto& wire, Is<Durable> auto& durable) { wire(durable.count); }
void Fields(auto& wire, Is<Over> auto& over) { wire(over.outcome); }
void Fields(auto& wire, Is<Expired> auto& expired) { wire(expired.item); }
void Fields(auto& wire, Is<Records> auto& records) { wire(records.next, records.records); }

std::optional<Heading> HeadingOf(ByteView message) {
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

Bytes EncodeBare(MessageType type, uint32_t map) { return EncodeFields(type, map); }

template <typename Message>
Bytes Encode(uint32_t map, const Message& message) {
  return EncodeFields(Message::kType, map, message);
}

template <typename Message>
Result<Message> Decode(ByteView message) {
  FieldReader reader(message);
  uint8_t type = 0;
  uint32_t map = 0;
  reader(type, map);
  reader.Require(type == static_cast<uint8_t>(Message::kType));
  return DecodeFields<Message>(std::move(reader), "message of a map");
}

#define MUSTER_MAP_MESSAGE(Message)                         \
  template Bytes Encode<Message>(uint32_t, const Message&); \
  template Result<Message> Decode<Message>(ByteView);
MUSTER_MAP_MESSAGE(Join)
MUSTER_MAP_MESSAGE(Commit)
MUSTER_MAP_MESSAGE(Failed)
MUSTER_MAP_MESSAGE(GivenBack)
MUSTER_MAP_MESSAGE(ReadRecords)
MUSTER_MAP_MESSAGE(Classes)
MUSTER_MAP_MESSAGE(Refused)
MUSTER_MAP_MESSAGE(Granted)
MUSTER_MAP_MESSAGE(Durable)
MUSTER_MAP_MESSAGE(Over)
MUSTER_MAP_MESSAGE(Records)
MUSTER_MAP_MESSAGE(Expired)
#undef MUSTER_MAP_MESSAGE

}  // namespace muster::map
