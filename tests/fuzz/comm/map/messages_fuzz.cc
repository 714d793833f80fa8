// Every message of a map: a decoded one is encoded and decoded again as the same.
#include "comm/map/messages.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

template <typename Message>
void Check(ByteView input, uint32_t number) {
  const auto message = map::Decode<Message>(input);
  if (!message) {
    const Error& error = message.error();
    Require(error.code == Code::kInternal && error.message.starts_with("malformed message of a map"), "{}",
            error.message);
    return;
  }
  const Bytes again = map::Encode(number, *message);
  const auto twice = map::Decode<Message>(again);
  Require(twice && map::Encode(number, *twice) == again, "a message of type {} is read back", input[0]);
  Require(!map::Decode<Message>(ByteView(again).first(again.size() - 1)), "type {} cut short is refused",
          input[0]);
}

void FuzzOne(ByteView input) {
  const auto heading = map::HeadingOf(input);
  if (!heading) return;
  switch (heading->type) {
    case map::MessageType::kJoin:
      return Check<map::Join>(input, heading->map);
    case map::MessageType::kCommit:
      return Check<map::Commit>(input, heading->map);
    case map::MessageType::kFail:
      return Check<map::Failed>(input, heading->map);
    case map::MessageType::kGiveBack:
      return Check<map::GivenBack>(input, heading->map);
    case map::MessageType::kRead:
      return Check<map::ReadRecords>(input, heading->map);
    case map::MessageType::kClasses:
      return Check<map::Classes>(input, heading->map);
    case map::MessageType::kRefused:
      return Check<map::Refused>(input, heading->map);
    case map::MessageType::kGrant:
      return Check<map::Granted>(input, heading->map);
    case map::MessageType::kDurable:
      return Check<map::Durable>(input, heading->map);
    case map::MessageType::kOver:
      return Check<map::Over>(input, heading->map);
    case map::MessageType::kExpired:
      return Check<map::Expired>(input, heading->map);
    case map::MessageType::kRecords:
      return Check<map::Records>(input, heading->map);
    default:
      return;
  }
}

std::vector<Bytes> Seeds() {
  const map::JournalRecord record{
      map::Ending::kCommitted, 7,     "k7", 3, "gpu01", 2, std::chrono::milliseconds(5),
      map::Format::kJson,      {1, 2}};
  map::Outcome outcome;
  outcome.items = 9;
  outcome.first_poisoned = {1, 4};
  return {map::Encode(
              0, map::Join{{9, {}, {}, "python eval.py"}, {"/data/answers.journal", 2, {}, false, {}, 1}}),
          map::Encode(1, map::Commit{record}),
          map::Encode(2, map::Failed{7, "k7", "no such model", std::chrono::seconds(1)}),
          map::Encode(3, map::GivenBack{{1, 2}}),
          map::Encode(0, map::ReadRecords{0, 9}),
          map::Encode(0, map::Classes{3, {0, 1, 63}}),
          map::Encode(0, map::Refused{{Code::kUsage, "another run is at work", "wait"}}),
          map::Encode(0, map::Granted{{{1, 1}, {2, 3}}}),
          map::Encode(0, map::Durable{5}),
          map::Encode(0, map::Expired{5}),
          map::Encode(0, map::Over{outcome}),
          map::Encode(0, map::Records{2, {record}})};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
