// Answers of a store, or of any other listener in its place. Cut anywhere, nothing is decoded before it is
// whole; nothing is taken from beyond the answer.
//
// The first byte is the operation.
#include <array>

#include "comm/rendezvous/tcp_store/client.h"
#include "comm/rendezvous/tcp_store/fields.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

using tcp_store::Answer;
using tcp_store::Limits;
using tcp_store::Operation;

constexpr Limits kLimits{.key = 64, .value = 256, .keys = 16, .message = 1024};
constexpr std::array kAsked = {Operation::kGet, Operation::kNumKeys, Operation::kCheck, Operation::kWait,
                               Operation::kCancelWait};

void One(ByteView input) {
  if (input.empty()) return;
  const Operation operation = kAsked.at(input[0] % kAsked.size());
  const ByteView bytes = input.subspan(1);
  const auto answer = tcp_store::DecodeAnswer(bytes, operation, kLimits);
  if (!answer) {
    Require(answer.error().code == Code::kDisagreement && !answer.error().message.empty(), "it is said why");
    return;
  }
  if (!*answer) return;
  const Answer& whole = **answer;
  Require(whole.size <= bytes.size(), "{} bytes of {}", whole.size, bytes.size());
  Require(whole.text.size() <= whole.size, "{} bytes of text in {}", whole.text.size(), whole.size);
  const auto without_rest = tcp_store::DecodeAnswer(bytes.first(whole.size), operation, kLimits);
  Require(without_rest && *without_rest && **without_rest == whole, "what follows does not matter");
  const auto part = tcp_store::DecodeAnswer(bytes.first(whole.size - 1), operation, kLimits);
  Require(part && !*part, "a part is no answer");
}

std::vector<Bytes> Seeds() {
  Bytes value = {0};
  tcp_store::PutText("muster-notice 1 - 10.1.2.3:61000", value);
  Bytes nothing = {0};
  tcp_store::PutText("", nothing);
  Bytes count = {1};
  tcp_store::PutInteger<int64_t>(3, count);
  return {value, nothing, count, {2, 1}, {3, 0}, {4, 1}};
}

std::vector<std::string> Words() {
  return {std::string("\1\0\0\0\0\0\0\0", 8), std::string("\0\4\0\0\0\0\0\0", 8),
          std::string("\377\377\377\377\377\377\377\377", 8),
          std::string("\377\377\377\377\377\377\377\177", 8)};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz
