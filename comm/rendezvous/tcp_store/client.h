// A client of a store: PyTorch's own (a torchrun agent's, 2.2 or later) or muster's.
//
// Owns its connection; one thread at a time. Each call BLOCKS until its answer or its deadline. Keys are as
// PyTorch's programs name them: what they find under "x" is here "x" as well (on the wire "/x").
//
// Errors: kDeadline names the store, what was asked and how long it took; kSystem where the connection broke;
// kDisagreement where what listens is no store that muster can talk to. After any of them but a time-out of
// Get, MultiGet, Wait, Pop or Barrier the connection is closed, and every later call fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/tcp_store/answer.h"
#include "comm/rendezvous/tcp_store/protocol.h"
#include "comm/rendezvous/tcp_store/request.h"

namespace muster::tcp_store {

class Client {
 public:
  using Keys = std::span<const std::string>;

  // Tried once; the answer to a question that every dialect from 2.2 on knows shows that it is a store.
  static Result<std::unique_ptr<Client>> Connect(const net::SocketAddress& address, Deadline deadline);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Status Set(std::string_view key, std::string_view value, Deadline deadline);
  Status MultiSet(Keys keys, std::span<const std::string> values, Deadline deadline);
  Status Append(std::string_view key, std::string_view value, Deadline deadline);
  // Until the key is there.
  Result<std::string> Get(std::string_view key, Deadline deadline);
  Result<std::vector<std::string>> MultiGet(Keys keys, Deadline deadline);
  Result<int64_t> Add(std::string_view key, int64_t delta, Deadline deadline);
  // Stores `desired` where the value is `expected`, or where there is none and `expected` is empty. The value
  // afterwards; where there is none, `expected`.
  Result<std::string> CompareSet(std::string_view key, std::string_view expected, std::string_view desired,
                                 Deadline deadline);
  Result<bool> Check(Keys keys, Deadline deadline);
  Status Wait(Keys keys, Deadline deadline);
  Result<bool> Delete(std::string_view key, Deadline deadline);
  Result<int64_t> NumKeys(Deadline deadline);
  Result<std::vector<std::string>> ListKeys(Deadline deadline);  // only servers of 2026 and muster's

  // Only servers since 2.8 (libuv) and muster's.
  Status Push(std::string_view key, std::string_view value, Deadline deadline);
  // Absent where the queue is empty; with `wait`, until something is in it.
  Result<std::optional<std::string>> Pop(std::string_view key, bool wait, Deadline deadline);
  Result<int64_t> QueueLength(std::string_view key, Deadline deadline);

  // Until `world` clients have come to it; a key serves once. Only servers of 2026 and muster's.
  Status Barrier(std::string_view key, int64_t world, Deadline deadline);

  bool open() const { return static_cast<bool>(fd_); }

 private:
  Client(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  // The texts of the answer are valid until the next call.
  Result<Answer> Call(const Request& request, std::string_view what, Deadline deadline);
  Result<Answer> CallNumber(Operation operation, std::string_view key, int64_t number, std::string_view what,
                            Deadline deadline);
  Status WaitFor(const Request& request, std::string_view what, Deadline deadline);
  Status CancelWait(std::string_view what);

  Status Greet(Deadline deadline);
  Status Send(const Request& request, std::string_view what, Deadline deadline);
  Status SendOutput(std::string_view what, Deadline deadline);
  Result<Answer> Receive(AnswerDecoder& decoder, std::string_view what, Deadline deadline);
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
