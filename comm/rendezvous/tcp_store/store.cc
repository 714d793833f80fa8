#include "comm/rendezvous/tcp_store/store.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "comm/rendezvous/tcp_store/fields.h"

namespace muster::tcp_store {
namespace {

std::string_view Key(const Request& request) { return request.texts[0]; }

Status AnswerTooLong(uint64_t limit) {
  return Fail(Code::kDisagreement, "the answer would be longer than the {} bytes that are allowed", limit);
}

}  // namespace

Store::Store(const Limits& limits, Budget& memory) : limits_(limits), contents_(memory), waits_(memory) {}

Status Store::Apply(ClientId client, const Request& request, Bytes& answer, std::vector<ClientId>& woken) {
  switch (request.operation) {
    case Operation::kValidate:
      return Fail(Code::kDisagreement, "a second VALIDATE");
    case Operation::kSet:
    case Operation::kMultiSet:
      return Set(request, woken);
    case Operation::kCompareSet:
      return CompareSet(request, answer, woken);
    case Operation::kGet:
      PutText(Value(Key(request)), answer);
      return {};
    case Operation::kAdd:
      return Add(request, answer, woken);
    case Operation::kCheck:
      answer.push_back(AllThere(request) ? kReady : kNotReady);
      return {};
    case Operation::kWait:
      return Wait(client, request, answer);
    case Operation::kNumKeys:
      PutInteger<int64_t>(static_cast<int64_t>(keys()), answer);
      return {};
    case Operation::kDelete:
      PutInteger<int64_t>(contents_.Erase(Key(request)) ? 1 : 0, answer);
      return {};
    case Operation::kAppend:
      return Append(request, woken);
    case Operation::kMultiGet:
      return MultiGet(request, answer);
    case Operation::kCancelWait:
      waits_.Remove(client);
      answer.push_back(kWaitCanceled);
      return {};
    case Operation::kPing:
      PutInteger<uint32_t>(static_cast<uint32_t>(request.number), answer);
      return {};
    case Operation::kQueuePush:
      return Push(request, woken);
    case Operation::kQueuePop:
      Pop(request, answer);
      return {};
    case Operation::kQueueLen:
      PutInteger<int64_t>(static_cast<int64_t>(contents_.QueueLength(Key(request))), answer);
      return {};
    case Operation::kListKeys:
      return ListKeys({this}, answer);
    case Operation::kBarrier:
      return Barrier(client, request, answer, woken);
  }
  return Fail(Code::kDisagreement, "there is no operation {}", static_cast<int>(request.operation));
}

Status Store::Set(const Request& request, std::vector<ClientId>& woken) {
  for (size_t i = 0; i + 1 < request.texts.size(); i += 2) {
    MUSTER_CHECK(contents_.Set(request.texts[i], request.texts[i + 1]));
    waits_.Satisfy(request.texts[i], woken);
  }
  return {};
}

Status Store::Append(const Request& request, std::vector<ClientId>& woken) {
  // Otherwise no client could GET it.
  if (Value(Key(request)).size() + request.texts[1].size() > limits_.message)
    return AnswerTooLong(limits_.message);
  MUSTER_CHECK(contents_.Append(Key(request), request.texts[1]));
  waits_.Satisfy(Key(request), woken);
  return {};
}

// If the key is missing but a value was expected, PyTorch answers as if it had been found, and wakes those
// that wait for it. Its clients do not detect this, so this server does the same.
Status Store::CompareSet(const Request& request, Bytes& answer, std::vector<ClientId>& woken) {
  const std::string_view expected = request.texts[1];
  const std::string_view desired = request.texts[2];
  const std::string* held = contents_.Find(Key(request));
  std::string_view now = held != nullptr ? std::string_view(*held) : expected;
  if (held != nullptr ? *held == expected : expected.empty()) {
    MUSTER_CHECK(contents_.Set(Key(request), desired));
    now = desired;
  }
  PutText(now, answer);
  waits_.Satisfy(Key(request), woken);
  return {};
}

Status Store::Add(const Request& request, Bytes& answer, std::vector<ClientId>& woken) {
  MUSTER_TRY(const int64_t sum, Increase(Key(request), request.number));
  PutInteger<int64_t>(sum, answer);
  waits_.Satisfy(Key(request), woken);
  return {};
}

Result<int64_t> Store::Increase(std::string_view key, int64_t delta) {
  uint64_t sum = static_cast<uint64_t>(delta);
  if (const std::string* held = contents_.Find(key)) {
    const std::optional<int64_t> number = LeadingInteger(*held);
    if (!number)
      return Fail(Code::kDisagreement, "the value of \"{}\" is no number, so nothing can be added", key);
    sum += static_cast<uint64_t>(*number);
  }
  std::array<char, 24> text;
  const auto signed_sum = static_cast<int64_t>(sum);
  const auto end = std::to_chars(text.data(), text.data() + text.size(), signed_sum).ptr;
  MUSTER_CHECK(contents_.Set(key, {text.data(), static_cast<size_t>(end - text.data())}));
  return signed_sum;
}

bool Store::AllThere(const Request& request) const {
  return std::ranges::all_of(request.texts, [this](std::string_view key) {
    return contents_.Has(key) || contents_.QueueLength(key) > 0;
  });
}

Status Store::Wait(ClientId client, const Request& request, Bytes& answer) {
  if (AllThere(request)) {
    answer.push_back(kStopWaiting);
    return {};
  }
  // As in PyTorch, a queue that holds something counts above but not here: beside a missing key, one more
  // value has to be pushed.
  missing_.clear();
  std::ranges::copy_if(request.texts, std::back_inserter(missing_),
                       [this](std::string_view key) { return !contents_.Has(key); });
  return waits_.Add(client, missing_);
}

// A client that waits for the counter of a barrier is woken only by the barrier's end, not by its steps.
Status Store::Barrier(ClientId client, const Request& request, Bytes& answer, std::vector<ClientId>& woken) {
  const std::string_view key = Key(request);
  MUSTER_TRY(const int64_t count, Increase(key, 1));
  if (count < request.number) return waits_.Add(client, {&key, 1});
  waits_.Satisfy(key, woken);
  answer.push_back(kStopWaiting);
  return {};
}

Status Store::Push(const Request& request, std::vector<ClientId>& woken) {
  MUSTER_CHECK(contents_.Push(Key(request), request.texts[1]));
  waits_.Satisfy(Key(request), woken, /*only_one=*/true);
  return {};
}

void Store::Pop(const Request& request, Bytes& answer) {
  PutInteger<int64_t>(static_cast<int64_t>(contents_.QueueLength(Key(request))), answer);
  if (const std::optional<std::string> value = contents_.Pop(Key(request))) PutText(*value, answer);
}

Status Store::MultiGet(const Request& request, Bytes& answer) const {
  uint64_t length = 0;
  for (const std::string_view key : request.texts) {
    length += sizeof(uint64_t) + Value(key).size();
    if (length > limits_.message) return AnswerTooLong(limits_.message);
  }
  for (const std::string_view key : request.texts) PutText(Value(key), answer);
  return {};
}

Status Store::ListKeys(std::initializer_list<const Store*> stores, Bytes& answer) {
  uint64_t length = sizeof(int64_t);
  size_t count = 0;
  uint64_t limit = 0;
  for (const Store* store : stores) {
    for (const auto& [key, value] : store->contents_.values()) length += sizeof(uint64_t) + key.size();
    count += store->keys();
    limit = store->limits_.message;
  }
  if (length > limit) return AnswerTooLong(limit);
  PutInteger<int64_t>(static_cast<int64_t>(count), answer);
  for (const Store* store : stores) {
    for (const auto& [key, value] : store->contents_.values()) PutText(key, answer);
  }
  return {};
}

// A missing key's is empty.
std::string_view Store::Value(std::string_view key) const {
  const std::string* held = contents_.Find(key);
  return held == nullptr ? std::string_view() : *held;
}

std::optional<int64_t> LeadingInteger(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  if (plus && text.starts_with('-')) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace muster::tcp_store
