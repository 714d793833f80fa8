// A map without a group: hands out all items, and keeps what came back.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/map/member.h"

namespace muster::map {

class FakeMember : public Member {
 public:
  explicit FakeMember(uint64_t items, int retries = 0) : items_(items), retries_(retries) {
    for (uint64_t i = 0; i < items; ++i) queue_.push_back({i, 1});
  }

  Result<std::optional<Item>> Next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || !queue_.empty() || out_ == 0; });
    if (failure) return muster::Fail(*failure);
    if (stopped_ || queue_.empty()) return std::nullopt;
    const Item item = queue_.front();
    queue_.pop_front();
    attempts_[item.index] = item.attempt;
    ++out_;
    return item;
  }
  Status Commit(uint64_t item, std::string key, Format format, Bytes payload, Duration took) override {
    JournalRecord record;
    record.item = item;
    record.key = std::move(key);
    record.format = format;
    record.payload = std::move(payload);
    record.took = took;
    Ended(std::move(record));
    return {};
  }
  void Fail(uint64_t item, std::string key, std::string error, Duration took) override {
    {
      const std::lock_guard lock(mutex_);
      errors.push_back(error);
      const uint32_t attempt = attempts_[item];
      if (attempt <= static_cast<uint32_t>(retries_)) {
        queue_.push_back({item, attempt + 1});
        --out_;
        changed_.notify_all();
        return;
      }
    }
    JournalRecord record;
    record.ending = Ending::kPoisoned;
    record.item = item;
    record.key = std::move(key);
    record.took = took;
    record.payload.assign(error.begin(), error.end());
    Ended(std::move(record));
  }
  void GiveBack(uint64_t item) override {
    const std::lock_guard lock(mutex_);
    given_back.push_back(item);
    --out_;
    changed_.notify_all();
  }
  void Stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  void Close() override {}
  // Of Next, from now on.
  void FailGroup(const Error& error) {
    const std::lock_guard lock(mutex_);
    failure = error;
    changed_.notify_all();
  }
  Result<Outcome> Finish() override {
    const std::lock_guard lock(mutex_);
    Outcome outcome;
    outcome.items = items_;
    for (const auto& [item, record] : records) {
      if (record.ending == Ending::kCommitted) ++outcome.committed;
      if (record.ending == Ending::kPoisoned) {
        ++outcome.poisoned;
        if (outcome.first_poisoned.size() < 100) outcome.first_poisoned.push_back(item);
      }
    }
    outcome.time_is_up = outcome.committed + outcome.poisoned < outcome.items;
    return outcome;
  }
  Result<std::vector<JournalRecord>> Read(uint64_t first, uint64_t count) override {
    const std::lock_guard lock(mutex_);
    std::vector<JournalRecord> found;
    for (uint64_t i = first; i < first + count; ++i) {
      if (records.contains(i)) found.push_back(records.at(i));
    }
    return found;
  }

  std::string Payload(uint64_t item) const {
    return records.contains(item) ? std::string(AsText(records.at(item).payload)) : "not ended";
  }

  std::map<uint64_t, JournalRecord> records;
  std::vector<std::string> errors;  // of all attempts that failed
  std::vector<uint64_t> given_back;
  std::optional<Error> failure;  // of Next

 private:
  void Ended(JournalRecord record) {
    const std::lock_guard lock(mutex_);
    records[record.item] = std::move(record);
    --out_;
    changed_.notify_all();
  }

  const uint64_t items_;
  const int retries_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::map<uint64_t, uint32_t> attempts_;
  int out_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::map
