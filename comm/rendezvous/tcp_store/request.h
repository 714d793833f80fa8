// One request to a store, as a value; encoding it, and decoding it as it arrives. Server and client share it.
//
// Pure. A Request holds views: of the caller's strings when it is encoded, of the input when it was decoded.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/rendezvous/tcp_store/fields.h"
#include "comm/rendezvous/tcp_store/protocol.h"

namespace muster::tcp_store {

struct Request {
  Operation operation = Operation::kNumKeys;
  // Keys and values in the order of the wire: key; key, value; key, expected, desired; key, key, ...;
  // key, value, key, value, ...
  std::vector<std::string_view> texts;
  // The number to add, the world size of a barrier, the number of a ping or of validation.
  int64_t number = 0;

  friend bool operator==(const Request&, const Request&) = default;
};

// Appends to `out`. The number of texts must fit the operation.
void Encode(const Request& request, Bytes& out);

// Decodes one request after the other out of a growing input. Copies nothing, and does not scan bytes again
// when more have come.
class RequestDecoder {
 public:
  explicit RequestDecoder(const Limits& limits) : limits_(limits) {}

  // `input` begins with the request, and with the bytes of the last call. True: it is complete, and request()
  // and size() describe it. Error: kDisagreement; the connection is unusable.
  Result<bool> Scan(ByteView input);
  const Request& request() const { return request_; }  // valid as long as the input
  size_t size() const { return scanner_.position(); }
  // Begins with the next one.
  void Restart();

 private:
  Result<bool> ScanHead(ByteView input);
  Result<bool> ScanField(ByteView input, char field);
  void Finish(ByteView input);
  tl::unexpected<Error> TooLong() const;

  const Limits limits_;
  FieldScanner scanner_;
  const char* fields_ = nullptr;  // of one round; null: none found so far
  const char* next_field_ = nullptr;
  uint64_t rounds_left_ = 0;
  bool head_scanned_ = false;
  std::vector<FieldScanner::Place> places_;
  Request request_;
};

}  // namespace muster::tcp_store
