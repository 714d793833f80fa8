// The one block that ends a failed `muster run`: the first failure and its node, the last lines of its
// program, the ranks that were ended because of it, and the duration of each phase. Pure.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/report/run_record.h"
#include "comm/log/log_value.h"

namespace muster::report {

// Lines with '\n' between them; none ends with one. The record has a failure; the line that reported it had
// its hint.
std::string SummaryText(const RunRecord& record);

// The same for monitors: the fields of the event "summary" (docs/pages/reference/log-events.md).
std::vector<LogField> SummaryFields(const RunRecord& record);

// For users: "3 ms", "12.4 s", "16m40s", "2h05m".
std::string FormatSpan(Duration duration);

}  // namespace muster::report
