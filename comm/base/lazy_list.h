// A list that is decoded piece by piece, when an item of a piece is first read; or an ordinary one. Copies of it share what is
// decoded, and an item stays where it is as long as a copy is left.
//
// Threads: const functions may be called from any thread. Nothing here blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace muster {

// Source has: void Read(size_t first, std::span<T> items) const.
template <typename T, typename Source>
class LazyList {
 public:
  class Iterator {
   public:
    using value_type = T;
    using reference = const T&;
    using pointer = const T*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    Iterator(const LazyList& list, size_t at) : list_(&list), at_(at) {}
    const T& operator*() const { return (*list_)[at_]; }
    const T* operator->() const { return &**this; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(*list_, at_ + 1)); }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const LazyList* list_ = nullptr;
    size_t at_ = 0;
  };

  LazyList() = default;
  LazyList(std::initializer_list<T> items) : items_(items) {}
  LazyList(std::vector<T> items)  // NOLINT(google-explicit-constructor): the same items, kept otherwise
      : items_(std::move(items)) {}
  LazyList(size_t size, std::shared_ptr<const Source> source)
      : pieces_(std::make_shared<Pieces>(size, std::move(source))) {}

  size_t size() const { return pieces_ ? pieces_->size : items_.size(); }
  bool empty() const { return size() == 0; }
  const T& operator[](size_t i) const { return pieces_ ? pieces_->Get(i) : items_[i]; }
  const T& front() const { return (*this)[0]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  // Null: an ordinary list.
  const Source* source() const { return pieces_ ? pieces_->source.get() : nullptr; }

  // To change it. Decodes all.
  std::vector<T>& own() {
    if (pieces_) {
      items_.assign(begin(), end());
      pieces_ = nullptr;
    }
    return items_;
  }
  void push_back(T item) { own().push_back(std::move(item)); }

  friend bool operator==(const LazyList& a, const LazyList& b) { return std::ranges::equal(a, b); }

 private:
  struct Pieces {
    static constexpr size_t kItems = 16;

    Pieces(size_t size_of_all, std::shared_ptr<const Source> read_from)
        : size(size_of_all), source(std::move(read_from)), pieces((size + kItems - 1) / kItems) {}
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;
    ~Pieces() {
      for (const std::atomic<T*>& piece : pieces) delete[] piece.load();
    }

    const T& Get(size_t i) {
      std::atomic<T*>& place = pieces[i / kItems];
      const T* piece = place.load(std::memory_order_acquire);
      if (piece == nullptr) piece = Decode(place, i / kItems * kItems);
      return piece[i % kItems];
    }

    // Two threads may decode the same piece: the first one's stays.
    const T* Decode(std::atomic<T*>& place, size_t first) {
      const size_t items = std::min(kItems, size - first);
      auto decoded = std::make_unique<T[]>(items);
      source->Read(first, std::span<T>(decoded.get(), items));
      T* present = nullptr;
      if (place.compare_exchange_strong(present, decoded.get())) return decoded.release();
      return present;
    }

    const size_t size;
    const std::shared_ptr<const Source> source;
    std::vector<std::atomic<T*>> pieces;
  };

  std::vector<T> items_;
  std::shared_ptr<Pieces> pieces_;
};

}  // namespace muster
