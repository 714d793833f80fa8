#include "comm/rendezvous/tcp_store/request.h"

#include <array>

namespace muster::tcp_store {
namespace {

constexpr size_t kTextsKept = 64;

// The fields after the operation's byte: k a key, v a value, i an i64, n a u32. Counted: a u64 count first,
// then the fields that number of times.
struct Shape {
  const char* fields;
  bool counted = false;
};

// By operation.
constexpr std::array<Shape, kOperations> kShapes = {{
    {"n"},         // validate
    {"kv"},        // set
    {"kvv"},       // compare_set
    {"k"},         // get
    {"ki"},        // add
    {"k", true},   // check
    {"k", true},   // wait
    {""},          // num_keys
    {"k"},         // delete
    {"kv"},        // append
    {"k", true},   // multi_get
    {"kv", true},  // multi_set
    {""},          // cancel_wait
    {"n"},         // ping
    {"kv"},        // queue_push
    {"k"},         // queue_pop
    {"k"},         // queue_len
    {""},          // list_keys
    {"ki"},        // barrier
}};

size_t TextsOf(const char* fields) {
  size_t count = 0;
  for (; *fields != '\0'; ++fields) count += *fields == 'k' || *fields == 'v' ? 1 : 0;
  return count;
}

}  // namespace

void Encode(const Request& request, Bytes& out) {
  const Shape& shape = kShapes.at(static_cast<size_t>(request.operation));
  out.push_back(static_cast<uint8_t>(request.operation));
  size_t rounds = 1;
  if (shape.counted) {
    rounds = request.texts.size() / TextsOf(shape.fields);
    PutInteger<uint64_t>(rounds, out);
  }
  size_t text = 0;
  for (size_t round = 0; round < rounds; ++round) {
    for (const char* field = shape.fields; *field != '\0'; ++field) {
      if (*field == 'i') {
        PutInteger<int64_t>(request.number, out);
      } else if (*field == 'n') {
        PutInteger<uint32_t>(static_cast<uint32_t>(request.number), out);
      } else {
        PutText(request.texts[text++], out);
      }
    }
  }
}

Result<bool> RequestDecoder::Scan(ByteView input) {
  if (!head_scanned_) {
    MUSTER_TRY(const bool there, ScanHead(input));
    if (!there) return false;
  }
  for (; rounds_left_ > 0; --rounds_left_) {
    for (; *next_field_ != '\0'; ++next_field_) {
      MUSTER_TRY(const bool there, ScanField(input, *next_field_));
      if (!there && input.size() < limits_.message) return false;
      if (!there || scanner_.position() > limits_.message) return TooLong();
    }
    next_field_ = fields_;
  }
  Finish(input);
  return true;
}

tl::unexpected<Error> RequestDecoder::TooLong() const {
  return Fail(Code::kDisagreement, "a request is longer than the {} bytes that are allowed", limits_.message);
}

Result<bool> RequestDecoder::ScanHead(ByteView input) {
  if (fields_ == nullptr) {
    uint8_t operation = 0;
    if (!scanner_.Integer(input, operation)) return false;
    if (operation >= kOperations) return Fail(Code::kDisagreement, "there is no operation {}", operation);
    request_.operation = static_cast<Operation>(operation);
    fields_ = kShapes[operation].fields;
    next_field_ = fields_;
    rounds_left_ = 1;
  }
  if (kShapes[static_cast<size_t>(request_.operation)].counted) {
    if (!scanner_.Integer(input, rounds_left_)) return false;
    if (rounds_left_ > limits_.keys) {
      return Fail(Code::kDisagreement, "a request with {} keys has more than the {} that are allowed",
                  rounds_left_, limits_.keys);
    }
  }
  head_scanned_ = true;
  return true;
}

Result<bool> RequestDecoder::ScanField(ByteView input, char field) {
  if (field == 'i') return scanner_.Integer(input, request_.number);
  if (field == 'n') {
    uint32_t number = 0;
    if (!scanner_.Integer(input, number)) return false;
    request_.number = number;
    return true;
  }
  FieldScanner::Place place;
  const bool is_key = field == 'k';
  MUSTER_TRY(const bool there,
             scanner_.Text(input, is_key ? limits_.key : limits_.value, is_key ? "key" : "value", place));
  if (there) places_.push_back(place);
  return there;
}

// Only now: while the request grows its input may move.
void RequestDecoder::Finish(ByteView input) {
  for (const FieldScanner::Place& place : places_) request_.texts.push_back(place.In(input));
}

void RequestDecoder::Restart() {
  scanner_.Restart();
  fields_ = nullptr;
  next_field_ = nullptr;
  rounds_left_ = 0;
  head_scanned_ = false;
  // The memory of one huge request is not kept for the small ones after it.
  if (places_.capacity() > kTextsKept) {
    places_ = {};
    request_.texts = {};
  }
  places_.clear();
  request_.texts.clear();
  request_.number = 0;
}

}  // namespace muster::tcp_store
