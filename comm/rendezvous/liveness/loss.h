// The effect of lost ranks on a formed group. Pure: the ControlPlane acts.
#pragma once

namespace muster::rendezvous {

enum class Loss {
  kNone,       // all of the ranks had left
  kFailure,    // of the group
  kKnown,      // the group has failed already
  kTolerated,  // a map runs: its service reassigns the items of the ranks
};

struct LossFacts {
  bool all_have_left = false;
  bool group_has_failed = false;
  bool map_at_work = false;
  bool names_a_rank = true;  // false: this node itself is cut off, no map can go on here
};
Loss JudgeLoss(const LossFacts& facts);

// A process below reports the end of ranks as one that a map tolerates.
struct ReportedLossFacts {
  bool in_order = false;  // their programs left
  bool map_at_work = false;
  bool map_missed_them = false;  // a map has lost all of them before
};
// kFailure: the maps ended before the process below was informed.
Loss JudgeReportedLoss(const ReportedLossFacts& facts);

}  // namespace muster::rendezvous
