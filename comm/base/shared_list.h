// A list whose copies share one memory until one of them is changed. For lists of all nodes or ranks, which several owners in a
// process keep.
//
// Threads: as a std::vector; copies are independent of each other.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace muster {

template <typename T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  SharedList() = default;
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}
  SharedList(std::vector<T> items)  // NOLINT(google-explicit-constructor): the same items, kept otherwise
      : items_(items.empty() ? nullptr : std::make_shared<std::vector<T>>(std::move(items))) {}

  // NOLINTNEXTLINE(google-explicit-constructor): to read it
  operator const std::vector<T>&() const { return items(); }
  size_t size() const { return items().size(); }
  bool empty() const { return items().empty(); }
  const T& operator[](size_t i) const { return items()[i]; }
  const T& at(size_t i) const { return items().at(i); }
  const T& front() const { return items().front(); }
  const T& back() const { return items().back(); }
  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }

  // To change it; its copies stay as they are.
  std::vector<T>& own() {
    if (!items_ || items_.use_count() > 1) items_ = std::make_shared<std::vector<T>>(items());
    return *items_;
  }
  void push_back(T item) { own().push_back(std::move(item)); }
  void clear() { items_ = nullptr; }

  friend bool operator==(const SharedList& a, const SharedList& b) { return a.items() == b.items(); }

 private:
  const std::vector<T>& items() const {
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }

  std::shared_ptr<std::vector<T>> items_;
};

}  // namespace muster
