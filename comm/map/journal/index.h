// The places of the records of ended items, and their durations: nine bytes an item.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "comm/map/journal/record.h"

namespace muster::map {

class JournalIndex {
 public:
  static constexpr size_t kMostSegments = size_t{1} << 16;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // of a segment

  struct Place {
    Ending ending = Ending::kCommitted;
    size_t segment = 0;  // below kMostSegments
    uint64_t offset = 0;
    uint8_t took = 0;  // ShortTime
  };

  // In the order of the journal. The first commit of an item counts; without a commit, its last error. False:
  // the item had been committed before.
  bool Add(uint64_t item, const Place& place) {
    auto& page = pages_[item / kPage];
    if (!page) page = std::make_unique<Page>();
    uint64_t& entry = page->entries[item % kPage];
    if (EndingOf(entry) == Ending::kCommitted) return false;
    if (entry != 0) --poisoned_;
    ++(place.ending == Ending::kCommitted ? committed_ : poisoned_);
    entry = place.offset << 18 | uint64_t{place.segment} << 2 | static_cast<uint64_t>(place.ending);
    page->took[item % kPage] = place.took;
    return true;
  }
  void ForgetPoisoned() {
    for (auto& [number, page] : pages_) {
      for (uint64_t& entry : page->entries) entry = EndingOf(entry) == Ending::kPoisoned ? 0 : entry;
    }
    poisoned_ = 0;
  }

  std::optional<Place> Find(uint64_t item) const {
    const auto page = pages_.find(item / kPage);
    if (page == pages_.end()) return std::nullopt;
    return page->second->Find(item % kPage);
  }
  uint64_t committed() const { return committed_; }
  uint64_t poisoned() const { return poisoned_; }

  // visit(item, place) of each item that has ended, in order, until it returns false.
  void Visit(auto&& visit) const {
    std::vector<uint64_t> numbers;
    numbers.reserve(pages_.size());
    for (const auto& [number, page] : pages_) numbers.push_back(number);
    std::ranges::sort(numbers);
    for (const uint64_t number : numbers) {
      const Page& page = *pages_.at(number);
      for (size_t i = 0; i < kPage; ++i) {
        const std::optional<Place> place = page.Find(i);
        if (place && !visit(number * kPage + i, *place)) return;
      }
    }
  }

 private:
  // An item's number may be any: only pages that hold one are there.
  static constexpr size_t kPage = 512;
  struct Page {
    // offset << 18 | segment << 2 | ending; 0: not ended.
    std::array<uint64_t, kPage> entries{};
    std::array<uint8_t, kPage> took{};

    std::optional<Place> Find(size_t i) const {
      const uint64_t entry = entries[i];
      if (entry == 0) return std::nullopt;
      return Place{EndingOf(entry), static_cast<size_t>(entry >> 2 & (kMostSegments - 1)), entry >> 18,
                   took[i]};
    }
  };

  static Ending EndingOf(uint64_t entry) { return static_cast<Ending>(entry & 3); }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t committed_ = 0;
  uint64_t poisoned_ = 0;
};

}  // namespace muster::map
