#include "comm/map/backlog.h"

namespace muster::map {
namespace {

// Of a record in the queues of the writer, beside its texts.
constexpr uint64_t kEachRecord = 512;

}  // namespace

uint64_t Backlog::Add(const JournalRecord& record, Clock::time_point now) {
  const uint64_t bytes = record.payload.size() + record.key.size() + record.node.size() + kEachRecord;
  if (records_ == 0) {
    answered_ = now;
    report_at_ = now + kReportAfter;
  }
  ++records_;
  bytes_ += bytes;
  return bytes;
}

void Backlog::Remove(uint64_t bytes, Clock::time_point now) {
  --records_;
  bytes_ -= bytes;
  answered_ = now;
  report_at_ = now + kReportAfter;
}

std::optional<Duration> Backlog::TakeReport(Clock::time_point now) {
  if (records_ == 0 || now < report_at_) return std::nullopt;
  report_at_ = now + kReportAfter;
  return now - answered_;
}

}  // namespace muster::map
