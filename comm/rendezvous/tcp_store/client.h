// A client of a store: PyTorch's own (a torchrun agent's, 2.2 or later) or muster's.
//
// Owns its connection; one thread at a time. Each call BLOCKS until its answer or its deadline. Keys are
// those of PyTorch's programs: their key "x" is "x" here as well (on the wire "/x").
//
// Errors: kDeadline names the store, the request and its duration; kSystem if the connection broke;
// kDisagreement if the listener is no store that muster can use. Each of them closes the connection, and
// every later call fails. Exception: a time-out of Get without the key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/tcp_store/protocol.h"
#include "comm/rendezvous/tcp_store/request.h"

namespace muster::tcp_store {

// The answer of a store. The text is a view of the input.
struct Answer {
  int64_t number = 0;     // a status, a count
  std::string_view text;  // the value, for kGet
  size_t size = 0;        // of the answer, in bytes

  friend bool operator==(const Answer&, const Answer&) = default;
};

// To kGet, kNumKeys, kCheck, kWait and kCancelWait. Absent: more has to come. Error: kDisagreement if it is
// longer than the limits allow. Pure.
Result<std::optional<Answer>> DecodeAnswer(ByteView input, Operation operation, const Limits& limits);

class Client {
 public:
  // One attempt; the answer to a request that every dialect from 2.2 on has shows that it is a store.
  static Result<std::unique_ptr<Client>> Connect(const net::SocketAddress& address, Deadline deadline);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Status Set(std::string_view key, std::string_view value, Deadline deadline);
  // Until the key is there.
  Result<std::string> Get(std::string_view key, Deadline deadline);
  // Whether the key is there.
  Result<bool> Check(std::string_view key, Deadline deadline);

  bool open() const { return static_cast<bool>(fd_); }

 private:
  Client(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  // The text of the answer is valid until the next call.
  Result<Answer> Call(const Request& request, std::string_view what, Deadline deadline);
  Status WaitFor(const Request& request, std::string_view what, Deadline deadline);
  Status CancelWait(std::string_view what);

  Status Greet(Deadline deadline);
  Status Send(const Request& request, std::string_view what, Deadline deadline);
  Status SendOutput(std::string_view what, Deadline deadline);
  Result<Answer> Receive(Operation operation, std::string_view what, Deadline deadline);
  Status Await(short events, std::string_view what, Deadline deadline);
  tl::unexpected<Error> Broken(std::string_view what, std::string_view reason);

  const Limits limits_;
  UniqueFd fd_;
  std::string peer_;
  Bytes output_;
  Bytes input_;
  size_t input_used_ = 0;
};

}  // namespace muster::tcp_store
