#include "comm/rendezvous/tcp_store/answer.h"

#include <array>

namespace muster::tcp_store {
namespace {

// By operation: b a u8, i an i64, n a u32, v a text for each key; none where there is no answer.
constexpr std::array<char, kOperations> kShapes = {{
    '\0',  // validate
    '\0',  // set
    'v',   // compare_set
    'v',   // get
    'i',   // add
    'b',   // check
    'b',   // wait
    'i',   // num_keys
    'i',   // delete
    '\0',  // append
    'v',   // multi_get
    '\0',  // multi_set
    'b',   // cancel_wait
    'n',   // ping
    '\0',  // queue_push
    'i',   // queue_pop: how many there were; the first of them where there was one
    'i',   // queue_len
    'i',   // list_keys: how many; the keys
    'b',   // barrier
}};

char ShapeOf(Operation operation) { return kShapes.at(static_cast<size_t>(operation)); }

}  // namespace

bool IsAnswered(Operation operation) { return ShapeOf(operation) != '\0'; }

AnswerDecoder::AnswerDecoder(const Limits& limits, Operation operation, size_t keys)
    : limits_(limits), operation_(operation), number_(ShapeOf(operation)) {
  if (number_ != 'v') return;
  number_ = '\0';
  texts_left_ = operation == Operation::kMultiGet ? keys : 1;
}

Result<bool> AnswerDecoder::Scan(ByteView input) {
  if (number_ != '\0') {
    if (!ScanNumber(input)) return false;
    number_ = '\0';
    CountTexts();
  }
  for (; texts_left_ > 0; --texts_left_) {
    FieldScanner::Place place;
    MUSTER_TRY(const bool there, scanner_.Text(input, limits_.message, "value", place));
    if (!there && input.size() < limits_.message) return false;
    if (!there || scanner_.position() > limits_.message) {
      return Fail(Code::kDisagreement, "an answer is longer than the {} bytes that are allowed",
                  limits_.message);
    }
    places_.push_back(place);
  }
  for (const FieldScanner::Place& place : places_) answer_.texts.push_back(place.In(input));
  return true;
}

bool AnswerDecoder::ScanNumber(ByteView input) {
  if (number_ == 'i') return scanner_.Integer(input, answer_.number);
  uint8_t byte = 0;
  uint32_t word = 0;
  const bool there = number_ == 'b' ? scanner_.Integer(input, byte) : scanner_.Integer(input, word);
  answer_.number = number_ == 'b' ? byte : word;
  return there;
}

void AnswerDecoder::CountTexts() {
  if (answer_.number <= 0) return;
  if (operation_ == Operation::kQueuePop) texts_left_ = 1;
  if (operation_ == Operation::kListKeys) texts_left_ = static_cast<uint64_t>(answer_.number);
}

}  // namespace muster::tcp_store
