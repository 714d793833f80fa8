// A rank's report about NCCL at the end of its start, and the verdict from all reports.
#pragma once

#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/fields.h"
#include "comm/roster.h"

namespace muster::nccl {

enum class StartStage : uint8_t {
  kNotEntered,   // CUDA has not given it its device
  kNotReturned,  // in the call that starts NCCL
  kWaiting,      // the call returned; NCCL connects its ranks
  kThrough,
};

struct StartReport {
  StartStage stage = StartStage::kNotEntered;
  std::string last_error;  // NCCL's, if it is not through: a line; a longer one is cut

  friend bool operator==(const StartReport&, const StartReport&) = default;
};

void Fields(auto& wire, Is<StartReport> auto& report) {
  wire(UpTo(report.stage, StartStage::kThrough), AtMost(report.last_error, 1024));
}

// kDeadline if not all are through, the ranks furthest behind first: "NCCL did not start within 10m on 2 of 4
// ranks: rank 3 on gpu02 had entered it and not returned; rank 2 on gpu02 (its last error: ...) waited in it;
// the other ranks were through". The same on every rank.
Status JudgeStart(const Roster& roster, const std::vector<StartReport>& reports, Duration limit);

}  // namespace muster::nccl
