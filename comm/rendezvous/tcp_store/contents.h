// The contents of a store: values by key, and queues of values by key. The two are independent: a queue is
// not counted, listed or deleted as a key.
//
// Pure; one thread. Memory comes out of the Budget; an Error if it does not suffice (kDisagreement) leaves
// everything unchanged.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "comm/base/error.h"
#include "comm/rendezvous/tcp_store/budget.h"

namespace muster::tcp_store {

// For hash tables of strings with lookup by views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class Contents {
 public:
  using Values = std::unordered_map<std::string, std::string, TextHash, std::equal_to<>>;

  explicit Contents(Budget& memory) : memory_(memory) {}
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  const Values& values() const { return values_; }
  bool Has(std::string_view key) const { return values_.contains(key); }
  const std::string* Find(std::string_view key) const;
  Status Set(std::string_view key, std::string_view value);
  Status Append(std::string_view key, std::string_view value);
  bool Erase(std::string_view key);

  Status Push(std::string_view key, std::string_view value);
  std::optional<std::string> Pop(std::string_view key);
  size_t QueueLength(std::string_view key) const;

  void Clear();

 private:
  using Queues = std::unordered_map<std::string, std::deque<std::string>, TextHash, std::equal_to<>>;

  Budget& memory_;
  Values values_;
  Queues queues_;
};

}  // namespace muster::tcp_store
