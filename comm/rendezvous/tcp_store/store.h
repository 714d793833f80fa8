// The store itself, without connections: applies one request after the other, as PyTorch's libuv server does.
//
// Pure; one thread. It closes a connection in the same cases as PyTorch's server (ADD to a value that is no
// number): an Error (kDisagreement) means that the client's connection must close.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/rendezvous/tcp_store/budget.h"
#include "comm/rendezvous/tcp_store/contents.h"
#include "comm/rendezvous/tcp_store/protocol.h"
#include "comm/rendezvous/tcp_store/request.h"
#include "comm/rendezvous/tcp_store/waits.h"

namespace muster::tcp_store {

class Store {
 public:
  // `memory`: for keys, values and waits together; must outlive the store, which gives back what it took.
  Store(const Limits& limits, Budget& memory);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() { Clear(); }

  // Appends the answer to `answer`, if there is one now, and to `woken` the clients (perhaps this one) whose
  // WAIT or BARRIER is over: each is owed kStopWaiting.
  Status Apply(ClientId client, const Request& request, Bytes& answer, std::vector<ClientId>& woken);
  // The client has gone.
  void Forget(ClientId client) { waits_.Remove(client); }
  // Deletes all keys and queues; waiting clients go on waiting.
  void Clear() { contents_.Clear(); }

  // The answer to LIST_KEYS, of several stores together.
  static Status ListKeys(std::initializer_list<const Store*> stores, Bytes& answer);
  size_t keys() const { return contents_.values().size(); }
  size_t waiting() const { return waits_.clients(); }

 private:
  Status Set(const Request& request, std::vector<ClientId>& woken);
  Status Append(const Request& request, std::vector<ClientId>& woken);
  Status CompareSet(const Request& request, Bytes& answer, std::vector<ClientId>& woken);
  Status Add(const Request& request, Bytes& answer, std::vector<ClientId>& woken);
  Status Wait(ClientId client, const Request& request, Bytes& answer);
  Status Barrier(ClientId client, const Request& request, Bytes& answer, std::vector<ClientId>& woken);
  Status Push(const Request& request, std::vector<ClientId>& woken);
  Status MultiGet(const Request& request, Bytes& answer) const;
  void Pop(const Request& request, Bytes& answer);

  bool AllThere(const Request& request) const;
  std::string_view Value(std::string_view key) const;
  // The number at `key` plus `delta`, now stored there.
  Result<int64_t> Increase(std::string_view key, int64_t delta);

  const Limits limits_;
  Contents contents_;
  Waits waits_;
  std::vector<std::string_view> missing_;
};

// A counter, which is decimal text in the store: a client may SET one. As strtoll(text, nullptr, 10), with
// which PyTorch's server reads it: blanks, a sign, digits, then anything. Absent without a digit or on
// overflow.
std::optional<int64_t> LeadingInteger(std::string_view text);

}  // namespace muster::tcp_store
