// A stream of requests as a stranger may send it. Cut anywhere, it is decoded as it is in one piece, and a
// decoded request is encoded as the same. A store answers it in the shape that the protocol has, and has
// given back all its memory in the end.
#include <algorithm>

#include "comm/rendezvous/tcp_store/request.h"
#include "comm/rendezvous/tcp_store/store.h"
#include "tests/comm/rendezvous/tcp_store/any_answer.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

using tcp_store::ClientId;
using tcp_store::Limits;
using tcp_store::Operation;
using tcp_store::Request;
using tcp_store::RequestDecoder;
using tcp_store::Store;

constexpr Limits kLimits{.key = 64, .value = 256, .keys = 16, .message = 4096};
constexpr uint64_t kMemory = 16 * 1024;
constexpr ClientId kClients = 3;

// The first byte is for how the rest is cut.
struct Stream {
  explicit Stream(ByteView input)
      : step(input.empty() ? 1 : input[0] % 16 + 1), bytes(input.subspan(!input.empty())) {}
  size_t step;
  ByteView bytes;
};

void CheckAnswer(const Request& request, const Bytes& answer) {
  if (answer.empty()) return;
  Require(tcp_store::DecodeAnyAnswer(request, answer).has_value(), "the answer to {} is one",
          static_cast<int>(request.operation));
}

// Decodes the request at `start` as it arrives in small steps; its length, or 0 if there is none.
size_t InSteps(const Stream& stream, size_t start, const Request& expected, size_t length) {
  RequestDecoder decoder(kLimits);
  for (size_t end = start;; end = std::min(end + stream.step, stream.bytes.size())) {
    const Result<bool> whole = decoder.Scan(stream.bytes.subspan(start, end - start));
    Require(whole.has_value(), "no step is refused where the whole is not");
    if (*whole) {
      Require(decoder.request() == expected && decoder.size() == length, "in steps it is the same");
      return decoder.size();
    }
    Require(end < stream.bytes.size(), "the last step has all of it");
  }
}

void One(ByteView input) {
  const Stream stream(input);
  tcp_store::Budget memory("the store's keys and values", kMemory);
  Store store(kLimits, memory);
  ClientId client = 0;
  size_t start = 0;
  while (start < stream.bytes.size()) {
    RequestDecoder decoder(kLimits);
    const Result<bool> whole = decoder.Scan(stream.bytes.subspan(start));
    if (!whole) {
      Require(whole.error().code == Code::kDisagreement && !whole.error().message.empty(),
              "a refusal says why");
      break;
    }
    if (!*whole) break;
    const Request& request = decoder.request();
    Bytes encoded;
    tcp_store::Encode(request, encoded);
    Require(std::ranges::equal(encoded, stream.bytes.subspan(start, decoder.size())),
            "it is encoded as it came");
    InSteps(stream, start, request, decoder.size());

    Bytes answer;
    std::vector<ClientId> woken;
    if (store.Apply(client, request, answer, woken)) CheckAnswer(request, answer);
    Require(memory.taken() <= kMemory, "the memory has its limit");
    for (const ClientId id : woken) Require(id < kClients, "only clients are woken");
    client = (client + 1) % kClients;
    start += decoder.size();
  }
  for (ClientId id = 0; id < kClients; ++id) store.Forget(id);
  store.Clear();
  Require(memory.taken() == 0 && store.waiting() == 0 && store.keys() == 0, "nothing is left");
}

std::vector<Bytes> Seeds() {
  const std::vector<Request> requests = {
      {Operation::kSet, {"/k", "1"}},
      {Operation::kAdd, {"/k"}, 41},
      {Operation::kGet, {"/k"}},
      {Operation::kWait, {"/a", "/b"}},
      {Operation::kMultiSet, {"/a", "1", "/b", "2"}},
      {Operation::kCompareSet, {"/a", "1", "3"}},
      {Operation::kCheck, {"/a", "/q"}},
      {Operation::kQueuePush, {"/q", "v"}},
      {Operation::kQueueLen, {"/q"}},
      {Operation::kWait, {"/q"}},
      {Operation::kQueuePop, {"/q"}},
      {Operation::kBarrier, {"/bar"}, 2},
      {Operation::kBarrier, {"/bar"}, 2},
      {Operation::kListKeys, {}},
      {Operation::kMultiGet, {"/a", "/b", "/c"}},
      {Operation::kAppend, {"/a", "x"}},
      {Operation::kDelete, {"/a"}},
      {Operation::kWait, {"/never"}},
      {Operation::kCancelWait, {}},
      {Operation::kPing, {}, 7},
      {Operation::kNumKeys, {}},
  };
  std::vector<Bytes> seeds;
  Bytes all = {3};
  for (const Request& request : requests) {
    seeds.push_back({0});
    tcp_store::Encode(request, seeds.back());
    tcp_store::Encode(request, all);
  }
  seeds.push_back(all);
  return seeds;
}

std::vector<std::string> Words() {
  return {"/k",
          "/a",
          "/q",
          "init/",
          std::string("\1\0\0\0\0\0\0\0", 8),
          std::string("\2\0\0\0\0\0\0\0", 8),
          std::string("\377\377\377\377\377\377\377\377", 8)};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz
