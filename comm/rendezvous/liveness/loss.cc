#include "comm/rendezvous/liveness/loss.h"

namespace muster::rendezvous {

Loss JudgeLoss(const LossFacts& facts) {
  if (facts.all_have_left) return Loss::kNone;
  if (facts.group_has_failed) return Loss::kKnown;
  return facts.map_at_work && facts.names_a_rank ? Loss::kTolerated : Loss::kFailure;
}

Loss JudgeReportedLoss(const ReportedLossFacts& facts) {
  return facts.in_order || facts.map_at_work || facts.map_missed_them ? Loss::kTolerated : Loss::kFailure;
}

}  // namespace muster::rendezvous
