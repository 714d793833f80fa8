// Values of many sources, taken round-robin: a source with many values delays each other source by one value a turn.
//
// A value of one thread. Each call takes logarithmic time, Remove() time linear in the number of sources and of the
// source's values.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace muster {

template <typename Value>
class RoundRobin {
 public:
  void Push(const std::string& source, Value value) {
    std::deque<Value>& queue = values_[source];
    if (queue.empty()) turn_.push_back(source);
    queue.push_back(std::move(value));
  }

  bool empty() const { return turn_.empty(); }

  // The oldest value of the source whose turn it is; absent: there is none.
  std::optional<Value> Pop() {
    if (turn_.empty()) return std::nullopt;
    std::string source = std::move(turn_.front());
    turn_.pop_front();
    const auto queue = values_.find(source);
    std::optional<Value> value = std::move(queue->second.front());
    queue->second.pop_front();
    if (queue->second.empty()) {
      values_.erase(queue);
    } else {
      turn_.push_back(std::move(source));
    }
    return value;
  }

  // The oldest value of `source` for which `matches`; absent: there is none.
  template <typename Predicate>
  std::optional<Value> Remove(const std::string& source, Predicate matches) {
    const auto queue = values_.find(source);
    if (queue == values_.end()) return std::nullopt;
    const auto found = std::ranges::find_if(queue->second, std::move(matches));
    if (found == queue->second.end()) return std::nullopt;
    std::optional<Value> value = std::move(*found);
    queue->second.erase(found);
    if (queue->second.empty()) {
      std::erase(turn_, source);
      values_.erase(queue);
    }
    return value;
  }

 private:
  std::map<std::string, std::deque<Value>> values_;  // by source; none is empty
  std::deque<std::string> turn_;                     // the sources, in the order in which they are served
};

}  // namespace muster
