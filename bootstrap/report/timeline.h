// The rows and the scale of a run's timeline: ranks that fared alike at about the same times share a row, so
// that a picture of thousands has some dozens. Pure.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/report/run_record.h"

namespace muster::report {

struct TimelineRow {
  RankOutcome outcome = RankOutcome::kOk;
  std::vector<int> ranks;          // ascending
  std::vector<std::string> nodes;  // each once, in the order of the ranks
  // The earliest and the latest of these ranks, since the record's beginning.
  std::optional<Moment> first_arrival;
  std::optional<Moment> last_arrival;
  std::optional<Moment> first_end;
  std::optional<Moment> last_end;
  bool first_failure = false;
};

// Worst first, then by rank. At most `most` rows, if there are so many, except that each outcome has its own.
std::vector<TimelineRow> TimelineRows(const RunRecord& record, size_t most);

// Times to percent of the width. Where the start is a small part of the whole it gets a third of the width,
// on a scale of its own.
class TimeScale {
 public:
  explicit TimeScale(const RunRecord& record);

  double Percent(Duration at) const;
  bool split() const { return split_percent_ > 0; }
  // Round times to label, ascending.
  std::vector<Duration> Ticks() const;

 private:
  Duration start_{};  // until here the first scale counts
  Duration total_{};
  double split_percent_ = 0;
};

}  // namespace muster::report
