// What a store answers, or whatever else listens where one should. Cut anywhere, it is decoded as it is in
// one piece; nothing is taken from beyond the answer, and no more is allocated than has come.
//
// The first three bytes are the operation, the number of keys asked for and the size of the pieces.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/rendezvous/tcp_store/answer.h"
#include "comm/rendezvous/tcp_store/fields.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

using tcp_store::AnswerDecoder;
using tcp_store::Limits;
using tcp_store::Operation;

constexpr Limits kLimits{.key = 64, .value = 256, .keys = 16, .message = 1024};

struct Decoded {
  bool refused = false;
  bool whole = false;
  size_t size = 0;
  int64_t number = 0;
  std::vector<std::string> texts;

  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded Decode(Operation operation, size_t keys, ByteView bytes, size_t step) {
  AnswerDecoder decoder(kLimits, operation, keys);
  Decoded decoded;
  for (size_t end = std::min(step, bytes.size());; end = std::min(end + step, bytes.size())) {
    const ByteView arrived = bytes.first(end);
    const Result<bool> whole = decoder.Scan(arrived);
    if (!whole) {
      Require(whole.error().code == Code::kDisagreement && !whole.error().message.empty(), "it is said why");
      decoded.refused = true;
      return decoded;
    }
    if (!*whole && end < bytes.size()) continue;
    if (!*whole) return decoded;
    decoded.whole = true;
    decoded.size = decoder.size();
    decoded.number = decoder.answer().number;
    Require(decoded.size <= arrived.size(), "{} bytes of {}", decoded.size, arrived.size());
    for (const std::string_view text : decoder.answer().texts) decoded.texts.emplace_back(text);
    return decoded;
  }
}

void One(ByteView input) {
  ValueSource source(input);
  const auto operation = static_cast<Operation>(source.Below(tcp_store::kOperations));
  const size_t keys = source.Below(kLimits.keys + 1);
  const size_t step = source.Below(16) + 1;
  const ByteView bytes = source.Rest();
  const Decoded whole = Decode(operation, keys, bytes, bytes.size());
  Require(whole == Decode(operation, keys, bytes, step), "in steps of {} it is the same", step);
  if (!whole.whole) return;
  size_t length = 0;
  for (const std::string& text : whole.texts) length += text.size();
  Require(length <= whole.size, "{} bytes of text in {}", length, whole.size);
  if (operation == Operation::kMultiGet) Require(whole.texts.size() == keys, "a value for each key");
  if (operation == Operation::kGet) Require(whole.texts.size() == 1, "one value");
}

std::vector<Bytes> Seeds() {
  const auto answer = [](Operation operation, uint8_t keys, std::optional<int64_t> number,
                         const std::vector<std::string_view>& texts) {
    Bytes bytes = {static_cast<uint8_t>(operation), keys, 2};
    if (number) tcp_store::PutInteger<int64_t>(*number, bytes);
    for (const std::string_view text : texts) tcp_store::PutText(text, bytes);
    return bytes;
  };
  std::vector<Bytes> seeds = {answer(Operation::kGet, 1, {}, {"muster-notice 1 - 10.1.2.3:61000"}),
                              answer(Operation::kMultiGet, 3, {}, {"a", "", "ccc"}),
                              answer(Operation::kNumKeys, 0, 3, {}),
                              answer(Operation::kAdd, 1, -7, {}),
                              answer(Operation::kListKeys, 0, 2, {"/a", "init/"}),
                              answer(Operation::kQueuePop, 1, 1, {"v"}),
                              answer(Operation::kQueuePop, 1, 0, {})};
  for (const Operation operation : {Operation::kCheck, Operation::kWait, Operation::kCancelWait})
    seeds.push_back({static_cast<uint8_t>(operation), 1, 0, 1});
  seeds.push_back({static_cast<uint8_t>(Operation::kPing), 0, 0, 1, 2, 3, 4});
  return seeds;
}

std::vector<std::string> Words() {
  return {std::string("\1\0\0\0\0\0\0\0", 8), std::string("\0\4\0\0\0\0\0\0", 8),
          std::string("\377\377\377\377\377\377\377\377", 8),
          std::string("\377\377\377\377\377\377\377\177", 8)};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz
