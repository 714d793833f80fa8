// The records that wait for the journal's disk. Without a limit they would fill the root's memory while a file
// server hangs. A value: the time is an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/base/deadline.h"
#include "comm/map/journal/record.h"

namespace muster::map {

class Backlog {
 public:
  // With more, the root grants no item.
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  // The disk is reported after this time without an answer, and again after each further one.
  static constexpr Duration kReportAfter = std::chrono::seconds(30);

  // The bytes that the record takes in memory, for Remove.
  uint64_t Add(const JournalRecord& record, Clock::time_point now) {
    const uint64_t bytes = record.payload.size() + record.key.size() + record.node.size() + kEachRecord;
    if (records_ == 0) Answered(now);
    ++records_;
    bytes_ += bytes;
    return bytes;
  }
  // The record is durable, or has failed.
  void Remove(uint64_t bytes, Clock::time_point now) {
    --records_;
    bytes_ -= bytes;
    Answered(now);
  }

  uint64_t records() const { return records_; }
  bool full() const { return bytes_ > kMostBytes; }
  // How long records have waited without an answer, if that is to be reported now.
  std::optional<Duration> TakeReport(Clock::time_point now) {
    if (records_ == 0 || now < report_at_) return std::nullopt;
    report_at_ = now + kReportAfter;
    return now - answered_;
  }

 private:
  // In the queues of the writer, beside its texts.
  static constexpr uint64_t kEachRecord = 512;

  void Answered(Clock::time_point now) {
    answered_ = now;
    report_at_ = now + kReportAfter;
  }

  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  Clock::time_point answered_{};  // or the first record came
  Clock::time_point report_at_{};
};

}  // namespace muster::map
