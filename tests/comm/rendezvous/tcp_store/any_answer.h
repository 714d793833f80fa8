// The answer of a store to any request of the protocol. The product's client decodes those to its own
// requests alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/rendezvous/tcp_store/fields.h"
#include "comm/rendezvous/tcp_store/request.h"

namespace muster::tcp_store {

struct AnyAnswer {
  int64_t number = 0;              // a count, a sum, a status, a ping's number
  std::vector<std::string> texts;  // values; keys for kListKeys
};

// Absent if `bytes` is not exactly one answer.
inline std::optional<AnyAnswer> DecodeAnyAnswer(const Request& request, ByteView bytes) {
  FieldScanner scanner;
  AnyAnswer answer;
  const auto scan_number = [&](auto number) {
    const bool there = scanner.Integer(bytes, number);
    answer.number = number;
    return there;
  };
  bool there = true;
  size_t texts = 0;
  switch (request.operation) {
    case Operation::kGet:
    case Operation::kCompareSet:
      texts = 1;
      break;
    case Operation::kMultiGet:
      texts = request.texts.size();
      break;
    case Operation::kAdd:
    case Operation::kNumKeys:
    case Operation::kDelete:
    case Operation::kQueueLen:
      there = scan_number(int64_t{0});
      break;
    case Operation::kQueuePop:
      there = scan_number(int64_t{0});
      texts = answer.number > 0 ? 1 : 0;
      break;
    case Operation::kListKeys:
      there = scan_number(int64_t{0});
      texts = static_cast<size_t>(answer.number);
      break;
    case Operation::kCheck:
    case Operation::kWait:
    case Operation::kCancelWait:
    case Operation::kBarrier:
      there = scan_number(uint8_t{0});
      break;
    case Operation::kPing:
      there = scan_number(uint32_t{0});
      break;
    default:
      there = false;
  }
  for (; there && texts > 0; --texts) {
    FieldScanner::Place place;
    there = scanner.Text(bytes, bytes.size(), "value", place).value_or(false);
    if (there) answer.texts.emplace_back(place.In(bytes));
  }
  if (!there || scanner.position() != bytes.size()) return std::nullopt;
  return answer;
}

}  // namespace muster::tcp_store
