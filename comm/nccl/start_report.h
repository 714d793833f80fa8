// What a rank says of its NCCL at the end of its start, and what that means for all.
//
//   u8 through | string: NCCL's last words where it is not        little-endian
#pragma once

#include <string>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/roster.h"

namespace muster {

struct StartReport {
  bool through = false;
  std::string last_words;

  friend bool operator==(const StartReport&, const StartReport&) = default;
};

Bytes EncodeStartReport(const StartReport& report);
// Strict: kInternal "malformed NCCL start: ...".
Result<StartReport> DecodeStartReport(ByteView bytes);

// kDeadline where not all are through: "NCCL did not start within 10m on ranks 2,3 of 4 (rank 2 on gpu02; its
// last words: ...)". The same on every rank.
Status JudgeStart(const Roster& roster, const std::vector<StartReport>& reports, Duration limit);

}  // namespace muster
