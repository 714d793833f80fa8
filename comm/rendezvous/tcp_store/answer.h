// What a store answers, decoded as it arrives. The server writes answers field by field (fields.h) in the
// shapes that are decoded here.
//
// Pure. The texts of an Answer are views of the input.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/rendezvous/tcp_store/fields.h"
#include "comm/rendezvous/tcp_store/protocol.h"

namespace muster::tcp_store {

struct Answer {
  int64_t number = 0;                   // a count, a sum, a status, a ping's number
  std::vector<std::string_view> texts;  // values; keys for kListKeys

  friend bool operator==(const Answer&, const Answer&) = default;
};

// Whether a request of this kind is answered at all.
bool IsAnswered(Operation operation);

class AnswerDecoder {
 public:
  // `keys`: how many the request named, for kMultiGet.
  AnswerDecoder(const Limits& limits, Operation operation, size_t keys = 1);

  // As RequestDecoder::Scan.
  Result<bool> Scan(ByteView input);
  const Answer& answer() const { return answer_; }
  size_t size() const { return scanner_.position(); }

 private:
  bool ScanNumber(ByteView input);
  void CountTexts();

  const Limits limits_;
  const Operation operation_;
  FieldScanner scanner_;
  char number_ = '\0';  // what is still to be read: as in the request's shapes, and b a u8
  uint64_t texts_left_ = 0;
  std::vector<FieldScanner::Place> places_;
  Answer answer_;
};

}  // namespace muster::tcp_store
